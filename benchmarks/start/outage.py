"""How long pages are unavailable when processes of the web server are killed, and the memory of its processes.

    make bench ARGS="outage [--wait 32]"

A victim is the parent of the web processes (``main``), one of them (``worker``), or all at once (``group``), as when a container is
killed. The figure is the longest time between two replies, with a request every 0.1 s for each address.
"""

from __future__ import annotations

import argparse
import http.client
import os
import signal
import sys
import tempfile
import threading
import time
import urllib.request
from itertools import pairwise
from pathlib import Path

from tests.installation import Installation

VICTIMS = ("main", "group", "worker")


class Replies:
    """The moments of the replies of one address, asked for all the time."""

    def __init__(self, url: str) -> None:
        self.url, self.moments, self.over = url, [time.monotonic()], threading.Event()
        threading.Thread(target=self._ask, daemon=True).start()

    def _ask(self) -> None:
        while not self.over.wait(0.1):
            try:
                urllib.request.urlopen(self.url, timeout=60).read()
            except (OSError, http.client.HTTPException):
                continue
            self.moments.append(time.monotonic())

    def longest_gap(self, since: float) -> float:
        moments = [since, *(one for one in self.moments if one > since), time.monotonic()]
        return max(b - a for a, b in pairwise(moments))


def kill(run: Installation, victim: str) -> None:
    main = run.main("granian")
    if victim == "group":
        os.killpg(main.pid, signal.SIGKILL)
    else:
        (main if victim == "main" else main.children()[0]).kill()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wait", type=int, default=32, help="seconds of work before and after each kill")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="foretell-outage-") as directory:
        Path(directory).chmod(0o755)  # the servers run as another user if this one is root
        run = Installation(Path(directory), WEB_WORKERS="2")
        run.start()
        replies = {name: Replies(run.url + name) for name in ("/healthz", "/")}
        try:
            for victim in VICTIMS:
                time.sleep(
                    options.wait
                )  # a process that ends soon after its start is restarted later and later
                began = time.monotonic()
                kill(run, victim)
                time.sleep(options.wait)
                found = {name: f"{one.longest_gap(began):.1f} s" for name, one in replies.items()}
                print(f"{victim}: {found}, load average {os.getloadavg()[0]:.1f}", flush=True)
            web = run.main("granian")
            size = sum(one.memory_full_info().pss for one in [web, *web.children(recursive=True)])
            print(f"web processes: {size / 2**20:.0f} MB")
        finally:
            for one in replies.values():
                one.over.set()
            run.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())

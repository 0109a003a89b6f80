"""The scripted provider as tests use it: started, asked for its counts, stopped."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


class ScriptedProcess:
    """A scripted provider on a free port of loopback."""

    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.evaluation.scripted.server", "--port", "0", *arguments],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        self.base_url = self.process.stdout.readline().strip()
        self.root = self.base_url.removesuffix("/v1")
        self.host = self.root.removeprefix("http://")

    def stats(self) -> dict[str, Any]:
        with urllib.request.urlopen(f"{self.root}/stats", timeout=300) as reply:
            return json.load(reply)

    def reset(self) -> None:
        urllib.request.urlopen(f"{self.root}/stats", data=b"", timeout=300).close()

    def outage(self, seconds: float, status: int = 503) -> None:
        """Fail every request for so long."""
        address = f"{self.root}/outage?seconds={seconds}&status={status}"
        urllib.request.urlopen(address, data=b"", timeout=300).close()

    def hold(self, *, after: int = 0) -> None:
        """Answer ``after`` more requests, and receive the others without answering them, until ``release``."""
        urllib.request.urlopen(f"{self.root}/hold?after={after}", data=b"", timeout=300).close()

    def release(self) -> None:
        urllib.request.urlopen(f"{self.root}/release", data=b"", timeout=300).close()

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(timeout=300)

"""Start the scripted provider: ``python -m evaluation.providers.scripted.server --port 8081``."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import signal

from evaluation.providers.scripted.app import Scripted
from evaluation.providers.scripted.http import serve


async def _serve(host: str, port: int, key: str) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    server = await serve(Scripted(key=key), host, port)
    print(f"http://{host}:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    await stop.wait()
    server.close()


def run(*, host: str = "127.0.0.1", port: int = 8081, key: str = "") -> None:
    """Serve until SIGINT or SIGTERM; the first line printed is the base URL."""
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve(host, port, key))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8081)
    parser.add_argument("--key", default="")
    arguments = parser.parse_args()
    run(host=arguments.host, port=arguments.port, key=arguments.key)

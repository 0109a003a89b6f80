"""Start the scripted provider: ``python -m evaluation.providers.scripted.server --port 8081``."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import signal

from evaluation.providers.scripted.app import Scripted
from evaluation.providers.scripted.http import serve


async def _serve(app: Scripted, host: str, port: int) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    server = await serve(app, host, port)
    print(f"http://{host}:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    await stop.wait()
    server.close()


def run(*, app: Scripted, host: str = "127.0.0.1", port: int = 8081) -> None:
    """Serve until SIGINT or SIGTERM; the first line printed is the base URL."""
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve(app, host, port))


def arguments_add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8081, help="0 takes a free port.")
    parser.add_argument("--key", default="", help="Refuse requests without this key.")


def main(kind: type[Scripted] = Scripted) -> None:
    parser = argparse.ArgumentParser()
    arguments_add(parser)
    arguments = parser.parse_args()
    run(app=kind(key=arguments.key), host=arguments.host, port=arguments.port)


if __name__ == "__main__":
    main()

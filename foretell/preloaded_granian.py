"""granian with the application loaded before its workers are forked: ``python -m foretell.preloaded_granian OPTION ...``.

Each worker would otherwise load it for itself, which takes two seconds of processor time: at the start, and whenever a worker
has to be replaced.
"""

from __future__ import annotations

import gc
import multiprocessing
import sys

from granian.cli import entrypoint


def main() -> None:
    if multiprocessing.get_start_method() == "fork":
        import foretell.wsgi  # noqa: F401 - the target that the workers look up

        gc.freeze()  # so that the workers' garbage collection doesn't copy these pages
    sys.argv[0] = "granian"
    entrypoint()


if __name__ == "__main__":
    main()

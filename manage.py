#!/usr/bin/env python
import sys

from foretell.cli import manage


def main() -> int:
    return manage(sys.argv[1:], program="manage.py")


if __name__ == "__main__":
    sys.exit(main())

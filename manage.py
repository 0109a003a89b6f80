#!/usr/bin/env python
import os
import sys


def main() -> int:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "foretell.settings")
    from django.core.management import execute_from_command_line
    from django.db import OperationalError

    from foretell import env

    try:
        execute_from_command_line(sys.argv)
    except OperationalError as error:
        if env.GIVEN_DATABASE_URL or "refused" not in str(error):
            raise
        print("Postgres does not answer. Is `make run` running? Or set DATABASE_URL.", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""``python -m foretell`` is the ``foretell`` command."""

import sys

from foretell.cli import main

sys.exit(main())

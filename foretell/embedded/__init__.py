"""A real Postgres and a real Redis as child processes on loopback, with nothing installed on the machine.

``EmbeddedServers(data_dir).start()`` gives their two addresses; ``stop()`` ends them. See ``servers.py``.
"""

from foretell.embedded.errors import EmbeddedError
from foretell.embedded.servers import EmbeddedServers

__all__ = ["EmbeddedError", "EmbeddedServers"]

"""A real Postgres and a real Redis as child processes on loopback, with nothing installed on the machine.

``EmbeddedServers(data_dir)`` has ``start_postgres()`` and ``start_redis()``, which return the addresses, and ``stop()``.
"""

from foretell.embedded.errors import EmbeddedError
from foretell.embedded.servers import EmbeddedServers

__all__ = ["EmbeddedError", "EmbeddedServers"]

"""``python -m benchmarks.ten_million.server FOLDER``: a Postgres and a Redis for the data set, until it's interrupted.

Prints their addresses. The folder keeps the database, so that it's made once and measured several times.
"""

from __future__ import annotations

import signal
import sys
from pathlib import Path

from foretell.embedded import EmbeddedServers

OPTIONS = {
    "shared_buffers": "1GB",
    "maintenance_work_mem": "512MB",
    "max_wal_size": "8GB",
    "checkpoint_timeout": "15min",
    "effective_cache_size": "4GB",
}


def main() -> None:
    servers = EmbeddedServers(Path(sys.argv[1]), postgres_options=OPTIONS)
    try:
        print(f"export DATABASE_URL={servers.start_postgres()} REDIS_URL={servers.start_redis()}", flush=True)
        signal.sigwait({signal.SIGTERM, signal.SIGINT})
    finally:
        servers.stop()


if __name__ == "__main__":
    main()

"""From judgments in Postgres to a stored report: how long, and how much memory at most."""

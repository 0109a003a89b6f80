"""From judgments in Postgres to a stored report: time and peak memory."""

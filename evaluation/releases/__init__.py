"""Anonymised releases: an archive of a report's data from which anyone can compute each of its numbers again.

``tables`` declares what is released, ``collect`` takes it out of Postgres under pseudonyms, ``archive`` writes and reads the file,
and ``scratch`` puts its rows into temporary tables, where the report is computed by the same code as any other.
"""

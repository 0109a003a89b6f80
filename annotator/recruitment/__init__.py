"""Recruitment panels: what their links and webhooks say, and whether it is true.

``panel.py`` is the contract, ``panels/`` has one file for each panel, found by ``registry.py``. Nothing here reads or
writes the database: ``services.panel_join`` and ``services.panel_events`` do.
"""

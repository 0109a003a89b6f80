"""Recruitment panels: what their links and webhooks say, and whether it is true. One file for each panel.

Nothing here reads or writes the database: ``services.panel_join`` and ``services.panel_events`` do.
"""

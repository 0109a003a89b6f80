"""Requests to other servers: which hosts may be asked, and connections to checked addresses only."""

"""Ports for servers that start later."""

from __future__ import annotations

import random
import socket

from foretell.embedded.process import free_port, server_ports


def test_a_free_port_is_none_that_the_kernel_gives_to_connections() -> None:
    ports = server_ports()
    assert len(ports) > 1000
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as one,
    ):
        assert one.getsockname()[1] not in ports
    assert free_port() in ports


def test_processes_with_the_same_seed_draw_different_ports() -> None:
    before = random.getstate()
    free_port()
    assert random.getstate() == before


def test_the_preferred_port_is_used_if_nothing_listens_there() -> None:
    preferred = free_port()
    assert free_port(preferred) == preferred
    with socket.create_server(("127.0.0.1", preferred)):
        assert free_port(preferred) != preferred

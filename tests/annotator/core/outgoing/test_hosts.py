"""The table of special-purpose addresses: every range with its first, last and neighbouring addresses."""

from __future__ import annotations

import ipaddress

import pytest

from annotator.core.outgoing.hosts import SPECIAL_PURPOSE, HostRefused, check_address


@pytest.mark.parametrize("network", SPECIAL_PURPOSE, ids=str)
def test_every_special_purpose_range_is_refused(
    network: ipaddress.IPv4Network | ipaddress.IPv6Network,
) -> None:
    for address in (network[0], network[-1], network[network.num_addresses // 2]):
        with pytest.raises(HostRefused):
            check_address(str(address))


@pytest.mark.parametrize(
    "address",
    [
        # 192.0.0.0/24, parts of which Python 3.13 takes for global, and addresses wrapped in IPv6
        *("192.0.0.1", "192.0.0.9", "192.0.0.10", "192.0.0.170", "192.0.0.255"),
        *(
            "::ffff:10.0.0.1",
            "::ffff:192.0.0.9",
            "64:ff9b::a00:1",
            "64:ff9b::c000:9",
            "2002:7f00:1::",
            "::127.0.0.1",
        ),
        *("4000::1", "8000::1", "fe80::1%eth0", "255.255.255.255", "0.0.0.0"),
    ],
)
def test_special_addresses_are_refused(address: str) -> None:
    with pytest.raises(HostRefused):
        check_address(address)


@pytest.mark.parametrize(
    "address",
    [
        *(
            "1.1.1.1",
            "8.8.8.8",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "172.15.255.255",
        ),
        *(
            "172.32.0.0",
            "191.255.255.255",
            "192.0.1.0",
            "192.0.3.0",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
        ),
        *("2001:200::1", "2606:4700:4700::1111", "2a00::1", "::ffff:8.8.8.8", "64:ff9b::808:808"),
    ],
)
def test_public_addresses_beside_the_ranges_are_accepted(address: str) -> None:
    assert check_address(address) is None, "raises HostRefused for others"

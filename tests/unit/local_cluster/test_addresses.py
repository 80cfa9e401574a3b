"""A cluster listens where nobody does."""

import secrets
import socket
import sys
from collections.abc import Callable

import pytest

from hashrange.local_cluster import addresses
from hashrange.local_cluster.addresses import choose_addresses
from hashrange.local_cluster.failures import ClusterFailure

ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has the whole network 127")


def drawing(monkeypatch: pytest.MonkeyPatch, *numbers: int) -> None:
    drawn = iter(numbers)
    monkeypatch.setattr(secrets, "randbelow", lambda _: next(drawn))


@ON_LINUX
def test_a_cluster_has_a_network_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    drawing(monkeypatch, 77, 4)
    assert choose_addresses(3) == (["127.93.4.1", "127.93.4.2", "127.93.4.3"], 9042, 7000)


@ON_LINUX
@pytest.mark.parametrize(("host", "port"), [("127.93.4.1", 9042), ("127.93.4.2", 7000)])
def test_a_taken_network_is_left_out(host: str, port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    drawing(monkeypatch, 77, 4, 78, 5)
    with socket.create_server((host, port)):
        assert choose_addresses(2).hosts == ["127.94.5.1", "127.94.5.2"]


@ON_LINUX
def test_a_port_that_is_taken_everywhere_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("", 0)) as everywhere:
        monkeypatch.setattr(addresses, "CQL_PORT", everywhere.getsockname()[1])
        hosts, cql_port, storage_port = choose_addresses(2)
        assert hosts == ["127.0.0.1", "127.0.0.2"]
        assert len({cql_port, storage_port, everywhere.getsockname()[1]}) == 3


def without_addresses(monkeypatch: pytest.MonkeyPatch, has: Callable[[str], bool]) -> None:
    """Let the system have only some addresses, as macOS does."""
    are_free = addresses._are_free

    def found(hosts: list[str], port: int) -> bool:
        for host in hosts:
            if not has(host):
                raise addresses._NoAddressError(host)
        return are_free(hosts, port)

    monkeypatch.setattr(addresses, "_are_free", found)


def test_a_system_with_one_address_has_one_node(monkeypatch: pytest.MonkeyPatch) -> None:
    without_addresses(monkeypatch, lambda host: host == "127.0.0.1")
    assert choose_addresses(1).hosts == ["127.0.0.1"]
    with pytest.raises(ClusterFailure, match=r"has no address 127\.0\.0\.2, .*--nodes 1.*lo0 alias 127\.0\.0\.2"):
        choose_addresses(3)


def test_a_system_without_an_address_says_so_to_a_probe() -> None:
    with pytest.raises(addresses._NoAddressError, match=r"^192\.0\.2\.1$"):
        addresses._are_free(["192.0.2.1"], 9042)

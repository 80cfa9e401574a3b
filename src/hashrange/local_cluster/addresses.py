"""At which addresses of the loopback does a cluster listen? At those of a network of its own, 127.X.Y, so that clusters
beside each other do not meet.

All nodes have the same ports, because drivers know one port for all of them. So each node needs an address of its own.
"""

import errno
import secrets
import socket
from collections.abc import Sequence
from typing import NamedTuple

from hashrange.local_cluster.failures import ClusterFailure

CQL_PORT, STORAGE_PORT = 9042, 7000
"""Cassandra's own ports: for clients, and among nodes."""
TRIES = 20


class NodeAddresses(NamedTuple):
    """Where the nodes of a cluster listen."""

    hosts: list[str]
    cql_port: int
    storage_port: int


def choose_addresses(count: int) -> NodeAddresses:
    """Addresses at which nobody listens yet. Raises ClusterFailure."""
    for _ in range(TRIES):
        network = f"127.{16 + secrets.randbelow(224)}.{secrets.randbelow(256)}"
        hosts = [f"{network}.{number}" for number in range(1, count + 1)]
        try:
            if _are_free(hosts, CQL_PORT) and _are_free(hosts, STORAGE_PORT):
                return NodeAddresses(hosts, CQL_PORT, STORAGE_PORT)
        except _NoAddressError:
            break
    return _choose_ports([f"127.0.0.{number}" for number in range(1, count + 1)])


def _choose_ports(hosts: list[str]) -> NodeAddresses:
    """Two free ports, for a system whose loopback has no other addresses, or where a server listens at all of them."""
    for _ in range(TRIES):
        with socket.socket() as first, socket.socket() as second:
            first.bind((hosts[0], 0))
            second.bind((hosts[0], 0))
            cql_port, storage_port = first.getsockname()[1], second.getsockname()[1]
        try:
            if _are_free(hosts, cql_port) and _are_free(hosts, storage_port):
                return NodeAddresses(hosts, cql_port, storage_port)
        except _NoAddressError as error:
            raise ClusterFailure(
                f"this system has no address {error}, and each node needs one. Say --nodes 1, or make the address:"
                f" sudo ifconfig lo0 alias {error}"
            ) from None
    raise ClusterFailure(f"there is no port that is free at all of {', '.join(hosts)}. Say --nodes 1.")


class _NoAddressError(Exception):
    """The system has no such address; the text is the address."""


def _are_free(hosts: Sequence[str], port: int) -> bool:
    for host in hosts:
        with socket.socket() as probe:
            try:
                probe.bind((host, port))
            except OSError as error:
                if error.errno == errno.EADDRNOTAVAIL:
                    raise _NoAddressError(host) from None
                return False
    return True

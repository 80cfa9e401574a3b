"""How is the store of a cluster opened? The nodes are looked at, the keyspace is made where it is missing, and its
layout is compared with what this version knows.
"""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import acsylla
from acsylla.errors import CassErrorServerBadCredentials, CassException

from hashrange.clock import Clock
from hashrange.errors import StorageError, StorageFormatUnknown
from hashrange.messages.cluster import (
    CLUSTER_UNREACHABLE,
    CREDENTIALS_REFUSED,
    FEW_REPLICAS,
    LAYOUT_UNKNOWN,
    LOG_COMMIT_LOG,
    OLD_PAXOS,
    SEVERAL_DATACENTERS,
)
from hashrange.store.cassandra import cql
from hashrange.store.cassandra.address import ClusterAddress
from hashrange.store.cassandra.layout import LAYOUT_VERSION
from hashrange.store.cassandra.session import REQUEST_SECONDS, SERIAL, Session, prepared
from hashrange.store.cassandra.store import CassandraStore

REPLICAS = 3
OPENING_SECONDS = 10.0
SURVIVES = {
    "periodic": "the loss of nodes, but not a power cut of a majority of the replicas at once",
    "group": "power cuts",
    "batch": "power cuts",
}
"""Value of `commitlog_sync` → what a commit survives."""

_log = logging.getLogger("hashrange.store")


async def open_cassandra_store(address: ClusterAddress, clock: Clock, collection_limit_bytes: int) -> CassandraStore:
    """Open the store at this address, on the running loop. Raises StorageError."""
    place = str(address)
    try:
        await _set_up(address)
        opened = await _nodes(address, REQUEST_SECONDS).create_session(keyspace=address.keyspace)
        session = Session(opened, await prepared(opened), clock.monotonic, place)
    except CassErrorServerBadCredentials as error:
        raise StorageError(CREDENTIALS_REFUSED.format(place=place)) from error
    except CassException as error:
        raise StorageError(CLUSTER_UNREACHABLE.format(place=place, reason=error)) from error
    try:
        await _look_at_layout(session, address.keyspace)
        store = CassandraStore(session, clock, collection_limit_bytes)
        await store.catalog.refresh()
    except BaseException:
        await session.close()
        raise
    return store


def _nodes(address: ClusterAddress, request_seconds: float) -> acsylla.Cluster:
    """The driver's settings: it retries nothing, because a conditional write that is sent again may answer falsely, and
    always asks the first replica that is there, so that fewer coordinators meet at a slot.
    """
    return acsylla.create_cluster(
        list(address.hosts),
        port=address.port,
        username=address.user,
        password=address.password,
        ssl_enabled=address.ca_path is not None,
        ssl_trusted_cert=address.ca_path,
        load_balance_dc_aware=address.datacenter,
        request_timeout=request_seconds,
        connect_timeout=OPENING_SECONDS,
        retry_policy="fallthrough",
        token_aware_routing_shuffle_replicas=False,
        constant_reconnect_delay_ms=500,
        heartbeat_interval_sec=1,
        idle_timeout_sec=3,
        application_name="hashrange",
        log_level="disabled",
    )


async def _set_up(address: ClusterAddress) -> None:
    """Look at the nodes, and make keyspace and tables where they are missing. Raises CassException, StorageError."""
    session = await _nodes(address, OPENING_SECONDS).create_session()
    try:
        local = await _ask(session, cql.DESCRIBE_NODE)
        datacenter = address.datacenter or local[0][0]
        datacenters = {name for (name,) in [*local, *await _ask(session, cql.OTHER_NODES)]}
        settings: dict[str, str] = dict(await _ask(session, cql.NODE_SETTINGS))
        require_usable(address, settings, datacenters)
        found = await _ask(session, cql.FIND_KEYSPACE, address.keyspace)
        if not found:
            replicas = 1 if address.is_single_node else REPLICAS
            values = {"keyspace": address.keyspace, "datacenter": datacenter, "replicas": replicas}
            await session.query(cql.KEYSPACE.format(**values))
            found = await _ask(session, cql.FIND_KEYSPACE, address.keyspace)
        require_replicas(address, found[0][0])
        await session.use_keyspace(address.keyspace)
        for table in cql.TABLES:
            await session.query(table)
    finally:
        await session.close()


def require_usable(address: ClusterAddress, settings: Mapping[str, str], datacenters: set[str]) -> None:
    """Raise StorageError for nodes that are not safe, or not supported. `settings`: those of a node, by name."""
    place = str(address)
    if settings.get("paxos_variant", "v1") == "v1":
        raise StorageError(OLD_PAXOS.format(place=place))
    if len(datacenters) > 1:
        raise StorageError(SEVERAL_DATACENTERS.format(place=place, names=", ".join(sorted(datacenters))))
    sync = settings.get("commitlog_sync", "periodic")
    _log.warning(LOG_COMMIT_LOG, sync, SURVIVES.get(sync, "what Cassandra says of it"))


def require_replicas(address: ClusterAddress, replication: Mapping[str, str]) -> None:
    """Raise StorageError if a keyspace with this replication keeps fewer copies than are safe."""
    numbers = [int(value) for value in replication.values() if value.isdigit()]
    if sum(numbers) < REPLICAS and not address.is_single_node:
        raise StorageError(FEW_REPLICAS.format(keyspace=address.keyspace, replicas=sum(numbers), least=REPLICAS))


async def _ask(session: acsylla.Session, text: str, *values: Any) -> Sequence[tuple[Any, ...]]:
    statement = await session.create_prepared(text)
    return [row.as_tuple() for row in await session.execute(statement.bind(values))]


async def _look_at_layout(session: Session, keyspace: str) -> None:
    """Raise StorageFormatUnknown if the keyspace has another layout than this version's."""
    found = await session.execute(cql.READ_LAYOUT, level=SERIAL)
    if not found:
        await session.decide((cql.PUT_LAYOUT, (LAYOUT_VERSION,)))
        found = await session.execute(cql.READ_LAYOUT, level=SERIAL)
    if found[0][0] != LAYOUT_VERSION:
        raise StorageFormatUnknown(LAYOUT_UNKNOWN.format(keyspace=keyspace, version=found[0][0]))

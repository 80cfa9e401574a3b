"""How is the store of a cluster opened? The keyspace is made where it is missing, and its layout looked at."""

import logging

import acsylla
from acsylla.errors import CassException

from hashrange.clock import Clock
from hashrange.errors import StorageError, StorageFormatUnknown
from hashrange.messages.cluster import CLUSTER_UNREACHABLE, LAYOUT_UNKNOWN
from hashrange.store.cassandra import cql
from hashrange.store.cassandra.address import ClusterAddress
from hashrange.store.cassandra.layout import VERSION
from hashrange.store.cassandra.session import REQUEST_SECONDS, SERIAL, Session, prepared
from hashrange.store.cassandra.store import CassandraStore

REPLICAS = 3
OPENING_SECONDS = 10.0

logging.getLogger("acsylla").setLevel(logging.CRITICAL)  # the store logs what matters


async def open_cassandra_store(address: ClusterAddress, clock: Clock, collection_limit_bytes: int) -> CassandraStore:
    """Open the store at this address, on the running loop. Raises StorageError."""
    place = str(address)
    try:
        await _make_keyspace(address)
        session = await _cluster(address, REQUEST_SECONDS).create_session(keyspace=address.keyspace)
        store_session = Session(session, await prepared(session), clock.monotonic, place)
    except CassException as error:
        raise StorageError(CLUSTER_UNREACHABLE.format(place=place, reason=error)) from error
    try:
        await _look_at_layout(store_session, address.keyspace)
        store = CassandraStore(store_session, clock, collection_limit_bytes)
        await store.catalog.refresh()
    except BaseException:
        await store_session.close()
        raise
    return store


def _cluster(address: ClusterAddress, request_seconds: float) -> acsylla.Cluster:
    return acsylla.create_cluster(
        list(address.hosts),
        port=address.port,
        username=address.user,
        password=address.password,
        request_timeout=request_seconds,
        connect_timeout=OPENING_SECONDS,
        retry_policy="fallthrough",
        token_aware_routing_shuffle_replicas=False,
        exponential_reconnect_base_delay_ms=200,
        exponential_reconnect_max_delay_ms=2000,
        heartbeat_interval_sec=1,
        idle_timeout_sec=3,
        core_connections_per_host=1,
        application_name="hashrange",
    )


async def _make_keyspace(address: ClusterAddress) -> None:
    """Make keyspace and tables where they are missing. Raises CassException, StorageError."""
    session = await _cluster(address, OPENING_SECONDS).create_session()
    try:
        local = (await session.query(cql.DESCRIBE_NODE)).first()
        assert local is not None
        replicas = 1 if address.is_single_node else REPLICAS
        values = {"keyspace": address.keyspace, "datacenter": local.column_value("data_center"), "replicas": replicas}
        found = await session.create_prepared(cql.DESCRIBE_KEYSPACE)
        if not len(await session.execute(found.bind([address.keyspace]))):
            await session.query(cql.KEYSPACE.format(**values))
        await session.use_keyspace(address.keyspace)
        for table in cql.TABLES:
            await session.query(table)
    finally:
        await session.close()


async def _look_at_layout(session: Session, keyspace: str) -> None:
    """Raise StorageFormatUnknown if the keyspace has another layout than this version's."""
    found = await session.read(cql.LAYOUT, level=SERIAL)
    if not found:
        await session.decide((cql.PUT_LAYOUT, (VERSION,)))
        found = await session.read(cql.LAYOUT, level=SERIAL)
    if found[0][0] != VERSION:
        raise StorageFormatUnknown(LAYOUT_UNKNOWN.format(keyspace=keyspace, version=found[0][0]))

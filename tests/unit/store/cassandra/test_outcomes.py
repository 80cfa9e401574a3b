"""What becomes of a batch whose reply is lost, and what is a cluster that cannot be used?"""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from hashrange.errors import OutcomeUnknown, StorageError
from hashrange.store.cassandra import cql, layout
from hashrange.store.cassandra.address import ClusterAddress
from hashrange.store.cassandra.opening import require_replicas, require_usable
from hashrange.store.cassandra.session import CqlStatement, OutcomeLost
from hashrange.store.cassandra.store import CassandraStore
from tests.model.test_cluster_store import World, item_of, numbers_in, row_of_item
from tests.support.fake_cassandra import Chances, FakeCluster, FakeSession


class Losing(FakeSession):
    """Carries out the next conditional writes to slots, and then lets others write, before their replies are lost."""

    def __init__(self, cluster: FakeCluster, chances: Chances) -> None:
        super().__init__(cluster, chances)
        self.followers = -1
        """Batches of others behind the next one; -1: no reply is lost."""

    async def decide(self, *statements: CqlStatement) -> bool:
        is_done = await super().decide(*statements)
        if self.followers < 0 or statements[0][0] not in (cql.ADVANCE_SLOT, cql.BEGIN_SLOT):
            return is_done
        table_id, slot = statements[0][1][6:8]
        head = self.cluster.slot(table_id, slot)
        for number in range(self.followers):
            version = head.head[0] + 1
            head.head[:2] = version, b"another %d" % number
            key, row = layout.batch_row(version, head.head[1])
            head.rows[layout.BATCHES, key] = row
        self.followers = -1
        raise OutcomeLost


async def appended(followers: int) -> tuple[Any, Sequence[int]]:
    """What a write returns or raises whose reply is lost while others write, and the list in its item."""
    world = World(1, 1)
    await world.begin()
    session = Losing(world.cluster, world.chances)
    store = CassandraStore(session, world.chances.clock, 10**10)  # type: ignore[arg-type]
    await store.catalog.refresh()
    key = world.key(0, 1)

    def plan(old: Any) -> Any:
        return row_of_item(item_of(1, (*numbers_in(old), 7), "a"))

    session.followers = followers
    outcome: Any
    try:
        outcome = await store.mutate(world.tables[0], key, plan)
    except StorageError as error:
        outcome = error
    row = await world.stores[0].get(world.tables[0].source_id, key, consistent=True)
    await store.close()
    return outcome, numbers_in(row)


@pytest.mark.parametrize("followers", [0, 1, 5, layout.BATCHES_KEPT - 1])
def test_a_write_whose_reply_is_lost_took_place_once(followers: int) -> None:
    outcome, numbers = asyncio.run(appended(followers))
    assert not isinstance(outcome, StorageError)
    assert numbers == (7,)


def test_what_can_no_longer_be_known_is_told() -> None:
    outcome, numbers = asyncio.run(appended(layout.BATCHES_KEPT))
    assert isinstance(outcome, OutcomeUnknown)
    assert numbers == (7,)


ADDRESS = ClusterAddress(hosts=("10.0.0.1",), keyspace="hashrange")


@pytest.mark.parametrize(
    ("settings", "datacenters", "told"),
    [
        ({"paxos_variant": "v1"}, {"dc1"}, "first variant of Paxos"),
        ({}, {"dc1"}, "first variant of Paxos"),
        ({"paxos_variant": "v2"}, {"dc1", "dc2"}, "dc1, dc2"),
    ],
)
def test_nodes_that_are_not_safe_are_refused(settings: dict[str, str], datacenters: set[str], told: str) -> None:
    with pytest.raises(StorageError, match=told):
        require_usable(ADDRESS, settings, datacenters)


def test_what_a_commit_survives_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    require_usable(ADDRESS, {"paxos_variant": "v2", "commitlog_sync": "periodic"}, {"dc1"})
    assert "periodic: a commit survives the loss of nodes, but not a power cut" in caplog.text


def test_few_replicas_are_refused_unless_that_is_meant() -> None:
    replication = {"class": "org.apache.cassandra.locator.NetworkTopologyStrategy", "dc1": "2"}
    with pytest.raises(StorageError, match="2 copies"):
        require_replicas(ADDRESS, replication)
    require_replicas(ADDRESS, replication | {"dc1": "3"})
    single = ClusterAddress(hosts=("10.0.0.1",), keyspace="hashrange", is_single_node=True)
    require_replicas(single, replication | {"dc1": "1"})

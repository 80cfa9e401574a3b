"""The metrics of very many nodes are recorded in pieces, and a clock that is moved hardly looks at them."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

import pytest

from hashrange.cloudwatch.feature import METRICS
from hashrange.cloudwatch.metric_id import MetricId
from hashrange.cloudwatch.metrics import Metrics
from hashrange.cloudwatch.statistic import Statistic
from hashrange.dax.node_caches import SAMPLE, NodeCaches
from hashrange.dax.node_host import NodePlace, NodeTerms
from hashrange.operations.registry import OPERATIONS
from hashrange.server.connections import Connections
from hashrange.server.dax.nodes import HOTTEST_SHOWN, DaxNodes
from hashrange.service.service import Service
from hashrange.settings import Settings
from hashrange.store.copying import copying_of
from hashrange.store.embedded import open_store
from tests.support.clocks import VirtualClock
from tests.support.working import lines_between_looks

NODES = 100
MINUTE_SECONDS = 60
TERMS = NodeTerms(0, 0, 100_000_000)


def place_of(number: int) -> NodePlace:
    return NodePlace("000000000000", "eu-west-1", f"shop{number // 10}", f"node-{number}")


class World:
    """A service with nodes and a clock that is moved."""

    def __init__(self) -> None:
        self.clock = VirtualClock(30_000_000.0 * MINUTE_SECONDS)
        self.store = open_store(None, self.clock, None)
        self.service = Service(self.store, OPERATIONS, self.clock, Settings(data_dir=None))
        self.service.take_turns(asyncio.get_running_loop())
        self.metrics: Metrics = self.service.features.part(METRICS)
        self.nodes = DaxNodes(self.service, None, None, Connections(lambda _: None, self.clock))

    async def start(self, number: int = 0) -> NodeCaches:
        await self.nodes.start(place_of(number), TERMS, "", None, must_have_port=False)
        return self.nodes._running[place_of(number)].caches

    def points(self, name: str, statistic: Statistic, number: int = 0) -> list[float | None]:
        """The node's datapoints of the last ten minutes."""
        place = place_of(number)
        dimensions = (("ClusterId", place.cluster), ("NodeId", place.node_id))
        metric = MetricId(place.account, place.region, "AWS/DAX", name, dimensions)
        now_seconds = self.clock.service_time()
        self.metrics.sources.read()
        values = self.metrics.values(metric, now_seconds - 9 * MINUTE_SECONDS, now_seconds + 1, 60, statistic)
        begin = int(now_seconds) // MINUTE_SECONDS * MINUTE_SECONDS - 9 * MINUTE_SECONDS
        return [values.get(begin + minute * MINUTE_SECONDS) for minute in range(10)]


@pytest.fixture
def in_world() -> Callable[[Callable[[World], Awaitable[None]]], None]:
    def run(test: Callable[[World], Awaitable[None]]) -> None:
        async def play() -> None:
            world = World()
            try:
                await test(world)
            finally:
                await world.nodes.close()
                world.store.close_now()

        asyncio.run(play())

    return run


InWorld = Callable[[Callable[[World], Awaitable[None]]], None]


def test_a_clock_that_is_moved_hardly_looks_at_very_many_nodes(in_world: InWorld) -> None:
    """50 nodes took 6 ms at each stop of an advance, and 500 held all clients up for 60 ms."""

    async def test(world: World) -> None:
        for number in range(NODES):
            (await world.start(number)).counts["GetItemRequestCount"] += 1
        world.metrics.find("000000000000", "eu-west-1")
        assert lines_between_looks(partial(world.clock.advance, 1)) < NODES
        assert lines_between_looks(partial(world.clock.advance, MINUTE_SECONDS)) < 50 * NODES

    in_world(test)


def test_the_metrics_of_very_many_nodes_are_recorded_in_pieces(in_world: InWorld) -> None:
    async def test(world: World) -> None:
        of_nodes = [await world.start(number) for number in range(NODES)]
        world.clock.advance(MINUTE_SECONDS)
        for caches in of_nodes:
            caches.counts["GetItemRequestCount"] += 1
        assert lines_between_looks(world.metrics.sources.read) < 100 * NODES
        assert world.points("GetItemRequestCount", lambda cell: cell.statistics.sum, NODES - 1)[-2:] == [None, 1.0]

    in_world(test)


def test_what_nodes_count_and_show_is_in_its_minute(in_world: InWorld) -> None:
    """Whether somebody reads in between or not."""

    async def test(world: World) -> None:
        of_minutes = []
        for reads in (False, True):
            caches = await world.start()
            for count in range(1, 6):
                caches.counts["GetItemRequestCount"] += count
                caches.received_bytes += 10 * count
                world.clock.advance(MINUTE_SECONDS)
                if reads:
                    world.metrics.sources.read()
            await world.nodes.stop(place_of(0))
            of_minutes.append(
                (
                    world.points("GetItemRequestCount", lambda cell: cell.statistics.sum)[-6:],
                    world.points("GetItemRequestCount", lambda cell: cell.statistics.maximum)[-6:],
                    world.points("NetworkBytesIn", lambda cell: cell.statistics.sum)[-6:],
                    world.points("ClientConnections", lambda cell: cell.statistics.sample_count)[-5:],
                )
            )
            world.clock.advance(MINUTE_SECONDS)
        expected = ([1, 2, 3, 4, 5, None], [1, 1, 1, 1, 1, None], [10, 20, 30, 40, 50, None], [1, 1, 1, 1, 1])
        assert of_minutes == [expected, expected]

    in_world(test)


def test_a_node_that_has_ended_leaves_what_it_has_counted(in_world: InWorld) -> None:
    async def test(world: World) -> None:
        caches = await world.start()
        caches.counts["GetItemRequestCount"] += 3
        await world.nodes.stop(place_of(0))
        again = await world.start()
        again.counts["GetItemRequestCount"] += 4
        world.clock.advance(MINUTE_SECONDS)
        assert world.points("GetItemRequestCount", lambda cell: cell.statistics.sum)[-2:] == [7, None]

    in_world(test)


def test_what_was_counted_of_content_that_has_been_replaced_is_not_recorded(in_world: InWorld) -> None:
    async def test(world: World) -> None:
        caches = await world.start()
        caches.counts["GetItemRequestCount"] += 3
        world.clock.advance(MINUTE_SECONDS)
        caches.counts["GetItemRequestCount"] += 5
        copying_of(world.store).restore(None)
        world.nodes.forget()
        caches.counts["GetItemRequestCount"] += 4
        world.clock.advance(MINUTE_SECONDS)
        assert world.points("GetItemRequestCount", lambda cell: cell.statistics.sum)[-3:] == [None, 4, None]

    in_world(test)


def test_very_many_nodes_are_described_in_pieces(in_world: InWorld) -> None:
    """500 nodes, of which each knows 1,000 keys that are read much, took 35 ms."""

    async def test(world: World) -> None:
        for number in range(NODES):
            caches = await world.start(number)
            for key in range(200 * SAMPLE):
                caches.hot_keys.see(("000000000000", "eu-west-1", "films", b"%d" % key))
        described = world.nodes.describe()
        assert len(described) == NODES
        assert all(len(one["hottest"]) == HOTTEST_SHOWN for one in described)  # type: ignore[arg-type]
        assert lines_between_looks(world.nodes.describe) < lines_of_one(world) + 50 * NODES

    def lines_of_one(world: World) -> int:
        return lines_between_looks(lambda: world.nodes._running[place_of(0)].caches.hot_keys.most(HOTTEST_SHOWN))

    in_world(test)

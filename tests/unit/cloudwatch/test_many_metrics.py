"""Metrics beyond the greatest number of them cost neither time nor memory that grows with their number."""

import gc
import random
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest

from hashrange.aws_services.operation import Caller
from hashrange.cloudwatch import metric_names, series_table
from hashrange.cloudwatch import metrics as metrics_module
from hashrange.cloudwatch.api.checks import DimensionMember
from hashrange.cloudwatch.api.list_metrics import ListMetricsRequest, list_metrics
from hashrange.cloudwatch.api.put_metric_data import MetricDatumMember, PutMetricDataRequest, put_metric_data
from hashrange.cloudwatch.metric_documents import cell_bytes
from hashrange.cloudwatch.metric_id import MetricId
from hashrange.cloudwatch.metric_names import MetricNames
from hashrange.cloudwatch.series import Series
from hashrange.cloudwatch.statistic import of_value
from hashrange.errors import StorageError
from hashrange.items import steps
from hashrange.service.workers import Workers
from hashrange.store.copying import copying_of
from tests.support.working import HurriedClock, Turns, give_way_always, lines_between_looks
from tests.unit.cloudwatch.conftest import START_SECONDS, World

OWN = MetricId("000000000000", "us-east-1", "Own", "Load")
PLACE = OWN[:2]


class CountedName(str):
    """A name that counts comparisons."""

    __slots__ = ()
    comparisons = 0

    def __lt__(self, other: str) -> bool:
        CountedName.comparisons += 1
        return str.__lt__(self, other)


@contextmanager
def counted() -> Iterator[Callable[[], int]]:
    """Counts comparisons of names."""
    before = CountedName.comparisons
    yield lambda: CountedName.comparisons - before


def test_metrics_that_take_the_place_of_others_are_not_sorted_each_time() -> None:
    """With 20,000 metrics, a thousand new ones took more than a second."""
    names = MetricNames()
    order = random.Random(1)
    metrics = [OWN._replace(name=CountedName(order.random())) for _ in range(2_000)]
    for metric in metrics[:1_000]:
        names.add(metric)
    with counted() as comparisons:
        for new, old in zip(metrics[1_000:], metrics[:1_000], strict=True):
            names.add(new)
            names.remove(old)
        assert comparisons() == 0
    assert names.find(*PLACE, None, None) == sorted(metrics[1_000:])


@pytest.mark.parametrize("seed", range(5))
def test_names_are_those_that_have_been_added_and_not_removed(seed: int) -> None:
    draw = random.Random(seed)
    names, known = MetricNames(), set[MetricId]()
    for _ in range(2_000):
        metric = OWN._replace(namespace=draw.choice("ab"), name=str(draw.randrange(20)))
        if metric in known:
            known.remove(metric)
            names.remove(metric)
        else:
            known.add(metric)
            names.add(metric)
        if draw.random() < 0.1:
            assert names.find(*PLACE, None, None) == sorted(known)
            name = draw.choice("0123456789")
            found = names.find(*PLACE, "a", name)
            assert found == sorted(one for one in known if (one.namespace, one.name) == ("a", name))


def test_metrics_that_were_never_saved_are_forgotten_at_once(
    open_world: Callable[[str], World], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(series_table, "METRIC_SERIES_CUSTOM_MAX", 40)
    world = open_world("memory")
    before = series_alive()
    for number in range(400):
        world.metrics.record(OWN._replace(name=f"{number:03}"), "Count", START_SECONDS, of_value(1.0), {0: 1.0})
    former = set(map(id, before))  # which lives, so that no other series has its identity
    assert len([one for one in series_alive() if id(one) not in former]) == 40
    world.save()
    assert len([name for name in world.documents() if name.startswith("metric-block/")]) == 40


def test_data_is_saved_when_memory_is_to_hold_no_more(
    open_world: Callable[[str], World], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not only each quarter of an hour, in which a client could put more than memory has."""
    world = open_world("memory")
    monkeypatch.setattr(metrics_module, "METRIC_UNSAVED_BYTES_MAX", 10 * cell_bytes({}))
    caller = Caller(OWN.account, OWN.region)

    def put(number: int) -> None:
        at = datetime.fromtimestamp(START_SECONDS - 6 * 3600 * number, UTC)
        datum = MetricDatumMember(f"Load{number}", Timestamp=at, Values=[1.0, 2.0])
        world.run(put_metric_data(world.metrics, caller, PutMetricDataRequest("Own", [datum] * 5)))

    put(0)
    put(1)
    assert world.documents() == {}
    put(2)
    saved = [name for name in world.documents() if name.startswith("metric-block/")]
    assert len(saved) == 2
    put(3)
    world.save()
    put(4)
    put(5)
    assert len([name for name in world.documents() if name.startswith("metric-block/")]) == 4
    for number in range(6):
        metric, begin = OWN._replace(name=f"Load{number}"), START_SECONDS - 6 * 3600 * number
        (point,) = world.metrics.points(metric, begin, begin + 60, 60)
        assert point.statistics.sum == 15.0


def test_very_many_metrics_are_listed_in_pieces(open_world: Callable[[str], World]) -> None:
    """Each was looked at without giving way and, with RecentlyActive, all sources were read again for each."""
    world = open_world("memory")
    reads: list[float] = []
    world.metrics.sources.add(reads.append)
    for number in range(3_000):
        metric = OWN._replace(name=f"{number:04}", dimensions=(("host", str(number)),))
        world.metrics.record(metric, "Count", START_SECONDS, of_value(1.0))
    caller = Caller(OWN.account, OWN.region)
    by_host = ListMetricsRequest(Dimensions=[DimensionMember("host")])
    for request in (ListMetricsRequest(), ListMetricsRequest(RecentlyActive="PT3H"), by_host):
        reads.clear()
        lines = lines_between_looks(partial(world.run, list_metrics(world.metrics, caller, request)))
        assert lines < 10_000
        assert len(reads) == 1
        assert len(world.run(list_metrics(world.metrics, caller, request))["Metrics"]) == 500


def series_alive() -> list[Series]:
    """Series that something still refers to, those of earlier tests among them."""
    gc.collect()
    return [one for one in gc.get_objects() if isinstance(one, Series)]


def test_a_long_series_is_read_in_pieces(open_world: Callable[[str], World]) -> None:
    """Fifteen days by minutes held up all clients for 60 ms; what is saved or rolled up meanwhile counts once."""
    world = open_world("memory")
    minutes = 15 * 24 * 60
    begin = START_SECONDS - 60 * (minutes - 2_000)
    for number in range(minutes):
        world.metrics.record(OWN, "Count", begin + 60 * number, of_value(1.0))
    world.clock.advance(60 * 2_000)
    end = world.clock.service_time()
    lines = lines_between_looks(partial(world.metrics.points, OWN, begin, end, 300))
    assert lines < 4_000

    async def read() -> float:
        return sum(point.statistics.sum for point in world.metrics.points(OWN, begin - 3600, end + 3600, 300))

    def change() -> None:
        world.clock.advance(600)
        world.metrics.begin_roll_ups()
        running = world.metrics.save()
        with pytest.raises(StopIteration):
            running.send(None)

    ways_given, counted = give_way_always(read(), change)
    assert ways_given > 20
    assert counted == minutes


class CountedText(str):
    """A text that counts how often one is hashed, compared or freed."""

    __slots__ = ()
    uses = 0

    def __hash__(self) -> int:
        CountedText.uses += 1
        return str.__hash__(self)

    def __eq__(self, other: object) -> bool:
        CountedText.uses += 1
        return str.__eq__(self, other)

    def __lt__(self, other: str) -> bool:
        CountedText.uses += 1
        return str.__lt__(self, other)

    def __del__(self) -> None:
        CountedText.uses += 1


@pytest.mark.parametrize("is_listed", [False, True])
def test_no_removal_of_a_name_passes_over_all(*, is_listed: bool) -> None:
    """Of 20,000 metrics with 30 dimensions, half were hashed and freed in one step of 66 to 130 ms."""
    names = MetricNames()
    metrics = deque(OWN._replace(name="", dimensions=(("host", CountedText(one)),)) for one in range(1_500))
    for metric in metrics:
        names.add(metric)
    if is_listed:
        assert len(names.find(*PLACE, "Own", "")) == 1_500
    most = 0
    while metrics:
        before = CountedText.uses
        names.remove(metrics.popleft())
        most = max(most, CountedText.uses - before)
    assert names.find(*PLACE, None, None) == []
    assert most < 100


class OpenFind:
    """A search that may have given way, and what it must and may find."""

    def __init__(self, known: Iterable[MetricId], namespace: str | None, name: str | None) -> None:
        self.question = namespace, name
        self.must, self.may = set(filter(self.asks_for, known)), set(filter(self.asks_for, known))
        self.found: list[MetricId] | None = None

    def asks_for(self, metric: MetricId) -> bool:
        namespace, name = self.question
        return namespace in (None, metric.namespace) and name in (None, metric.name)

    def check(self) -> None:
        """It has found what was there all the time, nothing that was never there, each once and in order."""
        assert self.found is not None
        assert self.found == sorted(set(self.found))
        assert self.must <= set(self.found) <= self.may


class Searching:
    """Names, a model of them, and searches that give way at each step."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.names, self.known = MetricNames(), dict[MetricId, None]()
        self.workers, self.turns = Workers(HurriedClock()), Turns()
        loop: Any = self.turns
        self.workers.take_turns(loop)
        self.open: list[OpenFind] = []
        self.ended = self.together = 0

    def change(self) -> None:
        """Add a metric, or remove it if it is there."""
        draw = self.draw
        dimensions = (("host", str(draw.randrange(12))),)
        metric = OWN._replace(namespace=draw.choice("ab"), name=draw.choice("xyz"), dimensions=dimensions)
        if metric in self.known:
            del self.known[metric]
            self.names.remove(metric)
        else:
            self.known[metric] = None
            self.names.add(metric)
        for find in self.open:
            if metric in self.known and find.asks_for(metric):
                find.may.add(metric)
            find.must -= {metric} - self.known.keys()

    def begin(self) -> None:
        """Begin a search."""
        find = OpenFind(self.known, self.draw.choice(["a", "b", None]), self.draw.choice(["x", "y", None]))
        self.open.append(find)
        self.workers.run(self._run, find)

    def _run(self, find: OpenFind) -> None:
        find.found = self.names.find(*PLACE, *find.question)

    def turn(self) -> None:
        """Let those that gave way go on, and check those that have ended."""
        self.together = max(self.together, sum(find.found is None for find in self.open))
        self.turns.turn()
        for find in [find for find in self.open if find.found is not None]:
            find.check()
            self.open.remove(find)
            self.ended += 1


@pytest.fixture
def look_at_each_step(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    before = steps._look, steps._queue
    monkeypatch.setattr(steps, "LOOK_STEPS", 1)
    steps.look()
    yield
    steps._look, steps._queue = before


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.usefixtures("look_at_each_step")
def test_names_come_and_go_while_others_search(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metric_names, "RUN_METRICS_MAX", 4)
    searching = Searching(seed)
    for _ in range(600):
        step = searching.draw.choice([searching.change] * 8 + [searching.begin] + [searching.turn] * 3)
        step()
    while searching.open:
        searching.turn()
    assert searching.ended > 20
    assert searching.together > 1
    assert searching.names.find(*PLACE, None, None) == sorted(searching.known)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.usefixtures("look_at_each_step")
def test_who_searches_while_names_are_freed_comes_to_an_end(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metric_names, "RUN_METRICS_MAX", 4)
    monkeypatch.setattr(metric_names, "DROPPED_TOGETHER", 3)
    searching = Searching(seed)
    for _ in range(60):
        searching.change()
    searching.begin()
    searching.turn()
    for find in searching.open:
        find.must.clear()
    searching.begin()
    for _ in searching.names.drop():
        for find in searching.open:
            find.must.clear()
        searching.turn()
    while searching.open:
        searching.turn()
    assert searching.names.find(*PLACE, None, None) == []


@pytest.mark.parametrize("has_flood", [False, True])
def test_very_many_names_are_sorted_in_pieces(*, has_flood: bool) -> None:
    """Names that come or go meanwhile are not lost; where others come without end, sorting ends all the same."""
    order = random.Random(1)
    names, known = MetricNames(), dict[MetricId, None]()

    def add() -> None:
        metric = OWN._replace(name=f"{order.random():.12f}")
        known[metric] = None
        names.add(metric)

    def change() -> None:
        for _ in range(50 if has_flood else 0):
            add()
        if has_flood:
            gone = next(iter(known))
            del known[gone]
            names.remove(gone)

    for _ in range(10_000):
        add()

    async def find() -> list[MetricId]:
        return names.find(*PLACE, None, None)

    ways_given, _ = give_way_always(find(), change)
    assert ways_given > 3
    assert names.find(*PLACE, None, None) == sorted(known)


def test_a_put_of_many_data_gives_way(open_world: Callable[[str], World]) -> None:
    world = open_world("memory")
    caller = Caller(OWN.account, OWN.region)
    request = PutMetricDataRequest("Own", [MetricDatumMember(f"Load{number}", Value=1.0) for number in range(1_000)])
    ways_given, _ = give_way_always(put_metric_data(world.metrics, caller, request))
    assert ways_given > 50


def loaded_world(open_world: Callable[[str], World], count: int) -> World:
    """A world whose metrics have been saved, and are not loaded again yet."""
    world = open_world("memory")
    for number in range(count):
        world.metrics.record(OWN._replace(name=f"{number:05}"), "Count", START_SECONDS - number % 7, of_value(1.0))
    world.save()
    world.restart()
    return world


def test_very_many_metrics_are_loaded_in_pieces(open_world: Callable[[str], World]) -> None:
    """A fork or restore with 20,000 metrics held up all clients for 355 to 842 ms.
    What is recorded meanwhile is not lost, even if it was known.
    """
    world = loaded_world(open_world, 2_000)
    metrics = world.metrics
    assert lines_between_looks(lambda: metrics.find(*PLACE)) < 5_000
    world.restart()
    metrics = world.metrics
    recorded: list[str] = []

    def record() -> None:
        recorded.append(f"{1_999 - 3 * len(recorded):05}")
        metrics.record(OWN._replace(name=recorded[-1]), "Count", START_SECONDS, of_value(1.0))
        metrics.record_steadily(
            OWN._replace(name="steady"), "Count", START_SECONDS, START_SECONDS + 60, 60, of_value(1.0)
        )

    async def find() -> int:
        return len(metrics.find(*PLACE))

    ways_given, found = give_way_always(find(), record)
    assert ways_given > 50
    assert found in {2_000, 2_001}
    world.save()
    world.restart()
    assert len(world.metrics.find(*PLACE)) == 2_001
    for name in recorded:
        (point,) = world.metrics.points(OWN._replace(name=name), START_SECONDS - 3600, START_SECONDS + 60, 3600 + 3600)
        assert point.statistics.sum == recorded.count(name) + 1


def test_readers_share_the_loading(open_world: Callable[[str], World], monkeypatch: pytest.MonkeyPatch) -> None:
    world = loaded_world(open_world, 1_000)
    reads: list[str | None] = []
    some_below = world.store.documents.some_below

    def counted_reads(prefix: str, after: str | None, count: int) -> Sequence[tuple[str, bytes]]:
        reads.append(after)
        return some_below(prefix, after, count)

    monkeypatch.setattr(world.store.documents, "some_below", counted_reads)
    metrics, others = world.metrics, []

    async def find() -> int:
        return len(metrics.find(*PLACE))

    _, found = give_way_always(find(), lambda: others.append(len(metrics.find(*PLACE))))
    assert (found, set(others)) == (1_000, {1_000})
    assert len(reads) == len(set(reads)) == 12


def test_the_loading_begins_again_if_the_content_is_replaced_meanwhile(open_world: Callable[[str], World]) -> None:
    world = loaded_world(open_world, 1_000)
    metrics, store = world.metrics, world.store
    assert metrics.load_some()
    assert metrics.load_some()
    copying_of(store).restore(None)
    metrics.record(OWN, "Count", START_SECONDS, of_value(1.0))
    assert metrics.find(*PLACE) == [OWN]


def test_a_loading_that_fails_begins_again(open_world: Callable[[str], World], monkeypatch: pytest.MonkeyPatch) -> None:
    world = loaded_world(open_world, 1_000)
    metrics = world.metrics
    assert metrics.load_some()
    with monkeypatch.context() as broken:

        def fail(*_: object) -> Sequence[tuple[str, bytes]]:
            raise StorageError("gone")

        broken.setattr(world.store.documents, "some_below", fail)
        for _ in range(2):
            with pytest.raises(StorageError):
                metrics.find(*PLACE)
    assert len(metrics.find(*PLACE)) == 1_000


def test_the_job_loads_what_nobody_asks_for(open_world: Callable[[str], World]) -> None:
    world = loaded_world(open_world, 1_000)
    slices = 0
    while world.run(world.job.run_slice()) == 0:
        slices += 1
    assert slices > 20
    assert not world.metrics.load_some()


def test_who_asks_sees_what_was_counted_before_though_a_reading_had_begun(open_world: Callable[[str], World]) -> None:
    world = open_world("memory")
    counted, recorded = [0], list[int]()

    def source(_: float) -> Iterator[None]:
        taken, counted[:] = counted[:], []
        for one in taken:
            yield
            recorded.append(one)
        yield

    world.metrics.sources.add(source)

    async def read() -> None:
        world.metrics.sources.read()

    def come() -> None:
        number = len(recorded)
        if number < 5:
            counted.append(100 + number)
            world.metrics.sources.read()
            assert 100 + number in recorded

    give_way_always(read(), come)
    assert recorded[:2] == [0, 100]

"""Metrics with the longest names take no more memory than there is for the names of all,
and are read and freed in pieces by their length.
"""

import gc
import logging
import sys
from collections.abc import Callable, Sequence
from itertools import pairwise

import pytest

from hashrange.aws_services.operation import Caller
from hashrange.cloudwatch import metric_documents, series_table, totals
from hashrange.cloudwatch.api.list_metrics import ListMetricsRequest, list_metrics
from hashrange.cloudwatch.limits import (
    METRIC_CUSTOM_NAMES_BYTES_MAX,
    METRIC_SERIES_CUSTOM_MAX,
    METRICS_LISTED_BYTES_MAX,
)
from hashrange.cloudwatch.metric_documents import StoredSeries
from hashrange.cloudwatch.metric_id import MetricId
from hashrange.cloudwatch.metric_names import DROPPED_TOGETHER
from hashrange.cloudwatch.series import Series
from hashrange.cloudwatch.series_table import SeriesTable
from hashrange.cloudwatch.statistic import of_value
from hashrange.cloudwatch.totals import MetricTotals
from tests.unit.cloudwatch.conftest import START_SECONDS, World

OWN = MetricId("000000000000", "us-east-1", "Own", "Load")
ONE = of_value(1.0)


@pytest.fixture(autouse=True)
def only_new_objects() -> None:
    """Look for what is alive among new objects only: there may be a million of other tests, which the end of a server
    in this process has included in garbage collection.
    """
    gc.freeze()


def long_metric(number: int, namespace: str = "Own") -> MetricId:
    """A metric with as many dimensions, and as long values, as there may be."""
    dimensions = tuple((f"d{one:02}", f"{number:06}x{one:02}".ljust(1024, "v")) for one in range(30))
    return OWN._replace(namespace=namespace, name=f"{number:05}", dimensions=dimensions)


def record(world: World, metrics: Sequence[MetricId], unit: str = "Count") -> None:
    """Record each metric once, a second after the other."""
    for place, metric in enumerate(metrics):
        world.metrics.record(metric, unit, START_SECONDS + place, ONE)


def found(world: World) -> list[MetricId]:
    """All metrics that are known."""
    return list(world.metrics.find(*OWN[:2]))


def test_the_bytes_of_names_are_about_what_they_take() -> None:
    for metric, most in ((long_metric(1), 1.1), (OWN, 1.2)):
        texts = [metric.namespace, metric.name, *(text for pair in metric.dimensions for text in pair)]
        taken = sum(map(sys.getsizeof, texts)) + sum(map(sys.getsizeof, metric.dimensions))
        assert taken * 0.9 < metric.names_bytes < taken * most
    ordinary = OWN._replace(dimensions=tuple((f"dimension-{one:05}", "v" * 40) for one in range(12)))
    assert ordinary.names_bytes * METRIC_SERIES_CUSTOM_MAX < METRIC_CUSTOM_NAMES_BYTES_MAX


def test_metrics_are_forgotten_when_names_take_too_much(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """5,000 such metrics took 200 MB, and 20,000, the allowed number, would have taken 0.8 GB."""
    metrics = [long_metric(number) for number in range(30)]
    monkeypatch.setattr(series_table, "METRIC_CUSTOM_NAMES_BYTES_MAX", 10 * metrics[0].names_bytes)
    others = [long_metric(number, "AWS/DynamoDB") for number in range(20)]
    record(world, others)
    with caplog.at_level(logging.WARNING, "hashrange.cloudwatch"):
        record(world, metrics[:20])
        assert found(world) == [*others, *metrics[10:20]]
        world.save()
        record(world, metrics[20:])
        world.metrics.record(metrics[20], "Bytes", START_SECONDS + 40, ONE)  # each unit counts
    assert [one.getMessage().partition(";")[0] for one in caplog.records] == ["there are 10 metrics already"]
    assert found(world) == [*others, *metrics[20:]]
    few = [OWN._replace(name=str(number)) for number in range(5)]
    record(world, few)
    kept = sorted([*others, metrics[20], *metrics[22:], *few])
    assert found(world) == kept
    world.save()
    assert len([name for name in world.documents() if name.startswith("metric-block/")]) == len(kept)
    world.restart()
    assert found(world) == kept


def test_a_long_name_takes_the_place_of_many_short_ones() -> None:
    short = [OWN._replace(name=f"{number:05}") for number in range(100)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(series_table, "METRIC_CUSTOM_NAMES_BYTES_MAX", 42_000)
        table = SeriesTable()
        for number, metric in enumerate(short):
            assert table.add(number, metric, "None", None)[1] == []  # type: ignore[arg-type]
        _, removed = table.add(100, long_metric(1), "None", None)  # type: ignore[arg-type]
    assert 50 < len(removed) < 100
    assert [one.metric for one in removed] == short[: len(removed)]
    for known in list(table.by_number.values()):
        table.remove(known)
    assert table._custom._names_bytes == 0
    assert table._custom.counts() == []


def test_a_folder_with_more_than_there_is_room_for_is_opened(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """As one that an earlier version has written. What there is no room for is deleted by the next save."""
    metrics = [long_metric(number) for number in range(30)]
    record(world, metrics)
    world.save()
    monkeypatch.setattr(series_table, "METRIC_CUSTOM_NAMES_BYTES_MAX", 10 * metrics[0].names_bytes)
    world.restart()
    assert found(world) == metrics[20:]
    world.save()
    assert len([name for name in world.documents() if name.startswith("metric-block/")]) == 10
    world.restart()
    assert found(world) == metrics[20:]


def test_totals_are_of_services_metrics_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is told of programs' own, which took the room of others:
    no counter of a new table was shown after 100,000 of them.
    """
    monkeypatch.setattr(totals, "METRIC_TOTALS_MAX", 20)
    of_server = MetricTotals()
    others = [long_metric(number, "AWS/DynamoDB") for number in range(30)]
    for metric in [*[long_metric(number) for number in range(30)], *others, *others]:
        of_server.add(metric, "Count", ONE)
    assert [metric for metric, _ in of_server.all()] == others[:20]
    assert of_server.all()[0][1].statistics.sample_count == 2
    of_server.forget(others[0])
    of_server.add(others[20], "Count", ONE)
    assert [metric for metric, _ in of_server.all()] == others[1:21]


def test_long_names_are_read_in_pieces_by_bytes(
    open_world: Callable[[str], World], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hundred such metrics were read at once, 4 MB."""
    world = open_world("memory")
    record(world, [long_metric(number) for number in range(200)])
    world.save()
    world.restart()
    reads: list[int] = []
    some_below = world.store.documents.some_below

    def counted(prefix: str, after: str | None, count: int) -> Sequence[tuple[str, bytes]]:
        groups = some_below(prefix, after, count)
        reads.append(sum(len(group) for _, group in groups))
        return groups

    monkeypatch.setattr(world.store.documents, "some_below", counted)
    assert len(found(world)) == 200
    assert max(reads[1:]) <= metric_documents.READ_BYTES
    assert max(reads) < 2 * metric_documents.READ_BYTES


def test_a_page_of_long_names_is_short(open_world: Callable[[str], World]) -> None:
    """A page of 500 such metrics had 16 MB, which held up others for 36 ms."""
    world = open_world("memory")
    metrics = [long_metric(number) for number in range(60)]
    record(world, metrics)
    listed: list[str] = []
    token, pages = None, 0
    while pages == 0 or token is not None:
        reply = world.run(list_metrics(world.metrics, Caller(*OWN[:2]), ListMetricsRequest(NextToken=token)))
        token, pages = reply["NextToken"], pages + 1
        listed += [one["MetricName"] for one in reply["Metrics"]]
        assert 1 <= len(reply["Metrics"]) * metrics[0].names_bytes <= METRICS_LISTED_BYTES_MAX
    assert pages == 3
    assert listed == [metric.name for metric in metrics]


def stored_alive() -> int:
    """Stored series in memory."""
    return sum(isinstance(one, StoredSeries) for one in gc.get_objects())


def test_what_has_been_taken_in_is_freed_with_its_piece(open_world: Callable[[str], World]) -> None:
    """All was freed at the end: 7 ms for 20,000 metrics."""
    world = open_world("memory")
    record(world, [OWN._replace(name=f"{number:05}") for number in range(1_000)])
    world.save()
    world.restart()
    before, most = stored_alive(), 0
    while world.metrics.load_some():
        alive = stored_alive() - before
        most = max(most, alive)
    assert most == 1_000
    assert alive < 100


def test_what_is_given_up_half_read_is_freed_in_pieces(open_world: Callable[[str], World]) -> None:
    """All was freed at once when the content was replaced meanwhile, or a fork ended: 45 ms for 100,000 metrics."""
    world = open_world("memory")
    record(world, [OWN._replace(name=f"{number:05}") for number in range(1_000)])
    world.save()
    world.restart()
    before = stored_alive()

    def read_all() -> None:
        """Read what is kept, and take nothing in yet."""
        while stored_alive() - before < 1_000:
            assert world.metrics.load_some()

    read_all()
    world.store.documents.generation += 1  # type: ignore[misc]  # as when the content is replaced
    alive = [stored_alive()]
    while world.metrics.load_some():
        alive.append(stored_alive())
    assert max(one - other for one, other in pairwise(alive)) <= DROPPED_TOGETHER
    assert max(alive) - before == 1_000, "what is given up goes first"
    world.restart()
    read_all()
    pieces = [stored_alive(), *[stored_alive() for _ in world.metrics.drop()]]
    assert max(one - other for one, other in pairwise(pieces)) <= DROPPED_TOGETHER
    assert pieces[-1] - before < 100


def series_alive() -> int:
    """Series in memory."""
    return sum(isinstance(one, Series) for one in gc.get_objects())


def test_what_is_still_to_be_deleted_is_freed_in_pieces(
    open_world: Callable[[str], World], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Series that had given way to others, and were not deleted yet, were freed at once when the content was replaced:
    21 ms for 20,000.
    """
    monkeypatch.setattr(series_table, "METRIC_SERIES_CUSTOM_MAX", 1_000)
    world = open_world("memory")
    record(world, [OWN._replace(name=f"{number:05}") for number in range(1_000)])
    world.save()
    before = series_alive()
    record(world, [OWN._replace(name=f"{number:05}") for number in range(1_000, 2_000)])
    assert series_alive() == before + 1_000
    world.store.documents.generation += 1  # type: ignore[misc]  # as when the content is replaced
    alive = [series_alive()]
    while len(alive) < 12:
        assert world.metrics.load_some()
        alive.append(series_alive())
    assert max(one - other for one, other in pairwise(alive)) <= 2 * DROPPED_TOGETHER, "the first call does two pieces"
    assert min(alive) < before - 900


class FreedText(str):
    """A text that counts how many have been freed."""

    __slots__ = ()
    freed = 0

    def __del__(self) -> None:
        FreedText.freed += 1


def test_names_are_freed_in_pieces() -> None:
    """The pieces freed the series only, and the names all at once at the end: 23 ms for 5,000 long ones."""
    table = SeriesTable()
    for number in range(1_000):
        metric = OWN._replace(namespace=f"Own{number % 3}", name=FreedText(number))
        table.add(number, metric, "None", None)  # type: ignore[arg-type]
    del metric
    before = FreedText.freed
    for _ in table.drop():
        assert FreedText.freed - before <= DROPPED_TOGETHER
        before = FreedText.freed
    assert FreedText.freed == 1_000

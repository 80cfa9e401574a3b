"""Very many watches: a change of one table concerns that table alone, and other requests wait for none of the rest."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from hashrange.aws_services.operation import Caller
from hashrange.errors import StorageCorruption
from hashrange.insights.feature import INSIGHTS
from hashrange.insights.insights import Insights
from hashrange.insights.rule_counts import COUNTS_PREFIX
from hashrange.items.types import Key
from hashrange.jobs.job import AT_ONCE
from hashrange.operations.insights.contributor_insights import (
    UpdateContributorInsightsRequest,
    update_contributor_insights,
)
from hashrange.operations.insights.watching import WATCH_PREFIX
from hashrange.operations.lookup import TableRequest
from hashrange.operations.registry import OPERATIONS
from hashrange.operations.tables.delete_table import delete_table
from hashrange.service.service import Service
from hashrange.settings import Settings
from hashrange.store.embedded import open_store
from hashrange.tables.open_table import OpenTable
from hashrange.tables.schema import KeySchema, Table
from tests.support.clocks import VirtualClock
from tests.support.fronted import Fronted
from tests.support.samples import finish, table_maker
from tests.support.working import calls_of, lines_between_looks

FEW, MANY = 5, 200
PLACE = Caller("000000000000", "us-east-1")


def _table(name: str, region: str = PLACE.region) -> Callable[[int], Table]:
    """A table without sort key."""
    make, keys = table_maker(name, PLACE.account, region), KeySchema(("pk",), ("S",), (), ())
    return lambda table_id: msgspec.structs.replace(make(table_id), keys=keys, attribute_types={"pk": "S"})


class Watching:
    """A service without running jobs, with so many tables that are watched."""

    def __init__(self, tables: int) -> None:
        self.clock = VirtualClock()
        self.store = open_store(None, self.clock, None)
        self.service = self.another()
        for number in range(tables):
            finish(self.store.catalog.create(_table(f"table{number}")))
            self.switch(f"table{number}", "ENABLE")
        self.run_slices()

    def another(self) -> Service:
        """Another service with this content, as after a start."""
        return Service(self.store, OPERATIONS, self.clock, Settings(data_dir=None))

    @property
    def insights(self) -> Insights:
        return self.service.features.part(INSIGHTS).insights

    @property
    def scope(self) -> Any:
        return self.service.features.requests.scope_of(*PLACE)

    def switch(self, name: str, action: Any) -> None:
        request = UpdateContributorInsightsRequest(TableName=name, ContributorInsightsAction=action)
        finish(update_contributor_insights(self.scope, request))

    def delete(self, name: str) -> None:
        finish(delete_table(self.scope, TableRequest(TableName=name)))

    def table(self, name: str) -> OpenTable:
        table = self.store.catalog.find(*PLACE, name)
        assert table is not None
        return table

    def read(self, name: str) -> None:
        key, meter = Key(bytes(8) + b"a"), Fronted().meter
        finish(self.service.features.front.get(self.table(name).source_id, key, meter, consistent=True))

    def run_slices(self) -> list[int]:
        """Run slices of the job until it rests; returns how many functions each has called."""
        features = self.service.features
        run_slice = INSIGHTS.jobs[0].run_slice(features.part(INSIGHTS), features)
        pauses: list[float | None] = [AT_ONCE]
        calls = []
        while pauses[-1] == AT_ONCE:
            calls.append(calls_of(lambda: pauses.append(finish(run_slice()))))
        return calls

    def documents(self, prefix: str) -> int:
        return len(self.store.documents.below(prefix))


@pytest.fixture(scope="module")
def few() -> Watching:
    return Watching(FEW)


@pytest.fixture
def many() -> Watching:
    return Watching(MANY)


@pytest.mark.parametrize(
    "change",
    [
        lambda watching: watching.switch("table3", "DISABLE"),
        lambda watching: watching.switch("table3", "ENABLE"),
        lambda watching: watching.delete("table4"),
    ],
    ids=["disable", "enable", "delete"],
)
def test_a_change_of_one_looks_at_one(few: Watching, many: Watching, change: Callable[[Watching], None]) -> None:
    """Each took 37 µs for each watch there was."""
    assert calls_of(change, many) < 1.2 * calls_of(change, few)


def test_the_slices_of_the_job_are_short(many: Watching) -> None:
    for number in range(MANY):
        many.read(f"table{number}")
    assert max(many.run_slices()) < 100
    many.clock.advance(1_000)
    saving = many.run_slices()
    assert len(saving) == MANY
    assert max(saving) < 300
    assert many.documents(COUNTS_PREFIX) == MANY
    for number in range(MANY):
        finish(many.store.catalog.delete(many.table(f"table{number}").schema))
    assert max(many.run_slices()) < 5 * 300, "of tables deleted meanwhile, some at a time"
    assert (many.documents(COUNTS_PREFIX), many.documents(WATCH_PREFIX)) == (0, 0)
    assert not many.insights.is_watching


def _noting(read: Callable[..., Any], asked: list[str]) -> Callable[..., Any]:
    def noted(prefix: str, *more: Any) -> Any:
        asked.append(prefix)
        return read(prefix, *more)

    return noted


def test_rules_that_cannot_have_been_are_not_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table without sort key has no rules of one."""
    watching = Watching(FEW)
    asked: list[str] = []
    documents = watching.store.documents
    for name in ("below", "some_below"):
        monkeypatch.setattr(documents, name, _noting(getattr(documents, name), asked))
    watching.switch("table1", "DISABLE")
    watching.switch("table1", "ENABLE")
    watching.run_slices()
    of_counts = [prefix for prefix in asked if prefix.startswith(COUNTS_PREFIX)]
    assert sorted({prefix.split("/")[-2] for prefix in of_counts}) == ["PKC", "PKT"]
    assert len(of_counts) == 2


def test_watches_are_read_in_pieces_or_when_their_table_is_asked_for(few: Watching, many: Watching) -> None:
    of_few = calls_of(few.another().features.look_at_fronts)
    many.service = many.another()
    of_many = calls_of(many.service.features.look_at_fronts)
    assert of_many < 1.2 * of_few
    many.read("table7")  # finds the tables, one function for all
    assert calls_of(many.read, "table8") < 200
    assert lines_between_looks(lambda: many.insights.rules(PLACE)) < 1_000
    rules = many.insights.rules(PLACE)
    assert len(rules) == 2 * MANY
    counted = [rule.source.table.name for rule in rules if rule.counts._sketch.total]
    assert counted == ["table7", "table8"]
    many.read("table9")
    assert [rule.source.table.name for rule in many.insights.rules(PLACE) if rule.counts._sketch.total][-1] == "table9"


def test_what_is_switched_off_is_not_in_front_once_it_is_known() -> None:
    watching = Watching(FEW)
    for number in range(FEW):
        watching.switch(f"table{number}", "DISABLE")
    assert not watching.insights.is_watching
    watching.service = watching.another()
    watching.service.features.look_at_fronts()
    watching.run_slices()
    assert watching.service.features.front is watching.store


def test_no_two_watches_begin_at_the_same_time_whoever_asks() -> None:
    watching = Watching(FEW)
    other = watching.service.features.requests.scope_of("000000000000", "eu-west-1")
    finish(watching.store.catalog.create(_table("elsewhere", "eu-west-1")))
    request = UpdateContributorInsightsRequest(TableName="elsewhere", ContributorInsightsAction="ENABLE")
    finish(update_contributor_insights(other, request))
    watching.service = watching.another()
    watching.switch("table0", "DISABLE")
    watching.switch("table0", "ENABLE")
    begins = [rule.source.watch.since_ms for rule in watching.insights.rules(PLACE)]
    others = [rule.source.watch.since_ms for rule in watching.insights.rules(Caller(PLACE.account, "eu-west-1"))]
    assert len({*begins, *others}) == FEW + 1


def test_a_damaged_watch_concerns_its_table_alone() -> None:
    watching = Watching(2)
    finish(watching.store.documents.write({WATCH_PREFIX + "000000000000/us-east-1/table0/": b"{"}))
    watching.service = watching.another()
    watching.service.features.look_at_fronts()
    watching.read("table0")
    watching.read("table1")
    with pytest.raises(StorageCorruption):
        watching.insights.rules(PLACE)
    assert list(watching.insights.rules(Caller("000000000000", "eu-west-1"))) == []

"""Participants take part in every kind of write: they may refuse it, see its changes,
are backfilled, and are removed.
"""

import random
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from hashrange.errors import (
    ApiError,
    ProvisionedThroughputExceededException,
    StorageError,
    TransactionCanceledException,
)
from hashrange.items.steps import PIECE_BYTES
from hashrange.items.types import Key, Row
from hashrange.operations.registry import OPERATIONS
from hashrange.store.embedded import EmbeddedStore, open_store
from hashrange.store.embedded.participants import PARTICIPANTS
from hashrange.store.embedded.staged_rows import StagedRows
from hashrange.store.embedded.upkeep import OUTRUN_MAX
from hashrange.store.embedded.walks import Ahead
from hashrange.store.interface import TransactionStep
from hashrange.tables.change import Change
from hashrange.tables.open_table import OpenTable
from tests.support.asking import run_operation
from tests.support.clocks import VirtualClock
from tests.support.engines import replace_engine
from tests.support.participants import TAG, ChangeLog, SizeLimit, logged, replayed, source_of, stored
from tests.support.samples import finish, row_of, table_maker
from tests.support.scopes import scope_of

KEYS = [Key(b"%02d" % number) for number in range(30)]


class World:
    """A store with a change log as participant, and a table that is logged from its creation or later."""

    def __init__(self, data_dir: str | None) -> None:
        self.data_dir = data_dir
        self.clock = VirtualClock()
        self.store = self._open()
        self.name = "t"
        assert finish(self.store.catalog.create(table_maker("t"))) is not None

    def _open(self) -> EmbeddedStore:
        return open_store(self.data_dir, self.clock, None, participants=(*PARTICIPANTS, ChangeLog))

    @property
    def table(self) -> OpenTable:
        found = self.store.catalog.find("000000000000", "us-east-1", self.name)
        assert found is not None
        return found

    def restart(self) -> None:
        self.store.close_now()
        self.store = self._open()

    def tag(self, value: str | None) -> None:
        table = self.table.schema
        tags = {name: text for name, text in table.tags.items() if name != TAG} | ({TAG: value} if value else {})
        assert finish(self.store.catalog.replace(table, replace(table, tags=tags)))

    def put(self, key: Key, row: Row | None) -> Change:
        return finish(self.store.mutate(self.table, key, lambda _: row))

    def write_at_random(self, chance: random.Random) -> None:
        """Run one write, or a transaction of several; many change nothing."""

        def row() -> Row | None:
            return chance.choice([None, row_of(chance.randint(1, 9), b"%d" % chance.randrange(5))])

        if chance.random() < 0.3:
            rows = [(key, row()) for key in chance.sample(KEYS, chance.randint(1, 5))]
            steps = [
                TransactionStep(self.table, key, lambda _, new=new: new)  # type: ignore[misc]
                for key, new in rows
            ]
            finish(self.store.transact(steps, None))
        else:
            self.put(chance.choice(KEYS), row())

    def fill(self, limit_rows: int) -> bool:
        """Run one slice of the backfill; True if nothing is left to fill."""
        maintenance = self.store.maintenance
        for one in maintenance.backfills()[:1]:
            finish(maintenance.backfill(one.source_id, limit_rows))
        return not maintenance.backfills()

    def judge(self) -> None:
        """Assert that the log has exactly the rows that the backfill has passed."""
        table, engine = self.table, self.store.engine
        has_passed = self.store._walks.has_passed
        assert replayed(engine, table) == {
            key: row for key, row in stored(engine, table).items() if has_passed(source_of(table), Key(key))
        }


@pytest.fixture(params=["disk", "memory"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    world = World(str(tmp_path / "data") if request.param == "disk" else None)
    yield world
    world.store.close_now()


@pytest.mark.parametrize("seed", range(10))
def test_a_log_of_every_change_has_each_of_them_once(tmp_path: Path, seed: int) -> None:
    """Logging begins on a table with rows; writes alternate with backfill slices and restarts."""
    chance = random.Random(seed)
    world = World(str(tmp_path / "data"))
    for _ in range(60):
        world.write_at_random(chance)
    world.tag("filling")
    while world.table.schema.tags[TAG] != "on":
        for _ in range(chance.randint(0, 5)):
            world.write_at_random(chance)
        world.judge()
        world.fill(chance.randint(1, 6))
        if chance.random() < 0.2:
            world.restart()
    for _ in range(100):
        world.write_at_random(chance)
    world.judge()
    assert stored(world.store.engine, world.table)
    assert world.store.maintenance.backfills() == []
    world.store.close_now()


def test_what_a_change_tells_its_followers(world: World) -> None:
    world.tag("filling")
    assert world.fill(10)
    before = world.store.position()
    world.clock.advance(100)
    change = world.put(KEYS[0], row_of(5, b"one"))
    assert (change.position, change.at_seconds, change.origin) == (before + 1, world.clock.service_time(), "client")
    finish(world.store.mutate(world.table, KEYS[1], lambda _: row_of(5, b"two"), origin="ttl"))
    world.put(KEYS[1], row_of(5, b"two"))
    ((first, one), (second, two)) = logged(world.store.engine, world.table)
    assert (one.key, one.old, one.new, one.at_seconds) == (KEYS[0], None, row_of(5, b"one"), change.at_seconds)
    assert (two.origin, first, second) == ("ttl", before + 1, before + 2)


def test_positions_grow_over_restarts(tmp_path: Path) -> None:
    world = World(str(tmp_path / "data"))
    world.tag("filling")
    world.fill(10)
    for number in range(5):
        world.put(KEYS[number], row_of(number + 1))
        world.restart()
    positions = [position for position, _ in logged(world.store.engine, world.table)]
    assert len(set(positions)) == 5
    assert positions == sorted(positions)
    assert world.store.position() >= positions[-1]
    world.store.close_now()


@pytest.mark.parametrize("is_deleted", [True, False])
def test_it_ends_with_its_table_or_before(world: World, is_deleted: bool) -> None:
    other = finish(world.store.catalog.create(lambda number: replace(table_maker("other")(number), tags={TAG: "on"})))
    assert other is not None
    finish(world.store.mutate(other, KEYS[0], lambda _: row_of(1)))
    world.tag("filling")
    world.put(KEYS[0], row_of(5))
    assert world.fill(10)
    table = world.table
    assert list(logged(world.store.engine, table))
    if is_deleted:
        assert finish(world.store.catalog.delete(table.schema))
    else:
        world.tag(None)
        world.put(KEYS[1], row_of(5))
    assert list(logged(world.store.engine, table)) == []
    assert len(list(logged(world.store.engine, other))) == 1
    if world.data_dir is not None:
        world.restart()
        assert list(logged(world.store.engine, table)) == []


def test_a_table_without_participants_calls_none(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("called")

    for name in ("refusals", "add", "add_row"):
        for participant in world.store.site.tables.participants:
            monkeypatch.setattr(participant, name, fail)
    world.put(KEYS[0], row_of(5))
    finish(world.store.transact([TransactionStep(world.table, KEYS[1], lambda _: row_of(5))], None))
    assert len(stored(world.store.engine, world.table)) == 2


def test_a_write_whose_former_row_a_copy_has_kept_calls_none(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.tag(None)
    for key in KEYS[:2]:
        world.put(key, row_of(5, b"1"))
    assert finish(world.store.row_copies.begin("copy", world.table.schema))
    world.put(KEYS[0], row_of(5, b"2"))
    asked: list[type] = []

    def note(kind: type, *_: object) -> None:
        asked.append(kind)

    for participant in world.store.site.tables.participants:
        monkeypatch.setattr(participant, "add", partial(note, type(participant)))
    world.put(KEYS[0], row_of(5, b"3"))
    assert asked == []
    world.put(KEYS[1], row_of(5, b"3"))
    assert asked == [StagedRows]


def test_a_participant_that_cannot_read_is_a_failure_of_the_engine(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise Exception("IO error: unreadable")  # noqa: TRY002 - the engine raises bare exceptions

    world.put(KEYS[0], row_of(5, b"1"))
    assert finish(world.store.row_copies.begin("copy", world.table.schema))
    for participant in world.store.site.tables.participants:
        monkeypatch.setattr(participant, "follows", fail)
    with pytest.raises(StorageError):
        world.put(KEYS[0], row_of(5, b"2"))
    with pytest.raises(StorageError):
        world.store.get(world.table.source_id, KEYS[0], consistent=True)


def test_another_engine_under_a_running_store(tmp_path: Path) -> None:
    """After a switch to another engine everything is read again, and positions keep growing, also after a restart on
    that engine."""
    one, other = World(str(tmp_path / "one")), World(str(tmp_path / "other"))
    one.tag("filling")
    one.fill(10)
    for number in range(50):
        one.put(KEYS[number % 30], row_of(1 + number % 7))
    position = one.store.position()
    other.put(KEYS[3], row_of(3, b"other"))
    one_engine = one.store.engine
    replace_engine(one.store, other.store.engine)
    assert stored(one.store.engine, one.table) == {KEYS[3]: row_of(3, b"other")}
    assert finish(one.store.get(one.table.source_id, KEYS[3], consistent=True)) == row_of(3, b"other")
    assert finish(one.store.statistics([one.table.source_id])) == {one.table.source_id: (1, 3)}
    assert TAG not in one.table.schema.tags
    change = one.put(KEYS[4], row_of(4))
    assert change.position > position
    replace_engine(one.store, one_engine)
    assert one.table.schema.tags[TAG] == "on"
    assert one.put(KEYS[4], row_of(9)).position > change.position
    one.judge()
    later = one.store.position()
    one.restart()
    assert one.store.position() >= later
    one.store.close_now()
    other.store.close_now()


# --- a participant that refuses ----------------------------------------------------------------------


class Refusing:
    """Requests to a store with a participant that refuses large items."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.store = open_store(None, self.clock, None, participants=(*PARTICIPANTS, SizeLimit))
        self.scope = scope_of(self.store, self.clock)
        self.ask(
            "CreateTable",
            TableName="orders",
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )

    def ask(self, name: str, **members: Any) -> Any:
        operation = OPERATIONS[name]
        return finish(run_operation(self.scope, operation, members))

    def keys(self) -> list[str]:
        return sorted(item["pk"]["S"] for item in self.ask("Scan", TableName="orders")["Items"])


@pytest.fixture
def refusing() -> Iterator[Refusing]:
    refusing = Refusing()
    yield refusing
    refusing.store.close_now()


def sized(pk: str, length: int) -> dict[str, Any]:
    return {"pk": {"S": pk}, "text": {"S": "x" * length}}


def test_a_single_write_hears_the_refusal(refusing: Refusing) -> None:
    refusing.ask("PutItem", TableName="orders", Item=sized("a", 10))
    position = refusing.store.position()
    with pytest.raises(ProvisionedThroughputExceededException, match="level of configured"):
        refusing.ask("PutItem", TableName="orders", Item=sized("a", 2_000))
    with pytest.raises(ProvisionedThroughputExceededException):
        refusing.ask(
            "UpdateItem",
            TableName="orders",
            Key={"pk": {"S": "a"}},
            UpdateExpression="SET t = :t",
            ExpressionAttributeValues={":t": {"S": "x" * 2_000}},
        )
    assert refusing.store.position() == position
    assert refusing.ask("GetItem", TableName="orders", Key={"pk": {"S": "a"}})["Item"] == sized("a", 10)


def test_a_batch_leaves_over_what_is_refused(refusing: Refusing) -> None:
    puts = [{"PutRequest": {"Item": sized(pk, length)}} for pk, length in (("a", 10), ("b", 2_000), ("c", 20))]
    reply = refusing.ask("BatchWriteItem", RequestItems={"orders": puts})
    assert reply == {"UnprocessedItems": {"orders": [puts[1]]}}
    assert refusing.keys() == ["a", "c"]


def test_a_batch_of_which_nothing_succeeds_is_refused(refusing: Refusing) -> None:
    puts = [{"PutRequest": {"Item": sized(pk, 2_000)}} for pk in "ab"]
    with pytest.raises(ProvisionedThroughputExceededException):
        refusing.ask("BatchWriteItem", RequestItems={"orders": puts})
    assert refusing.keys() == []


def test_a_transaction_has_it_as_a_reason(refusing: Refusing) -> None:
    puts = [{"Put": {"TableName": "orders", "Item": sized(pk, n)}} for pk, n in (("a", 10), ("b", 2_000))]
    with pytest.raises(TransactionCanceledException) as caught:
        refusing.ask("TransactWriteItems", TransactItems=puts)
    reasons: Any = caught.value.members["CancellationReasons"]
    assert [reason["Code"] for reason in reasons] == ["None", "ProvisionedThroughputExceeded"]
    assert refusing.keys() == []


def test_a_statement_of_a_batch_has_it_as_its_error(refusing: Refusing) -> None:
    statements = [
        {"Statement": "INSERT INTO orders VALUE {'pk': ?, 'text': ?}", "Parameters": list(sized(pk, n).values())}
        for pk, n in (("a", 10), ("b", 2_000))
    ]
    one, two = refusing.ask("BatchExecuteStatement", Statements=statements)["Responses"]
    assert "Error" not in one
    assert two["Error"]["Code"] == "ProvisionedThroughputExceeded"
    assert refusing.keys() == ["a"]


def test_every_error_that_batches_leave_over_is_a_reason() -> None:
    """RequestLimitExceeded refuses a transaction as a whole, but is an error of a statement."""
    from hashrange.errors import THROTTLED
    from hashrange.operations.transactions.reasons import code_of

    assert all(issubclass(error, ApiError) for error in THROTTLED)
    codes = {code_of(error("")) for error in THROTTLED}
    assert codes == {"ProvisionedThroughputExceeded", "ThrottlingError", "RequestLimitExceeded"}


@pytest.mark.parametrize("seed", range(10))
def test_what_is_written_while_a_walk_looks_ahead_is_told_once(
    world: World, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows that are added, changed or deleted after the backfill has read them ahead are logged once."""
    chance = random.Random(seed)
    walks = world.store._walks
    look_ahead = walks.look_ahead

    def interrupted(*arguments: Any) -> Ahead:
        ahead = look_ahead(*arguments)
        for _ in range(chance.randint(0, 3)):
            world.write_at_random(chance)
        return ahead

    monkeypatch.setattr(walks, "look_ahead", interrupted)
    for _ in range(40):
        world.write_at_random(chance)
    world.tag("filling")
    while world.table.schema.tags[TAG] != "on":
        world.fill(chance.randint(1, 4))
        world.judge()
    assert stored(world.store.engine, world.table)


def test_a_large_row_that_is_written_meanwhile_is_looked_at_again_and_not_for_ever(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rows that a participant derives from a large row are computed before the commit, where the walk can give
    way."""
    walks = world.store._walks
    look_ahead = walks.look_ahead
    looks: list[int] = []

    def outrun(*arguments: Any) -> Ahead:
        ahead = look_ahead(*arguments)
        if len(looks) < outruns:
            world.put(KEYS[0], row_of(5, b"%d" % len(looks) * PIECE_BYTES))
        looks.append(len(ahead.part.rows))
        return ahead

    monkeypatch.setattr(walks, "look_ahead", outrun)
    for outruns in (1, OUTRUN_MAX + 9):
        looks.clear()
        world.put(KEYS[0], row_of(5, b"before" * PIECE_BYTES))
        world.tag("filling")
        while world.table.schema.tags[TAG] != "on":
            world.fill(10)
        world.judge()
        assert looks == [1] * (min(outruns, OUTRUN_MAX) + 1)
        world.tag(None)

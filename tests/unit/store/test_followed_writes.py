"""A single write that a stream, recovery or time to live follows makes the same rows as a transaction of that write, in
one commit, although only the transaction makes a draft.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from hashrange.errors import ApiError, ProvisionedThroughputExceededException
from hashrange.items.types import Key
from hashrange.messages.reads import COLLECTION_TOO_LARGE
from hashrange.store.embedded import layout, open_store, recovery_windows, stalls
from hashrange.store.embedded.draft import Draft
from hashrange.store.embedded.engine import WriteBatch
from hashrange.store.embedded.participant import Participant, Terms
from hashrange.store.embedded.participants import PARTICIPANTS
from hashrange.store.embedded.reading import scan_prefix
from hashrange.store.statistics import Statistics
from hashrange.tables.change import Change
from hashrange.tables.schema import Table
from tests.support.clocks import VirtualClock
from tests.support.engines import FaultyEngine
from tests.support.samples import finish, row_of, statistics_of, table_maker
from tests.unit.jobs.world import TABLE, World

Item = dict[str, Any]
Request = tuple[str, Item]
STREAM = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
KEYS_STREAM = {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}
EXPIRES = {"Enabled": True, "AttributeName": "expires"}
ALL_FOLLOWERS = ("stream", "recovery", "expiry")


def followed_world(followers: Sequence[str]) -> World:
    """A world whose table has these followers."""
    world = World(None)
    if "stream" in followers or "keys" in followers:
        world.ask("UpdateTable", StreamSpecification=STREAM if "stream" in followers else KEYS_STREAM)
    if "recovery" in followers:
        world.ask("UpdateContinuousBackups", PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True})
    if "expiry" in followers:
        world.ask("UpdateTimeToLive", TimeToLiveSpecification=EXPIRES)
        world.finish()
    return world


def kept(world: World) -> list[tuple[bytes, bytes]]:
    """All rows that writes of items make: items, statistics, records, marks of recovery and queues of expiries."""
    (table,) = world.embedded.catalog.all_tables()
    prefixes = (
        table.source_id,
        layout.STATISTICS_PREFIX,
        layout.LOG_PREFIX,
        layout.WINDOW_PREFIX,
        layout.TIME_TO_LIVE_PREFIX,
    )
    return [row for prefix in prefixes for row in scan_prefix(world.embedded.engine, prefix)]


def measured(world: World) -> Statistics:
    """The table's statistics in memory."""
    (table,) = world.embedded.catalog.all_tables()
    return statistics_of(world.embedded, table.source_id)


def random_request(chance: random.Random, now_seconds: int) -> Request:
    """A write of one of few items, which often keeps the size or the expiry of the item, or changes nothing."""
    key = {"id": {"S": chance.choice("abcd")}}
    kind = chance.choice(["put", "put", "put", "update", "delete"])
    if kind == "delete":
        return "Delete", {"Key": key}
    expires = {"N": str(now_seconds + chance.randint(-2, 3))}
    if kind == "update":
        text = "SET expires = :e" if chance.random() < 0.5 else "SET #n = :e"
        names = {} if "#n" not in text else {"ExpressionAttributeNames": {"#n": "number"}}
        return "Update", {"Key": key, "UpdateExpression": text, "ExpressionAttributeValues": {":e": expires}} | names
    item: Item = key | {"text": {"S": "x" * chance.randint(1, 3)}}
    if chance.random() < 0.8:
        item["expires"] = expires if chance.random() < 0.8 else {"S": "never"}
    if chance.random() < 0.1:
        item["numbers"] = {"NS": ["1", "20"]}
    return "Put", {"Item": item}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "followers", [ALL_FOLLOWERS, ("stream",), ("keys",), ("recovery",), ("expiry",), ("keys", "expiry")], ids=" ".join
)
def test_a_single_write_makes_the_rows_of_a_transaction(
    followers: Sequence[str], seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recovery_windows, "MARK_BYTES", 500)
    chance = random.Random(seed)
    single, together = followed_world(followers), followed_world(followers)
    for _ in range(60):
        kind, members = random_request(chance, int(single.clock.service_time()))
        single.ask(f"{kind}Item", **members)
        together.request("TransactWriteItems", TransactItems=[{kind: {"TableName": TABLE} | members}])
        assert single.embedded.position() == together.embedded.position()
        if chance.random() < 0.3:
            seconds = chance.choice([0.0005, 1.0, 4_000.0])
            single.clock.advance(seconds)
            together.clock.advance(seconds)
    assert kept(single) == kept(together)
    assert measured(single) == measured(together)
    assert single.close() == together.close() == []


def test_a_followed_write_is_one_commit_of_the_engine() -> None:
    world = followed_world(ALL_FOLLOWERS)
    engine = FaultyEngine(world.embedded.engine)
    world.embedded.site.engine = engine
    for text in ("x", "y", "yy"):
        engine.calls.clear()
        world.ask("PutItem", Item={"id": {"S": "a"}, "text": {"S": text}, "expires": {"N": "1900000000"}})
        assert [name for name in engine.calls if name in {"put", "delete", "write"}] == ["write"]
    world.close()


def test_a_followed_write_that_meets_a_stall_is_recorded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stalls, "STALL_DELAYS_SECONDS", (0.0,))
    monkeypatch.setattr(recovery_windows, "MARK_BYTES", 250)
    stalled, quiet = followed_world(ALL_FOLLOWERS), followed_world(ALL_FOLLOWERS)
    engine = FaultyEngine(stalled.embedded.engine)
    stalled.embedded.site.engine = engine
    for number in range(5):
        for world in (stalled, quiet):
            engine.faults["write"] = [Exception("Result incomplete: Write stall")]
            put = {"TableName": TABLE, "Item": {"id": {"S": "a"}, "expires": {"N": f"190000000{number}"}}}
            if number % 2:
                world.request("PutItem", **put)
            else:
                world.request("TransactWriteItems", TransactItems=[{"Put": put}])
        assert kept(stalled) == kept(quiet)
    assert [recorded_bytes(world) for world in (stalled, quiet)] == [all_records_bytes(quiet)] * 2
    stalled.close()
    quiet.close()


def recorded_bytes(world: World) -> int:
    """Bytes of the records of the table's log, as the window of its recovery has counted them."""
    (table,) = world.embedded.catalog.all_tables()
    window = world.embedded._stream_states.logs[table.table_id].window
    assert window is not None
    return window.size_bytes


def all_records_bytes(world: World) -> int:
    """Bytes of the records that are stored."""
    return sum(len(record) for _, record in scan_prefix(world.embedded.engine, layout.LOG_PREFIX))


class Unwilling(Participant):
    """Refuses every change of a table, which it could add rows to without a draft."""

    may_refuse = True

    def __init__(self, terms: Terms) -> None:
        del terms

    def takes_part(self, table: Table) -> bool:
        return True

    def refusals(self, draft: Draft, changes: Sequence[Change]) -> Sequence[ApiError | None]:
        return [ProvisionedThroughputExceededException(COLLECTION_TOO_LARGE)] * len(changes)

    def add_row(self, batch: WriteBatch, change: Change, afterwards: list[Callable[[], object]]) -> None:
        """Nothing is added."""


@pytest.fixture
def unwilling_table() -> Iterator[Any]:
    store = open_store(None, VirtualClock(), None, participants=(*PARTICIPANTS, Unwilling))
    yield store, finish(store.catalog.create(table_maker("t")))
    store.close_now()


def test_a_participant_that_may_refuse_is_asked_though_it_needs_no_draft(unwilling_table: Any) -> None:
    store, table = unwilling_table
    with pytest.raises(ProvisionedThroughputExceededException):
        finish(store.mutate(table, Key(b"a"), lambda _: row_of(5)))
    assert finish(store.get(table.source_id, Key(b"a"), consistent=True)) is None

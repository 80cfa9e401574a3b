"""Time to live: each item is deleted once it expires, not earlier, and not if it was renewed."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hashrange.jobs.job import AT_ONCE
from hashrange.jobs.runner import Runner
from hashrange.jobs.store_jobs import EXPIRY_SLICE_ROWS
from hashrange.jobs.virtual_time import advance
from hashrange.limits import EXPIRY_AGE_MAX_SECONDS
from hashrange.operations import overlong_deadlines
from hashrange.operations.overlong_deadlines import shorten_overlong_deadlines
from hashrange.settings import Settings
from hashrange.store.embedded import expiries, layout, ordered_queue
from hashrange.store.embedded.engine import SKIPPED_KEYS_MAX, WriteBatch, new_batch
from hashrange.store.embedded.expiries import Expiries, queue_key
from hashrange.store.embedded.ordered_queue import OrderedQueue
from hashrange.store.embedded.reading import scan_prefix
from hashrange.tables.change import Change
from tests.support.clocks import SetClock, VirtualClock
from tests.support.engines import replace_engine
from tests.support.rows_read import note_rows_read
from tests.unit.jobs.world import TABLE, World, drive, item

NAME = "expires"
ON = {"Enabled": True, "AttributeName": NAME}
OFF = {"Enabled": False, "AttributeName": NAME}
COOLDOWN_SECONDS = 3600


def enable(world: World, name: str = NAME) -> None:
    specification = {"Enabled": True, "AttributeName": name}
    reply = world.ask("UpdateTimeToLive", TimeToLiveSpecification=specification)
    assert reply == {"TimeToLiveSpecification": specification}
    world.finish()
    assert described(world) == {"TimeToLiveStatus": "ENABLED", "AttributeName": name}


def disable(world: World) -> None:
    world.ask("UpdateTimeToLive", TimeToLiveSpecification=OFF)


def queued(world: World) -> list[bytes]:
    """The keys of all rows of the expiry queues."""
    return [key for key, _ in scan_prefix(world.embedded.engine, layout.TIME_TO_LIVE_PREFIX)]


def described(world: World) -> Any:
    return world.ask("DescribeTimeToLive")["TimeToLiveDescription"]


def now(world: World) -> int:
    return int(world.clock.service_time())


def put(world: World, number: int, expires: Any, name: str = NAME) -> None:
    """Put an item; `expires` is a number, a number as text, or a complete attribute value."""
    value = expires if isinstance(expires, dict) else {"N": str(expires)}
    world.ask("PutItem", Item=item(number) | {name: value})


def left(world: World) -> set[str]:
    return {found["id"]["S"] for found in world.ask("Scan", ConsistentRead=True)["Items"]}


def test_an_item_goes_at_its_time(world: World) -> None:
    enable(world)
    put(world, 1, now(world) + 10)
    put(world, 2, now(world) + 20)
    world.put(4, status={"S": "never"})
    put(world, 1, now(world) + 10)
    put(world, 2, now(world) + 20)
    assert world.expire() == 10
    world.clock.advance(9)
    assert world.expire() == 1
    assert left(world) == {"o0", "o1", "o2", "o3"}
    world.clock.advance(1)
    assert world.expire() == 10
    assert left(world) == {"o0", "o2", "o3"}
    world.clock.advance(10)
    assert world.expire() is None
    assert left(world) == {"o0", "o3"}


def test_nothing_goes_before_time_to_live_is_on_or_after_it_is_off(world: World) -> None:
    put(world, 1, now(world) - 5)
    world.clock.advance(100)
    assert world.expire() is None
    enable(world)
    put(world, 2, now(world) + 5)
    world.clock.advance(COOLDOWN_SECONDS)
    disable(world)
    put(world, 3, now(world) - 5)
    world.clock.advance(100)
    assert world.expire() is None
    assert left(world) == {"o1", "o2", "o3"}
    assert queued(world) == []


def test_an_item_renewed_meanwhile_stays(world: World) -> None:
    enable(world)
    put(world, 1, now(world) + 10)
    put(world, 2, now(world) + 10)
    put(world, 3, now(world) + 10)
    put(world, 4, now(world) + 10)
    update = {"UpdateExpression": "SET #e = #e + :h", "ExpressionAttributeNames": {"#e": NAME}}
    world.ask("UpdateItem", Key={"id": {"S": "o1"}}, ExpressionAttributeValues={":h": {"N": "100"}}, **update)
    put(world, 2, {"S": "no number"})
    world.ask("DeleteItem", Key={"id": {"S": "o3"}})
    assert len(queued(world)) == 2
    world.clock.advance(10)
    assert world.expire() == 100
    assert left(world) == {"o1", "o2"}


def test_transactions_and_batches_are_heard(world: World) -> None:
    enable(world)
    soon = {NAME: {"N": str(now(world) + 10)}}
    world.request("BatchWriteItem", RequestItems={TABLE: [{"PutRequest": {"Item": item(n) | soon}} for n in range(5)]})
    puts = [{"Put": {"TableName": TABLE, "Item": item(n) | soon}} for n in range(5, 10)]
    world.request("TransactWriteItems", TransactItems=puts)
    world.request(
        "ExecuteStatement", Statement=f"INSERT INTO {TABLE} VALUE {{'id': 'o10', '{NAME}': {now(world) + 10}}}"
    )
    delete = {"Delete": {"TableName": TABLE, "Key": {"id": {"S": "o3"}}}}
    check = {"Put": {"TableName": TABLE, "Item": item(4)}}
    world.request("TransactWriteItems", TransactItems=[delete, check])
    assert len(queued(world)) == 9
    world.clock.advance(10)
    assert world.expire() is None
    assert left(world) == {"o4"}


def test_what_has_expired_when_it_is_written_goes_in_the_next_second(world: World) -> None:
    enable(world)
    put(world, 1, now(world) + 1)
    world.clock.advance(5)
    assert world.expire() is None
    for number in range(9, 0, -1):
        put(world, number, now(world) - number * 1000)
    assert world.expire() == 1
    assert len(left(world)) == 9
    put(world, 5, now(world) - 1)
    put(world, 6, now(world) + 1)
    put(world, 7, {"S": "never"})
    world.clock.advance(1)
    assert world.expire() is None
    assert left(world) == {"o7"}
    assert queued(world) == []


@pytest.mark.parametrize(
    "value",
    ["0", "-5", "1" + "0" * 125, "9" * 38, "0." + "0" * 129 + "1", str(2**64), str(2**64 - 1)],
)
def test_numbers_that_are_no_time_to_come(world: World, value: str) -> None:
    enable(world)
    put(world, 1, value)
    put(world, 2, "1.5")
    world.clock.advance(1_000_000)
    world.expire()
    assert left(world) == {"o1", "o2"}


def test_five_years_are_too_many(world: World) -> None:
    enable(world)
    put(world, 1, now(world) - EXPIRY_AGE_MAX_SECONDS - 1)
    put(world, 2, now(world) - EXPIRY_AGE_MAX_SECONDS + 5)
    put(world, 3, now(world) + 10)
    world.clock.advance(1)
    world.expire()
    assert left(world) == {"o1", "o3"}
    world.clock.advance(EXPIRY_AGE_MAX_SECONDS + 10)
    assert world.expire() is None
    assert left(world) == {"o1", "o3"}
    assert queued(world) == []


def test_a_key_attribute_may_tell_the_time(tmp_path: Path) -> None:
    world = World(tmp_path / "data")
    members: dict[str, Any] = {"TableName": "by-time"}
    world.ask(
        "CreateTable",
        **members,
        AttributeDefinitions=[
            {"AttributeName": name, "AttributeType": kind} for name, kind in (("id", "S"), ("at", "N"))
        ],
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}, {"AttributeName": "at", "KeyType": "RANGE"}],
        BillingMode="PAY_PER_REQUEST",
    )
    world.ask("UpdateTimeToLive", **members, TimeToLiveSpecification={"Enabled": True, "AttributeName": "at"})
    for seconds in (10, 20):
        world.ask("PutItem", **members, Item={"id": {"S": "a"}, "at": {"N": str(now(world) + seconds)}})
    world.clock.advance(10)
    assert world.expire() == 10
    assert world.ask("Scan", **members)["Count"] == 1
    assert world.close() == []


def test_indexes_follow(world: World) -> None:
    world.create()
    world.finish()
    enable(world)
    put(world, 1, now(world) + 10)
    put(world, 2, now(world) + 20)
    world.clock.advance(10)
    world.expire()
    world.apply()
    assert world.entries().keys() == {"o2"}
    assert world.index()["ItemCount"] == world.described()["ItemCount"] == 1


def test_who_deletes_is_time_to_live(tmp_path: Path) -> None:
    world = World(tmp_path / "data")
    enable(world)
    put(world, 1, now(world) + 10)
    origins = []
    participant = next(one for one in world.embedded.site.tables.participants if isinstance(one, Expiries))
    heard = participant.add_row

    def add_row(batch: WriteBatch, change: Change, afterwards: list[Callable[[], object]]) -> None:
        origins.append(change.origin)
        heard(batch, change, afterwards)

    participant.add_row = add_row  # type: ignore[method-assign]
    put(world, 2, now(world) + 10)
    world.clock.advance(10)
    world.expire()
    assert origins == ["client", "ttl", "ttl"]
    assert world.close() == []


# --- a full table -----------------------------------------------------------------------------------


def test_a_queue_is_filled_while_items_are_written(world: World) -> None:
    start = now(world)
    for number in range(900):
        put(world, number, start + 10 + number % 3)
    world.ask("UpdateTimeToLive", TimeToLiveSpecification=ON)
    assert described(world) == {"TimeToLiveStatus": "ENABLING", "AttributeName": NAME}
    world.clock.advance(10)
    assert world.expire() is None, "nothing goes before the queue is complete"
    for number in range(0, 900, 7):
        put(world, number, start + 100)
    for number in range(3, 900, 7):
        world.ask("DeleteItem", Key={"id": {"S": f"o{number}"}})
    world.slice()
    for number in range(1, 900, 7):
        put(world, number, start + 200)
    for number in range(4, 900, 7):
        world.ask("DeleteItem", Key={"id": {"S": f"o{number}"}})
    if world.data_dir is not None:
        world.restart()
    world.slice()
    if world.data_dir is not None:
        world.kill()
    world.finish()
    assert described(world)["TimeToLiveStatus"] == "ENABLED"
    world.clock.advance(5)
    assert world.expire() == start + 100 - now(world)
    assert left(world) == {f"o{number}" for number in range(900) if number % 7 in {0, 1}}
    world.clock.advance(100)
    world.expire()
    assert left(world) == {f"o{number}" for number in range(900) if number % 7 == 1}


def test_off_while_the_queue_is_being_filled_and_on_by_another_attribute(world: World) -> None:
    for number in range(700):
        put(world, number, now(world) + 10)
    world.ask("UpdateTimeToLive", TimeToLiveSpecification=ON)
    assert queued(world)
    world.clock.advance(COOLDOWN_SECONDS)
    disable(world)
    assert queued(world) == []
    assert world.embedded.maintenance.backfills() == []
    put(world, 1, now(world) + 10, "other")
    world.clock.advance(COOLDOWN_SECONDS)
    enable(world, "other")
    world.clock.advance(1)
    world.expire()
    assert len(left(world)) == 699
    assert world.described()["ItemCount"] == 699


def test_the_queue_ends_with_its_table(world: World) -> None:
    enable(world)
    put(world, 1, now(world) + 10)
    world.ask("DeleteTable")
    assert queued(world) == []
    world.clock.advance(10)
    assert world.expire() is None


def test_a_table_deleted_while_its_queue_is_being_filled(world: World) -> None:
    for number in range(300):
        put(world, number, now(world) + 10)
    world.ask("UpdateTimeToLive", TimeToLiveSpecification=ON)
    world.ask("DeleteTable")
    assert queued(world) == []
    assert world.embedded.maintenance.backfills() == []


# --- over starts and stops --------------------------------------------------------------------------


@pytest.mark.parametrize("is_killed", [True, False])
def test_what_waits_survives(tmp_path: Path, is_killed: bool) -> None:
    world = World(tmp_path / "data")
    enable(world)
    for number in range(EXPIRY_SLICE_ROWS * 2):
        put(world, number, now(world) + 10)
    world.clock.advance(10)
    assert drive(world.expiry_job.run_slice()) == AT_ONCE
    assert len(left(world)) == EXPIRY_SLICE_ROWS
    world.kill() if is_killed else world.restart()
    assert world.expire() is None
    assert left(world) == set()
    assert world.close() == []


def test_a_clock_set_back_between_two_processes(tmp_path: Path) -> None:
    """After a restart with an earlier clock, items are deleted when that clock reaches their expiry, none is lost."""
    world = World(tmp_path / "data", clock=SetClock())
    enable(world)
    start = now(world)
    put(world, 1, start + 100)
    world.clock.advance(3600)
    world.expire()
    put(world, 2, start + 200)
    world.clock = SetClock(float(start))
    world.restart()
    world.clock.advance(1)
    world.expire()
    assert left(world) == {"o2"}
    world.clock.advance(3599)
    world.expire()
    assert left(world) == {"o2"}, "its row is for the second in which it was written"
    world.clock.advance(1)
    world.expire()
    assert left(world) == set()
    assert world.close() == []


def test_a_delay_after_the_time(tmp_path: Path) -> None:
    world = World(tmp_path / "data", ttl_delay_seconds=30.0)
    enable(world)
    put(world, 1, now(world) + 10)
    world.clock.advance(10)
    assert world.expire() == 30
    put(world, 2, now(world) + 5)
    put(world, 3, now(world))
    world.clock.advance(30)
    assert world.expire() == 1
    assert left(world) == {"o2", "o3"}
    world.clock.advance(1)
    assert world.expire() == 4
    assert left(world) == {"o2"}
    assert world.close() == []


def test_consumed_rows_go_as_a_range_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expiries, "SWEPT_ROWS", 10)
    world = World(tmp_path / "data")
    enable(world)
    start = now(world)
    for number in range(EXPIRY_SLICE_ROWS * 3):
        put(world, number, start + 10 + number % 50)
    world.clock.advance(20)
    assert world.expire() == 1
    assert len(left(world)) == len(queued(world))
    put(world, 1, start + 21)
    world.clock.advance(100)
    assert world.expire() is None
    assert left(world) == set()
    assert queued(world) == []
    assert world.close() == []


def test_deleted_rows_that_stand_in_the_way_are_compacted_away(tmp_path: Path) -> None:
    world = World(tmp_path / "data")
    enable(world)
    engine = world.embedded.engine
    source = world.embedded.catalog.all_tables()[0].source_id
    for number in range(SKIPPED_KEYS_MAX + 10):
        engine_key = layout.TIME_TO_LIVE_PREFIX + source + number.to_bytes(8, "big")
        engine.put(engine_key, b"")
        engine.delete(engine_key)
    put(world, 1, now(world) + 10)
    world.clock.advance(10)
    assert asyncio.run(_expire(world)) is None
    assert left(world) == set()
    assert world.close() == []


async def _expire(world: World) -> float | None:
    while True:
        pause_seconds = await world.expiry_job.run_slice()
        if pause_seconds is None or pause_seconds > 0:
            return pause_seconds


# --- states of time to live, with a delay ------------------------------------------------------------


def test_states_that_last(tmp_path: Path) -> None:
    world = World(tmp_path / "data", delay_seconds=20.0)
    world.ask("UpdateTimeToLive", TimeToLiveSpecification=ON)
    assert described(world) == {"TimeToLiveStatus": "ENABLING", "AttributeName": NAME}
    world.clock.advance(20)
    assert described(world) == {"TimeToLiveStatus": "ENABLED", "AttributeName": NAME}
    world.clock.advance(COOLDOWN_SECONDS)
    disable(world)
    assert described(world) == {"TimeToLiveStatus": "DISABLING", "AttributeName": NAME}
    world.clock.advance(20)
    assert described(world) == {"TimeToLiveStatus": "DISABLED"}
    assert world.close() == []


def test_the_cooldown_is_of_service_time(world: World) -> None:
    enable(world)
    world.clock.advance(COOLDOWN_SECONDS - 1)
    code, message = world.refusal("UpdateTimeToLive", TimeToLiveSpecification=OFF)
    assert (code, message) == (
        "ValidationException",
        "Time to live has been modified multiple times within a fixed interval",
    )
    world.clock.advance(1)
    disable(world)
    assert world.refusal("UpdateTimeToLive", TimeToLiveSpecification=ON)[1] == message
    world.scope.settings = Settings(ttl_cooldown_seconds=0.0)
    enable(world, "other")
    world.ask("UpdateTimeToLive", TimeToLiveSpecification={"Enabled": False, "AttributeName": "other"})
    enable(world)


def test_no_state_and_no_cooldown_lasts_longer_when_the_clock_is_set_back(tmp_path: Path) -> None:
    clock = SetClock()
    world = World(tmp_path / "data", delay_seconds=20.0, clock=clock)
    world.ask("UpdateTimeToLive", TimeToLiveSpecification=ON)
    world.clock = SetClock(clock.wall_time() - 100_000)
    world.restart()
    tables = [table.schema for table in world.embedded.catalog.all_tables()]
    drive(shorten_overlong_deadlines(world.embedded, tables, world.clock.service_time(), 20.0))
    assert described(world)["TimeToLiveStatus"] == "ENABLED"
    world.clock.advance(COOLDOWN_SECONDS)
    disable(world)
    assert world.close() == []


@pytest.mark.parametrize("doing", ["created", "updated", "deleted"])
def test_a_table_that_is_not_active(tmp_path: Path, doing: str) -> None:
    world = World(tmp_path / "data", delay_seconds=20.0)
    if doing == "created":
        world.ask("DeleteTable")
        world.clock.advance(20)
        world.ask(
            "CreateTable",
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            BillingMode="PAY_PER_REQUEST",
        )
    elif doing == "updated":
        world.create()
    else:
        world.ask("DeleteTable")
    assert world.refusal("UpdateTimeToLive", TimeToLiveSpecification=ON) == (
        "ResourceInUseException",
        f"Attempt to change a resource which is still in use: Table is being {doing}: orders",
    )
    assert world.close() == []


# --- the job, as a server runs it --------------------------------------------------------------------


def test_an_advance_is_over_when_all_that_is_due_is_gone() -> None:
    async def scenario() -> None:
        clock = VirtualClock()
        world = World(None, clock=clock)
        enable(world)
        jobs = Runner([world.job, world.expiry_job], clock)
        world.embedded.maintenance.on_work(jobs.wake)
        jobs.start()
        for number in range(EXPIRY_SLICE_ROWS * 3 + 1):
            put(world, number, now(world) + 10 + number % 2)
        async with asyncio.timeout(60):
            await advance(clock, jobs, 9)
            assert len(left(world)) == EXPIRY_SLICE_ROWS * 3 + 1
            await advance(clock, jobs, 1)
            assert len(left(world)) == (EXPIRY_SLICE_ROWS * 3 + 1) // 2
            await advance(clock, jobs, 1)
            assert left(world) == set()
            await jobs.stop()
        assert world.close() == []

    asyncio.run(scenario())


def test_a_write_that_leaves_time_and_size_as_they_are_asks_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(None)
    enable(world)
    put(world, 1, now(world) + 10)

    def fail(*_: object) -> None:
        raise AssertionError("asked")

    participant = next(one for one in world.embedded.site.tables.participants if isinstance(one, Expiries))
    with monkeypatch.context() as patched:
        patched.setattr(participant, "add_row", fail)
        world.ask("PutItem", Item=item(1) | {"status": {"S": "xx"}, NAME: {"N": str(now(world) + 10)}})
        with pytest.raises(AssertionError, match="asked"):
            put(world, 1, now(world) + 20)
    put(world, 1, now(world) + 20)
    world.clock.advance(10)
    assert world.expire() == 10
    assert world.close() == []


def test_a_hundred_thousand_items_to_expire_cost_one_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many items are queued, the job does not look again until the first one expires."""
    world = World(None)
    enable(world)
    (table,) = world.embedded.catalog.all_tables()
    due_seconds = int(world.clock.service_time()) + 10_000
    prefix = layout.TIME_TO_LIVE_PREFIX + table.source_id
    batch = new_batch()
    for number in range(100_000):
        batch.put(prefix + queue_key(due_seconds + number, table.item_key(item(number))), b"")
    world.embedded.engine.write(batch)
    world.embedded.load()
    read_rows = note_rows_read(monkeypatch, ordered_queue)
    assert world.expire() == due_seconds - world.clock.service_time()
    assert len(read_rows) <= EXPIRY_SLICE_ROWS
    read_rows.clear()
    for _ in range(9):
        world.clock.advance(1_000)
        assert world.expire() == due_seconds - world.clock.service_time()
    assert read_rows == []
    world.close()


def test_writes_wake_the_job_only_for_what_expires_sooner() -> None:
    clock = VirtualClock()
    world = World(None, clock=clock)
    woken = []
    enable(world)
    world.embedded.maintenance.on_work(lambda: woken.append(now(world)))
    world.expire()
    for number in range(100):
        put(world, number, now(world) + 1000 + number)
    assert len(woken) == 1
    put(world, 5, now(world) + 500)
    assert len(woken) == 2
    put(world, 6, now(world) + 500)
    assert len(woken) == 2
    assert world.close() == []


def test_tables_take_turns() -> None:
    world = World(None)
    enable(world)
    world.request(
        "CreateTable",
        TableName="others",
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        BillingMode="PAY_PER_REQUEST",
    )
    world.request("UpdateTimeToLive", TableName="others", TimeToLiveSpecification=ON)
    for number in range(EXPIRY_SLICE_ROWS * 3):
        put(world, number, now(world) + 10)
    world.request("PutItem", TableName="others", Item=item(1) | {NAME: {"N": str(now(world) + 20)}})
    world.clock.advance(20)
    for _ in range(2):
        assert drive(world.expiry_job.run_slice()) == AT_ONCE
    assert world.request("Scan", TableName="others")["Count"] == 0
    assert len(left(world)) == EXPIRY_SLICE_ROWS * 2
    assert world.expire() is None
    assert left(world) == set()
    assert world.close() == []


def create_others(world: World, count: int) -> None:
    """Create so many further tables with time to live."""
    for number in range(count):
        name = f"others{number}"
        world.request(
            "CreateTable",
            TableName=name,
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            BillingMode="PAY_PER_REQUEST",
        )
        world.request("UpdateTimeToLive", TableName=name, TimeToLiveSpecification=ON)


def test_very_many_queues_are_read_in_several_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    """All at once after a start or restore, the queues of 768 tables held others up for 22 ms."""
    monkeypatch.setattr(expiries, "QUEUES_TOGETHER", 2)
    world = World(None)
    create_others(world, 4)
    for table in world.embedded.catalog.all_tables()[1:]:
        old = table.schema
        assert old.time_to_live is not None
        enabling = msgspec.structs.replace(old.time_to_live, state="ENABLING")
        drive(world.embedded.catalog.replace(old, msgspec.structs.replace(old, time_to_live=enabling)))
    assert drive(world.expiry_job.run_slice()) is None, "queues that are still to be filled are not read"
    enable(world)
    put(world, 1, now(world) + 10)
    reads: list[int] = []
    first = OrderedQueue.first

    def counted(*arguments: Any) -> Any:
        reads.append(len(reads))
        return first(*arguments)

    monkeypatch.setattr(OrderedQueue, "first", counted)
    world.embedded.load()
    for expected in (AT_ONCE, AT_ONCE, 10.0):
        reads.clear()
        assert drive(world.expiry_job.run_slice()) == expected
        assert len(reads) == (2 if expected == AT_ONCE else 1)
    world.clock.advance(10)
    assert world.expire() is None
    assert left(world) == set()
    assert world.close() == []


def test_tables_are_looked_at_in_several_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """At the start of a fork, 2,400 tables with twenty indexes held others up for 100 ms."""
    monkeypatch.setattr(overlong_deadlines, "TABLES_TOGETHER", 2)
    world = World(None)
    create_others(world, 4)
    tables = [table.schema for table in world.embedded.catalog.all_tables()]
    looking = shorten_overlong_deadlines(world.embedded, tables, world.clock.service_time(), 0.0)
    assert pauses_of(looking) == 5 // 2


def pauses_of(work: Coroutine[Any, Any, Any]) -> int:
    """How often work gives way."""
    pauses = 0
    with suppress(StopIteration):
        while True:
            assert work.send(None) is None
            pauses += 1
    return pauses


def test_another_engine_under_a_running_store(tmp_path: Path) -> None:
    """After the switch, the job waits for items of the new engine only."""
    world, other = World(tmp_path / "data"), World(tmp_path / "other")
    enable(world)
    put(world, 1, now(world) + 10)
    put(other, 2, now(other) + 5)
    enable(other)
    world.clock.advance(3)
    assert world.expire() == 7
    replace_engine(world.embedded, other.embedded.engine)
    assert world.expire() == 2
    world.clock.advance(2)
    assert world.expire() is None
    assert left(world) == set()


def test_a_table_that_goes_while_its_items_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two items of a slice, other requests may delete the table or turn time to live off."""
    monkeypatch.setattr("hashrange.store.embedded.upkeep.GROUP_ROWS", 1)
    for is_deleted in (True, False):
        world = World(tmp_path / str(is_deleted))
        enable(world)
        for number in range(10):
            put(world, number, now(world) + 10)
        world.clock.advance(COOLDOWN_SECONDS)
        slice_ = world.expiry_job.run_slice()
        for _ in range(3):
            slice_.send(None)
        world.ask("DeleteTable") if is_deleted else disable(world)
        assert drive(slice_) == AT_ONCE
        assert world.expire() is None
        assert is_deleted or len(left(world)) == 7
        assert queued(world) == []
        assert world.close() == []

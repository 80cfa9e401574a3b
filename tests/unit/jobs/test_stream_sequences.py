"""Sequence numbers never decrease, whatever happens to clock, process and engine;
records name the author of a change.
"""

import random
from pathlib import Path

import pytest

from hashrange.store.embedded.engine import open_engine
from hashrange.tables.change import Origin
from tests.support.clocks import SetClock
from tests.support.engines import replace_engine
from tests.support.kills import copy_as_killed
from tests.unit.jobs.streaming import (
    HOUR,
    all_records,
    begin,
    change,
    key_of,
    pass_time,
    read,
    replayed,
    sequence,
    shards,
    switch_off,
    switch_on,
    told,
    values,
)
from tests.unit.jobs.world import World, drive, item


def numbers(world: World, arn: str) -> list[int]:
    """The sequence numbers of all records, in reading order."""
    return [sequence(one) for one in all_records(world, arn)]


def latest(world: World, arn: str) -> str:
    """A LATEST iterator of the only open shard."""
    return begin(world, arn, shards(world, arn)[-1]["ShardId"], "LATEST")


@pytest.mark.parametrize("is_killed", [True, False])
@pytest.mark.parametrize("back_seconds", [0.0, 0.0005, 60.0, 3 * HOUR])
def test_a_clock_set_back_between_two_processes(tmp_path: Path, is_killed: bool, back_seconds: float) -> None:
    world = World(tmp_path / "data", clock=SetClock())
    world.clock.advance(12 * HOUR)
    arn = switch_on(world)
    for value in range(5):
        change(world, 1, value)
        world.clock.advance(1)
    for round_ in range(1, 4):
        end = latest(world, arn)
        world.clock = SetClock(world.clock.service_time() - back_seconds)
        world.kill() if is_killed else world.restart()
        again = latest(world, arn)
        assert read(world, again)[0] == []
        for value in range(round_ * 5, round_ * 5 + 5):
            change(world, 1, value)
        found = numbers(world, arn)
        assert len(found) == 5 + round_ * 5
        assert found == sorted(set(found))
        for iterator in (end, again):
            assert [sequence(one) for one in read(world, iterator)[0]] == found[-5:]
    assert values(world, arn, 1) == list(range(20))
    assert world.close() == []


def test_a_clock_set_back_before_a_shard_ends(tmp_path: Path) -> None:
    """Records after the end of a shard have greater numbers than its ending number, also in a new process."""
    world = World(tmp_path / "data", clock=SetClock())
    arn = switch_on(world)
    change(world, 1, 0)
    pass_time(world, 4 * HOUR)
    assert len(shards(world, arn)) == 2
    world.clock = SetClock(world.clock.service_time() - 2 * HOUR)
    world.restart()
    end = latest(world, arn)
    change(world, 1, 1)
    switch_off(world)
    second = switch_on(world)
    change(world, 1, 2)
    assert len(read(world, end)[0]) == 1
    assert values(world, arn, 1) == [0, 1]
    assert values(world, second, 1) == [2]
    assert numbers(world, arn) + numbers(world, second) == sorted(numbers(world, arn) + numbers(world, second))
    assert world.close() == []


def test_an_older_engine_under_a_running_store(tmp_path: Path) -> None:
    """After a switch to an older engine, as after a restore: newer records are gone, and new ones have greater
    numbers than all before."""
    world = World(tmp_path / "data")
    arn = switch_on(world)
    change(world, 1, 0)
    copy_as_killed(tmp_path / "data", tmp_path / "older")
    for value in range(1, 4):
        change(world, 1, value)
    before = numbers(world, arn)
    end = latest(world, arn)
    former = replace_engine(world.embedded, open_engine(str(tmp_path / "older")))
    assert numbers(world, arn) == before[:1]
    again = latest(world, arn)
    change(world, 1, 9)
    found = numbers(world, arn)
    assert found[0] == before[0]
    assert found[1] > before[-1]
    for iterator in (end, again):
        assert [sequence(one) for one in read(world, iterator)[0]] == found[1:]
    replayed(all_records(world, arn))
    older = replace_engine(world.embedded, former)
    change(world, 1, 4)
    assert numbers(world, arn)[-1] > found[1]
    older.close()
    assert world.close() == []


def test_another_engine_with_another_stream(tmp_path: Path) -> None:
    """Iterators of a stream that the new engine lacks are refused, and the list of grown partitions is discarded."""
    world = World(tmp_path / "data", partition_size_max_bytes=1000)
    other = World(tmp_path / "other")
    other.clock.advance(10)
    arn, second = switch_on(world), switch_on(other)
    world.put(80)
    other.put(3)
    other.ask("CreateTable", TableName="more", **KEYS)
    assert world.embedded.site.statistics.grown
    end = latest(world, arn)
    replace_engine(world.embedded, other.embedded.engine)
    assert world.refusal("GetRecords", ShardIterator=end)[0] == "ResourceNotFoundException"
    assert len(all_records(world, second)) == 3
    assert world.split() is None
    empty = open_engine(str(tmp_path / "empty"))
    world.put(80)
    assert world.embedded.site.statistics.grown
    replace_engine(world.embedded, empty)
    assert world.split() is None
    assert world.tend() is None


KEYS = {
    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    "BillingMode": "PAY_PER_REQUEST",
}


@pytest.mark.parametrize("seed", range(5))
def test_restarts_in_the_midst(tmp_path: Path, seed: int) -> None:
    """All changes happen at one virtual moment, so only the counter distinguishes their sequence numbers."""
    chance = random.Random(seed)
    world = World(tmp_path / "data", partition_size_max_bytes=2000)
    arn = switch_on(world)
    last = 0
    for value in range(60):
        change(world, chance.randrange(20), value, size_bytes=100)
        match chance.randrange(8):
            case 0:
                world.restart()
            case 1:
                world.kill()
            case 2:
                world.split()
        highest = max(numbers(world, arn))
        assert highest > last
        last = highest
    records = all_records(world, arn)
    assert len({sequence(one) for one in records}) == 60
    replayed(records)
    assert world.close() == []


# --- the author of a change -------------------------------------------------------------------------


def test_what_time_to_live_deletes_says_so(world: World) -> None:
    world.ask("UpdateTimeToLive", TimeToLiveSpecification={"Enabled": True, "AttributeName": "expires"})
    world.finish()
    arn = switch_on(world)
    expires = {"expires": {"N": str(int(world.clock.service_time()) + 10)}}
    for number in range(3):
        world.ask("PutItem", Item=item(number) | expires)
    world.ask("DeleteItem", Key={"id": {"S": "o0"}})
    world.clock.advance(10)
    world.expire()
    world.ask("PutItem", Item=item(1))
    world.ask("DeleteItem", Key={"id": {"S": "o1"}})
    identity = {"Type": "Service", "PrincipalId": "dynamodb.amazonaws.com"}
    removed = [one for one in all_records(world, arn) if one["eventName"] == "REMOVE"]
    assert [(key_of(one), one.get("userIdentity")) for one in removed if key_of(one) != "o2"] == [
        ("o0", None),
        ("o1", identity),
        ("o1", None),
    ]
    assert [one["userIdentity"] for one in removed if key_of(one) == "o2"] == [identity]
    assert told(removed[1]) == (item(int(key_of(removed[1])[1:])) | expires, None)
    assert sum("userIdentity" in one for one in all_records(world, arn)) == 2


@pytest.mark.parametrize("origin", ["import", "restore"])
def test_what_is_imported_leaves_no_record(world: World, origin: Origin) -> None:
    world.put(2)
    arn = switch_on(world)
    table = world.embedded.catalog.all_tables()[0]
    keys = {number: table.item_key(item(number)) for number in range(2)}
    rows = {number: drive(world.scope.store.get(table.source_id, key, consistent=True)) for number, key in keys.items()}
    drive(world.scope.store.mutate(table, keys[0], lambda _: None, origin=origin))
    drive(world.scope.store.mutate(table, keys[0], lambda _: rows[0], origin=origin))
    drive(world.scope.store.mutate(table, keys[0], lambda _: None, origin="client"))
    (record,) = all_records(world, arn)
    assert told(record) == (item(0), None)
    assert "userIdentity" not in record

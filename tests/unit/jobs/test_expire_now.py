"""Deleting expired items on an operator's request: at once, each counted once, and no other items."""

from typing import Any

import pytest

from tests.unit.jobs.test_expiry import (
    COOLDOWN_SECONDS,
    create_others,
    disable,
    enable,
    left,
    now,
    pauses_of,
    put,
    queued,
)
from tests.unit.jobs.world import TABLE, World, drive

DELAY_SECONDS = 1000.0


@pytest.fixture
def world_options() -> dict[str, Any]:
    """A delay that keeps the expiry job from deleting the expired items of these tests."""
    return {"ttl_delay_seconds": DELAY_SECONDS}


def test_what_has_expired_goes_whatever_the_delay(world: World) -> None:
    enable(world)
    for number in range(200):
        put(world, number, now(world) + 10)
    put(world, 200, now(world) + 11)
    world.put(202, status={"S": "never"})
    put(world, 201, now(world) + 11)
    world.clock.advance(10)
    for number in range(150):
        put(world, number, now(world))
    assert world.expire_now() == 150
    assert len([change for changes in world.deletions for change in changes if change.new != change.old]) == 150
    assert len(left(world)) == 52
    world.clock.advance(1)
    assert world.expire_now() == 1
    assert world.expire_now() == 0
    assert len(left(world)) == 51


def test_what_had_expired_when_it_was_written_goes_in_the_same_second(world: World) -> None:
    """An item already expired when written is queued for the next second, together with items that expire then and
    must stay."""
    enable(world)
    for number in range(0, 200, 2):
        put(world, number, now(world) - 5)
        put(world, number + 1, now(world) + 1)
    assert world.expire_now() == 100
    assert left(world) == {f"o{number}" for number in range(1, 200, 2)}
    world.clock.advance(1)
    assert world.expire_now() == 100
    world.clock.advance(DELAY_SECONDS)
    assert world.expire() is None
    assert queued(world) == []


def test_items_that_stay_go_at_their_time_all_the_same(world: World) -> None:
    enable(world)
    put(world, 1, now(world) - 5)
    put(world, 1, now(world) + 1)
    put(world, 2, now(world) + 1)
    assert world.expire_now() == 0
    world.clock.advance(DELAY_SECONDS)
    assert world.expire() == pytest.approx(1, abs=0.01)
    assert left(world) == {"o1", "o2"}
    world.clock.advance(1)
    world.expire()
    assert left(world) == set()


def test_what_the_job_has_deleted_is_not_counted(world: World) -> None:
    enable(world)
    put(world, 1, now(world) + 10)
    put(world, 2, now(world) + 100)
    world.clock.advance(DELAY_SECONDS + 10)
    world.expire()
    assert world.expire_now() == 1
    assert left(world) == set()


def test_no_time_to_live_nothing_expires(world: World) -> None:
    put(world, 1, now(world) - 5)
    assert world.expire_now() == 0
    enable(world)
    world.clock.advance(COOLDOWN_SECONDS)
    disable(world)
    put(world, 2, now(world) - 5)
    world.clock.advance(5)
    assert world.expire_now() == 0
    assert left(world) == {"o1", "o2"}


def test_one_table_is_named(world: World) -> None:
    enable(world)
    world.request(
        "CreateTable",
        TableName="other",
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        BillingMode="PAY_PER_REQUEST",
    )
    put(world, 1, now(world) - 5)
    assert world.expire_now("other") == 0
    assert world.expire_now(TABLE) == 1


def test_items_that_are_deleted_or_renewed_meanwhile_are_not_counted(world: World) -> None:
    """Other requests may run between two commits of the deletion."""
    enable(world)
    expires = now(world) + 10
    for number in range(64):
        put(world, number, expires)
    world.clock.advance(10)
    expiring = world.expiring()
    while len(left(world)) == 64:
        expiring.send(None)
    before = left(world)
    gone, renewed = sorted(before)[:2]
    world.ask("DeleteItem", Key={"id": {"S": gone}})
    put(world, int(renewed[1:]), now(world) + 100)
    assert drive(expiring) == 64 - len(before) + len(before) - 2
    assert left(world) == {renewed}


def test_a_table_that_stops_or_goes_meanwhile_loses_no_more(world: World) -> None:
    enable(world)
    for number in range(64):
        put(world, number, now(world) + 10)
    world.clock.advance(COOLDOWN_SECONDS)
    expiring = world.expiring()
    while len(left(world)) == 64:
        expiring.send(None)
    rest = len(left(world))
    disable(world)
    assert drive(expiring) == 64 - rest
    assert len(left(world)) == rest


def test_other_requests_run_between_two_tables() -> None:
    """To read the queues of 2,400 tables takes 70 ms."""
    world = World(None)
    create_others(world, 4)
    world.finish()
    assert pauses_of(world.expiring()) >= 4
    assert world.close() == []

"""Items whose time is over: each goes at its time, none before, and none that was renewed."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.unit.jobs.world import World, item

NAME = "expires"


@pytest.fixture(params=["memory", "disk", "suspending"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    folder = tmp_path / "data" if request.param != "memory" else None
    made = World(folder, is_suspending=request.param == "suspending")
    yield made
    assert made.close() == []


def enable(world: World, name: str = NAME) -> None:
    specification = {"Enabled": True, "AttributeName": name}
    reply = world.ask("UpdateTimeToLive", TimeToLiveSpecification=specification)
    assert reply == {"TimeToLiveSpecification": specification}
    world.finish()
    assert described(world) == {"TimeToLiveStatus": "ENABLED", "AttributeName": name}


def described(world: World) -> Any:
    return world.ask("DescribeTimeToLive")["TimeToLiveDescription"]


def now(world: World) -> int:
    return int(world.clock.service_time())


def put(world: World, number: int, expires: Any, name: str = NAME) -> None:
    """An item; `expires` is a number, text of one, or a whole attribute value."""
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

"""Random operations on items compared with a dictionary, over every store, with restarts:
both must always give the same result.

A walk's steps are data, made from its seed before it starts; so a failing walk can be reduced to the shortest one found
that still fails, which is reported with its seed.
"""

import random
from collections.abc import Callable, Coroutine
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from hashrange.errors import ApiError
from hashrange.operations.registry import OPERATIONS
from tests.model.item_model import to_wire
from tests.model.random_steps import Step, Steps
from tests.model.world import TABLE, World
from tests.support.asking import run_operation

STEPS = 250
SHRINK_TRIES = 300


def failure(steps: list[Step], make_world: Callable[[], World]) -> tuple[int, Exception] | None:
    """The step at which a walk fails, and the reason; None when it passes."""
    world = make_world()
    try:
        for place, step in enumerate(steps):
            try:
                step(world)
            except Exception as error:
                return place, error
        return None
    finally:
        world.embedded.close_now()


def shrink(steps: list[Step], make_world: Callable[[], World]) -> list[Step]:
    """A shorter walk that still fails: parts of ever smaller size are removed while it fails."""
    tries = 0
    width = len(steps) // 2
    while width and tries < SHRINK_TRIES:
        start = 0
        while start < len(steps) and tries < SHRINK_TRIES:
            shorter = steps[:start] + steps[start + width :]
            tries += 1
            found = failure(shorter, make_world)
            if found is None:
                start += width
            else:
                steps = shorter[: found[0] + 1]
        width //= 2
    return steps


def walk(seed: int, kind: str, data_dir: Path | None) -> None:
    chance = random.Random(seed)
    key_types = tuple(chance.choices("SNB", k=chance.choice([1, 2, 2])))
    maker = Steps(seed, key_types)
    steps = [maker.make() for _ in range(STEPS)]
    worlds = 0

    def make_world() -> World:
        nonlocal worlds
        worlds += 1
        folder = None if data_dir is None else str(data_dir / str(worlds))
        return World(kind, folder, seed, key_types)

    found = failure(steps, make_world)
    if found is not None:
        steps = shrink(steps[: found[0] + 1], make_world)
        told = "\n".join(describe(step) for step in steps)
        again = failure(steps, make_world)
        error = found[1] if again is None else again[1]
        raise AssertionError(f"seed {seed}, {kind} store, keys {key_types}, {len(steps)} steps:\n{told}") from error


def describe(step: Step) -> str:
    """A step's kind and its request."""
    held = {
        name: cell.cell_contents for name, cell in zip(step.__code__.co_freevars, step.__closure__ or (), strict=True)
    }
    return f"{step.__qualname__.split('.')[1]}: {held.get('members', '')}"


@pytest.mark.parametrize("seed", range(6))
def test_a_table_is_a_dictionary(seed: int) -> None:
    walk(seed, "embedded", None)


@pytest.mark.parametrize("kind", ["embedded", "suspending"])
@pytest.mark.parametrize("seed", range(100, 103))
def test_a_table_is_a_dictionary_that_survives_restarts_and_kills(tmp_path: Path, seed: int, kind: str) -> None:
    walk(seed, kind, tmp_path)


@pytest.mark.parametrize("seed", range(200, 203))
def test_a_table_is_a_dictionary_over_a_store_that_suspends(seed: int) -> None:
    walk(seed, "suspending", None)


# --- many at once -------------------------------------------------------------------------------


def interleave(chance: random.Random, coroutines: list[Coroutine[Any, Any, Any]]) -> list[Any]:
    """Run operations concurrently, in random order step by step; return replies and refusals in the given order."""
    results: dict[int, Any] = {}
    running = dict(enumerate(coroutines))
    while running:
        number = chance.choice(list(running))
        try:
            running[number].send(None)
        except StopIteration as stop:
            results[number] = stop.value
            del running[number]
        except ApiError as error:
            results[number] = error
            del running[number]
    return [results[number] for number in range(len(coroutines))]


@pytest.mark.parametrize("seed", range(3))
def test_concurrent_writes_of_one_item_do_not_lose_each_other(seed: int) -> None:
    chance = random.Random(seed)
    world = World("suspending", None, seed, ("S",))
    key = {"pk": {"S": "counter"}}
    operation = OPERATIONS["UpdateItem"]

    def run(**members: Any) -> Coroutine[Any, Any, Any]:
        return run_operation(world.scope, operation, {"TableName": TABLE, "Key": key} | members)

    one = {":one": to_wire(("N", Decimal(1)))}
    adds = [run(UpdateExpression="ADD n :one", ExpressionAttributeValues=one) for _ in range(20)]
    sets = [run(UpdateExpression="SET m = if_not_exists(m, :zero) + :one",
                ExpressionAttributeValues=one | {":zero": {"N": "0"}}) for _ in range(20)]  # fmt: skip
    firsts = [run(UpdateExpression="SET winner = :w", ConditionExpression="attribute_not_exists(winner)",
                  ExpressionAttributeValues={":w": {"N": str(number)}}) for number in range(10)]  # fmt: skip
    results = interleave(chance, adds + sets + firsts)
    won = [number for number, result in enumerate(results[40:]) if not isinstance(result, ApiError)]
    assert len(won) == 1
    item = world.ask("GetItem", {"Key": key, "ConsistentRead": True})["Item"]
    assert item == key | {"n": {"N": "20"}, "m": {"N": "20"}, "winner": {"N": str(won[0])}}
    world.embedded.close_now()

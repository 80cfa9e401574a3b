"""Faults are found by table and key, all draws of one access are made at once,
and many faults do not hold up other requests.
"""

import random
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from hashrange.faults.drawing import Drawing, Touch
from hashrange.faults.fault import FAULT_VALUES_MAX, FAULTS_MAX, Fault, FaultKind, Faults, FaultsError, checked
from hashrange.items import steps
from hashrange.items.types import Key
from hashrange.tables.open_table import OpenTable
from hashrange.tables.source_id import partition_prefix
from tests.support.clocks import VirtualClock
from tests.support.samples import table_maker
from tests.support.working import lines_between_looks

LINES_MAX = 30_000
"""Python lines between two looks: more than one access that all faults match takes, less than two take."""
FEW_LINES = 100
THROTTLE: frozenset[FaultKind] = frozenset({"throttle"})
KEYS = [("a", "1"), ("a", "2"), ("a", "11"), ("b", "1")]
TABLES = [OpenTable(table_maker(name)(number)) for number, name in enumerate(("orders", "carts"), 1)]


def key_of(table: OpenTable, pk: str, sk: str) -> Key:
    return table.lookup_key({"pk": {"S": pk}, "sk": {"S": sk}})


def touches_of(table: OpenTable) -> list[Touch]:
    """An access to each item, a read of each partition key, and a scan of the table and of an index."""
    keys = [key_of(table, *one) for one in KEYS]
    reads = [Touch(table, None, None, partition_prefix(key)) for key in keys]
    return [*(Touch(table, None, key) for key in keys), *reads, Touch(table, None, None), Touch(table, "by-x", None)]


def some_fault(chance: random.Random) -> Fault:
    """A fault of one of two tables or of any, of an item, a partition key or all,
    with and without skip, count and share.
    """
    table = chance.choice(["orders", "carts", None])
    pk, sk = chance.choice(KEYS)
    keys = [None, {"pk": {"S": pk}}, {"pk": {"S": pk}, "sk": {"S": sk}}, {"other": {"S": "x"}}]
    return Fault(
        kind=chance.choice(["throttle", "unprocessed"]),
        table=table,
        key=None if table is None else chance.choice(keys),
        operation=chance.choice([None, "GetItem", ("GetItem", "PutItem")]),
        index=None,
        share=chance.choice([1.0, 0.5, 0.25]),
        count=chance.choice([None, 3]),
        skip=chance.choice([0, 2]),
    )


def does_name(fault: Fault, touch: Touch) -> bool:
    """True if the fault concerns the rows, found by comparing all that it names."""
    if fault.table not in {None, touch.table.name}:
        return False
    if fault.key is None:
        return True
    if touch.index is not None or "pk" not in fault.key:
        return False
    pk = fault.key["pk"]["S"]
    start = partition_prefix(key_of(touch.table, pk, "x"))
    wanted = key_of(touch.table, pk, fault.key["sk"]["S"]) if "sk" in fault.key else start
    return (touch.prefix if touch.key is None else touch.key).startswith(wanted)


def drawn_one_by_one(faults: Sequence[Fault], seed: int, touches: Sequence[tuple[str, Touch]]) -> list[list[int]]:
    """For each access the numbers of the `throttle` faults that it meets: all faults are walked, in order."""
    chances = [random.Random(f"{seed}/{number}") for number in range(1, len(faults) + 1)]
    matches, met = [0] * len(faults), [0] * len(faults)
    found: list[list[int]] = []
    for operation, touch in touches:
        found.append([])
        for place, fault in enumerate(faults):
            if fault.kind != "throttle" or not does_name(fault, touch):
                continue
            if fault.operations is not None and operation not in fault.operations:
                continue
            matches[place] += 1
            if matches[place] <= fault.skip or (fault.count is not None and met[place] >= fault.count):
                continue
            if fault.share < 1 and chances[place].random() >= fault.share:
                continue
            met[place] += 1
            found[-1].append(place + 1)
    return found


@pytest.mark.parametrize("seed", range(20))
def test_the_same_faults_are_met_in_the_same_order_as_if_all_were_walked(seed: int) -> None:
    chance = random.Random(seed)
    faults = checked([some_fault(chance) for _ in range(30)], seed)
    all_touches = [touch for table in TABLES for touch in touches_of(table)]
    touches = [(chance.choice(["GetItem", "PutItem"]), chance.choice(all_touches)) for _ in range(200)]
    drawing = Drawing(faults, VirtualClock())
    found: list[list[int]] = []
    for operation, touch in touches:
        before = drawing.met
        list(drawing.on_touch(THROTTLE, operation, touch))
        found.append([one.fault for one in drawing.report[before:]])
    assert found == drawn_one_by_one(faults.faults, seed, touches)
    assert drawing.met > 100


def many(**members: object) -> Drawing:
    fault = {"kind": "throttle", "skip": 10**9, **members}
    return Drawing(checked([fault] * FAULTS_MAX, 0), VirtualClock())


def read_all(drawing: Drawing, count: int = 10) -> None:
    for number in range(count):
        list(drawing.on_touch(THROTTLE, "BatchGetItem", Touch(TABLES[0], None, key_of(TABLES[0], "a", str(number)))))


@pytest.mark.parametrize(
    "members",
    [
        {},
        {"table": "orders"},
        {"table": "orders", "share": 0.5},
        {"table": "orders", "key": {"pk": {"S": "a"}}},
        {"table": "orders", "key": {"pk": {"S": "a"}, "sk": {"S": "7"}}},
    ],
)
def test_a_batch_gives_way_between_its_items(members: dict[str, object]) -> None:
    drawing = many(**members)
    assert lines_between_looks(lambda: read_all(drawing)) <= LINES_MAX


@pytest.mark.parametrize(
    "members", [{"table": "carts"}, {"table": "orders", "key": {"pk": {"S": "z"}, "sk": {"S": "7"}}}]
)
def test_faults_of_other_tables_and_items_cost_nothing(members: dict[str, object]) -> None:
    drawing = many(**members)
    read_all(drawing, 1)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(steps, "LOOK_STEPS", 10**9)
        patched.setattr(steps, "_left", 10**9)
        assert lines_between_looks(lambda: read_all(drawing, 1)) <= FEW_LINES


def test_the_draws_of_one_access_are_made_at_once() -> None:
    """Other requests run before the first draw, but not between two of them:
    which request meets what does not depend on time.
    """
    drawing = many(table="orders", skip=0)
    touch = Touch(TABLES[0], None, key_of(TABLES[0], "a", "1"))
    met: list[int] = []
    before = steps._look
    steps._look = lambda: met.append(drawing.met)
    try:
        list(drawing.on_touch(THROTTLE, "GetItem", touch))
        list(drawing.on_touch(THROTTLE, "GetItem", touch))
    finally:
        steps._look = before
    assert set(met) == {0, FAULTS_MAX}


def test_many_faults_are_checked_in_pieces() -> None:
    fault = {"kind": "throttle", "table": "orders", "key": {"pk": {"S": "a" * 600}, "sk": {"S": "7"}}}
    assert lines_between_looks(lambda: checked([fault] * FAULTS_MAX, 0)) <= LINES_MAX


def test_generators_are_seeded_when_they_are_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each takes 25 µs, and most faults have none to draw."""
    seeds: list[str] = []

    class Noted(random.Random):
        def __init__(self, seed: str) -> None:
            seeds.append(seed)
            super().__init__(seed)

    monkeypatch.setattr(random, "Random", Noted)
    faults = (Fault("throttle", table="orders"), Fault("throttle", table="orders", share=0.5))
    drawing = Drawing(Faults(faults, 7), VirtualClock())
    assert not seeds
    read_all(drawing)
    assert seeds == ["7/2"]


def test_a_fault_has_few_values() -> None:
    names = [f"Operation{number}" for number in range(FAULT_VALUES_MAX - 3)]
    assert len(checked([{"kind": "throttle", "operation": names}], 0).faults) == 1
    assert len(checked([Fault("throttle", operation=tuple(names[:900]))], 0).faults) == 1


TOO_MANY = list(map(str, range(40_000)))


@pytest.mark.parametrize(
    "members",
    [
        {"operation": TOO_MANY},
        {"operation": [*TOO_MANY, 1]},
        {"table": dict.fromkeys(TOO_MANY, 1)},
        {"table": "t", "key": {name: {"S": "a"} for name in TOO_MANY}},
        {"table": "t", "key": {"pk": {"L": [{"S": "a"}] * 40_000}}},
        {"table": "t", "key": {"pk": [[[] for _ in range(1_000)] for _ in range(40)]}},
        dict.fromkeys(TOO_MANY, 1),
    ],
)
def test_a_fault_of_very_many_values_is_refused_unread(
    members: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of 80,000 names held up all other clients for 0.1 s."""
    converted: list[object] = []
    monkeypatch.setattr(msgspec, "to_builtins", converted.append)
    fault = {"kind": "throttle", **members}

    def refuse() -> None:
        with pytest.raises(FaultsError, match="fault 1: it has more than 1,000 members and values; divide"):
            checked([fault], 0)

    assert lines_between_looks(refuse) < LINES_MAX // 5
    assert not converted


def test_a_fault_of_code_has_few_values_too() -> None:
    with pytest.raises(FaultsError, match="more than 1,000 members and values"):
        checked([Fault("throttle", operation=tuple(TOO_MANY))], 0)

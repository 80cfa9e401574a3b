"""Throughput by cases: a table, loads over time, and how many requests each load gets before it is throttled, and why.

The first line describes the table: `provisioned READS WRITES`, `on demand`, or `on demand at most READS WRITES`;
then `partitions N` and `shares` or `off`, if wanted. With `index` before it, it describes a global index,
and loads are those of the index. A load is `write KEY COUNT` or `read KEY COUNT`, with `x UNITS` for requests of more
than one unit: keys begin with a hexadecimal digit, by which they fall into partitions.
`after SECONDS` lets time pass; `then …` changes the table. `a second for N` repeats the load of the line before in each
of N further seconds, and shows the last one.
"""

import re
from typing import Any

from hashrange.errors import ApiError
from hashrange.items.types import Key
from hashrange.settings import AdaptiveSetting
from hashrange.tables.open_table import OpenTable
from hashrange.tables.partitions import first_partitions
from hashrange.tables.schema import Index, IndexProjection, KeySchema, Table, Throughput
from hashrange.throughput.capacity_side import CapacitySide, SideTerms
from tests.scripts.cases import case_test

KEYS = KeySchema(("pk",), ("S",))


class World:
    """A table without a store, and the buckets of its reads and writes."""

    def __init__(self, line: str) -> None:
        self.now_seconds = 0.0
        self._adaptive: AdaptiveSetting = "shares" if "shares" in line else "off" if line.endswith("off") else "instant"
        self.last_load = ""
        self._reads, self._writes = (
            CapacitySide(SideTerms(self._adaptive), is_write=is_write) for is_write in (False, True)
        )
        self.change(line)

    def change(self, line: str) -> None:
        table = described(line)
        for side in (self._reads, self._writes):
            side.follow(table, next(iter(table.schema.indexes), None), self.now_seconds)

    def load(self, line: str) -> str:
        """Send requests until one is throttled, or all have been admitted."""
        self.last_load = line
        found = re.fullmatch(r"(read|write) (\w+) (\d+)(?: x ([\d.]+))?", line)
        assert found, f"not understood: {line}"
        kind, name, times, units = found.groups()
        side = self._writes if kind == "write" else self._reads
        key = Key(bytes([int(name[0], 16) << 4]) * 8 + name.encode())
        for number in range(int(times)):
            try:
                side.admit(key, self.now_seconds, "PutItem" if kind == "write" else "GetItem")
            except ApiError as error:
                (members,) = (value for value in error.members.values() if isinstance(value, list))
                return f"{number:,} admitted, then {type(error).__name__} {members[0]['reason']}"
            side.take(key, float(units or 1), self.now_seconds)
        return "all admitted"


def described(line: str) -> OpenTable:
    """The table of a line."""
    numbers = [int(text) for text in re.findall(r"\d+", line.partition("partitions")[0])]
    partitions = int((re.findall(r"partitions (\d+)", line) or ["1"])[0])
    is_index, line = line.startswith("index"), line.removeprefix("index ")
    is_provisioned = line.startswith("provisioned")
    capacity: dict[str, Any] = {
        "throughput": Throughput(*numbers) if is_provisioned else Throughput(0, 0),
        "on_demand_max_read_units": numbers[0] if not is_provisioned and numbers else None,
        "on_demand_max_write_units": numbers[1] if not is_provisioned and numbers else None,
    }
    index = Index(1, "by-status", is_global=True, keys=KEYS, projection=IndexProjection("ALL"), **capacity)
    schema = Table(
        table_id=1,
        uuid="0",
        account="000000000000",
        region="us-east-1",
        name="orders",
        keys=KEYS,
        attribute_types={"pk": "S"},
        created_at_seconds=0.0,
        active_at_seconds=0.0,
        billing_mode="PROVISIONED" if is_provisioned else "PAY_PER_REQUEST",
        indexes=(index,) if is_index else (),
        **capacity,
    )
    return OpenTable(schema, {source_id: first_partitions(source_id, partitions) for source_id in schema.sources})


def evaluate(text: str) -> str:
    first, *lines = text.split("\n")
    world = World(first)
    shown = []
    for line in lines:
        if line.startswith("after "):
            world.now_seconds += float(line.removeprefix("after "))
        elif line.startswith("then "):
            world.change(line.removeprefix("then "))
        elif line.startswith("a second for "):
            came_out = ""
            for _ in range(int(line.removeprefix("a second for "))):
                world.now_seconds += 1
                came_out = world.load(world.last_load)
            shown.append(f"{line} → {came_out}")
        else:
            shown.append(f"{line} → {world.load(line)}")
    return "\n".join(shown)


test_throughput = case_test("throughput.case", evaluate)

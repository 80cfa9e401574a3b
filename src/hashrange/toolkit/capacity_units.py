"""How many units do reads and writes take, of a table and of each of its indexes?

Units are those of one second. Source: DynamoDB Developer Guide, *provisioned capacity mode* and *global secondary
indexes*: reads are counted in steps of 4 KB, half of one if they are eventually consistent, two in transactions; writes
in steps of 1 KB, two in transactions. An index has eventually consistent reads only, and its writes are never doubled.
"""

import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple

READ_STEP_BYTES, WRITE_STEP_BYTES = 4096, 1024
CONSISTENCIES = {"eventual": 0.5, "strong": 1.0, "transactional": 2.0}
"""Consistency of reads → units for a step."""
TRANSACTIONAL_WRITE = 2.0
"""Units for a step of a write in a transaction."""
INDEX_READ = CONSISTENCIES["eventual"]


class ItemSteps(NamedTuple):
    """What reads and writes of items are counted as. Each size is rounded up before averages are taken."""

    average_bytes: float
    read_steps: float
    write_steps: float


class IndexLoad(NamedTuple):
    """An index, with its entries, the share of the table's writes that change an entry, and its reads in a second."""

    name: str
    entries: ItemSteps
    writes_share: float = 1.0
    reads: float = 0.0


class AskedLoad(NamedTuple):
    """Reads and writes of a table in a second, on average."""

    items: ItemSteps
    reads: float
    writes: float
    consistency: str = "eventual"
    """One of CONSISTENCIES."""
    peak_to_average: float = 1.0
    indexes: tuple[IndexLoad, ...] = ()


class UnitRate(NamedTuple):
    """Units in a second."""

    average: float
    peak: float

    @property
    def provisioned(self) -> int:
        """The units that a table or index needs so that its peak is not throttled: at least 1."""
        return max(1, _rounded_up(self.peak))

    def scaled(self, utilization: float) -> int:
        """The units that auto scaling provides on average if it aims at this share of them being used: at least 1."""
        return max(1, _rounded_up(self.average / utilization))


class PlaceUnits(NamedTuple):
    """Units of the table, or of one of its indexes."""

    name: str
    is_index: bool
    reads: UnitRate
    writes: UnitRate


def steps_of_sizes(sizes_bytes: Iterable[float]) -> ItemSteps:
    """The steps of items of these sizes, on average. There must be at least one."""
    sizes = list(sizes_bytes)
    return ItemSteps(
        sum(sizes) / len(sizes),
        sum(max(1, math.ceil(size / READ_STEP_BYTES)) for size in sizes) / len(sizes),
        sum(max(1, math.ceil(size / WRITE_STEP_BYTES)) for size in sizes) / len(sizes),
    )


def units_of_load(load: AskedLoad) -> list[PlaceUnits]:
    """The units of the table, and behind it of each index."""
    return [PlaceUnits(*one) for one in _places_of(load)]


def _places_of(load: AskedLoad) -> Iterator[tuple[str, bool, UnitRate, UnitRate]]:
    def rate(average: float) -> UnitRate:
        return UnitRate(average, average * load.peak_to_average)

    of_write = TRANSACTIONAL_WRITE if load.consistency == "transactional" else 1.0
    read_units = load.reads * load.items.read_steps * CONSISTENCIES[load.consistency]
    yield "table", False, rate(read_units), rate(load.writes * load.items.write_steps * of_write)
    for index in load.indexes:
        index_reads = index.reads * index.entries.read_steps * INDEX_READ
        yield index.name, True, rate(index_reads), rate(load.writes * index.writes_share * index.entries.write_steps)


def _rounded_up(units: float) -> int:
    """The next whole number, for which what floating point has added counts nothing."""
    return math.ceil(round(units, 6))

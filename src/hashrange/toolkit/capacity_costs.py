"""What do units, storage and what else a table has cost in a month, in each way in which DynamoDB can be paid?

The ways, called modes: provisioned units that suffice for the peak; units that auto scaling provides; units reserved
for 1 or 3 years; on demand, by request; and the last two kinds with a savings plan. A month has `hours` hours.
"""

from collections.abc import Callable, Iterator, Mapping
from decimal import ROUND_HALF_UP, Decimal
from typing import NamedTuple

from hashrange.toolkit.capacity_units import PlaceUnits, UnitRate
from hashrange.toolkit.prices import TABLE_CLASSES, ClassPrices, FreeUse, Prices

PROVISIONED, AUTO_SCALING, ON_DEMAND = "provisioned", "auto scaling", "on demand"
RESERVED = {"1-year": "reserved, 1 year", "3-years": "reserved, 3 years"}
"""Name of a term in price tables → mode."""
PROVISIONED_SAVING, ON_DEMAND_SAVING = "provisioned, plan", "on demand, plan"
SECONDS_PER_HOUR, MILLION, GB_BYTES = 3600, 1_000_000, 1 << 30
TERM_HOURS = {"1-year": 8760, "3-years": 26_280}
UNIT_FIGURES = ("read_unit_hour", "write_unit_hour", "replicated_write_unit_hour")
REQUEST_FIGURES = ("million_reads", "million_writes", "million_replicated_writes")

RequestCosts = tuple[float, float]
"""The cost of reads, and that of writes."""


class TableUse(NamedTuple):
    """All that costs something."""

    places: tuple[PlaceUnits, ...]
    """The table, and behind it its indexes."""
    storage_gb: float = 0.0
    """Of the table and its indexes."""
    table_class: str = TABLE_CLASSES[0]
    hours: float = 730.0
    utilization: float = 0.7
    """The share of its units at which auto scaling aims."""
    replicas: int = 0
    """Regions beside this one that have the table."""
    written_bytes: float = 0.0
    """Bytes of the table's writes in a second, which go to each replica."""
    extras: Mapping[str, float] = {}
    """Name of an extra in price tables → how much of its unit in a month."""
    has_free_use: bool = False


class ModeCost(NamedTuple):
    """The cost of a month in one mode, in USD."""

    mode: str
    reads: float
    writes: float
    storage: float
    others: float
    """Transfer to replicas, and extras."""
    is_unconfirmed: bool
    break_even_percent: float | None = None
    """The share of provisioned units that must be used, on average, for this mode to cost no more than on demand."""

    @property
    def requests(self) -> float:
        """The cost of reads and writes."""
        return self.reads + self.writes

    @property
    def total(self) -> float:
        """The cost of all."""
        return self.requests + self.storage + self.others


class UnitSums(NamedTuple):
    """Units in a second, over the table and its indexes. Writes of a table that has replicas are replicated ones."""

    reads: float
    writes: float
    replicated: float


def rounded(usd: float) -> float:
    """An amount to the cent, half a cent upwards."""
    return float(Decimal(f"{usd:.6f}").quantize(Decimal("0.01"), ROUND_HALF_UP))


def costs_of(usage: TableUse, prices: Prices) -> list[ModeCost]:
    """The cost of each mode that the prices know. Raises UsageFault."""
    return list(_costs(usage, prices))


def _costs(usage: TableUse, prices: Prices) -> Iterator[ModeCost]:
    figures, of_class = prices.figures, prices.of_class(usage.table_class)
    fixed = _sums(usage, lambda rate: rate.provisioned)
    provisioned = _provisioned(fixed, of_class, usage, prices)
    on_demand = _on_demand(_sums(usage, lambda rate: rate.average), of_class, usage.hours)
    full = sum(_on_demand(fixed, of_class, usage.hours))  # for all provisioned units, used all the time

    def fixed_cost(mode: str, requests: RequestCosts, *paths: str) -> ModeCost:
        even = 100 * sum(requests) / full if full else None
        return _whole(mode, requests, usage, prices, (*paths, *_paths(usage, *UNIT_FIGURES)))._replace(
            break_even_percent=even
        )

    yield fixed_cost(PROVISIONED, provisioned)
    scaled = _provisioned(_sums(usage, lambda rate: rate.scaled(usage.utilization)), of_class, usage, prices)
    yield _whole(AUTO_SCALING, scaled, usage, prices, _paths(usage, *UNIT_FIGURES))
    for term, mode in RESERVED.items():
        if term in figures.reserved and usage.table_class == TABLE_CLASSES[0]:
            yield fixed_cost(mode, _reserved(fixed, usage, prices, term), f"reserved.{term}")
    if figures.savings_plan_provisioned_percent:
        saving = _lowered(provisioned, figures.savings_plan_provisioned_percent)
        yield fixed_cost(PROVISIONED_SAVING, saving, "savings_plan_provisioned_percent")
    by_request = _paths(usage, *REQUEST_FIGURES)
    yield _whole(ON_DEMAND, on_demand, usage, prices, by_request)
    if figures.savings_plan_on_demand_percent:
        saving = _lowered(on_demand, figures.savings_plan_on_demand_percent)
        yield _whole(ON_DEMAND_SAVING, saving, usage, prices, (*by_request, "savings_plan_on_demand_percent"))


def _whole(mode: str, requests: RequestCosts, usage: TableUse, prices: Prices, paths: tuple[str, ...]) -> ModeCost:
    """A mode's cost, with what costs the same in all modes."""
    free_gb = _free(usage, prices).storage_gb
    of_class = prices.of_class(usage.table_class)
    storage = max(0.0, usage.storage_gb - free_gb) * of_class.storage_gb_month
    storage += usage.replicas * usage.storage_gb * of_class.storage_gb_month
    sent_gb = usage.written_bytes * SECONDS_PER_HOUR * usage.hours * usage.replicas / GB_BYTES
    others = sent_gb * prices.figures.transfer_gb
    for name, amount in usage.extras.items():
        extra = prices.extra_price(name)
        others += max(0.0, amount - extra.free) / extra.quantity * extra.price
    known = [*paths]
    known += _paths(usage, "storage_gb_month") if usage.storage_gb else ()
    known += ["transfer_gb"] if sent_gb else []
    known += [f"extras.{name}" for name in usage.extras]
    return ModeCost(mode, *requests, storage, others, prices.is_unconfirmed(*known))


def _sums(usage: TableUse, units: Callable[[UnitRate], float]) -> UnitSums:
    """Units of all places and Regions. Reads are those of all Regions already."""
    regions = 1 + usage.replicas
    reads = sum(units(place.reads) for place in usage.places)
    of_table = sum(units(place.writes) for place in usage.places if not place.is_index)
    of_indexes = sum(units(place.writes) for place in usage.places if place.is_index)
    if usage.replicas:
        return UnitSums(reads, of_indexes * regions, of_table * regions)
    return UnitSums(reads, of_indexes + of_table, 0.0)


def _provisioned(units: UnitSums, of_class: ClassPrices, usage: TableUse, prices: Prices) -> RequestCosts:
    free = _free(usage, prices)
    reads = max(0.0, units.reads - free.read_units) * of_class.read_unit_hour
    writes = max(0.0, units.writes - free.write_units) * of_class.write_unit_hour
    replicated = units.replicated * of_class.replicated_write_unit_hour
    return reads * usage.hours, (writes + replicated) * usage.hours


def _on_demand(units: UnitSums, of_class: ClassPrices, hours: float) -> RequestCosts:
    seconds = SECONDS_PER_HOUR * hours
    writes = units.writes * of_class.million_writes + units.replicated * of_class.million_replicated_writes
    return units.reads * of_class.million_reads * seconds / MILLION, writes * seconds / MILLION


def _reserved(units: UnitSums, usage: TableUse, prices: Prices, term: str) -> RequestCosts:
    """The cost of as many reserved blocks as are cheapest; units beyond them are not reserved."""
    of_class, blocks, free = prices.figures.standard, prices.figures.reserved[term], _free(usage, prices)

    def cheapest(number: float, unit_hour: float, upfront: float, hour: float) -> float:
        full = number // blocks.block_units
        return min(
            count * (upfront / TERM_HOURS[term] + hour) + max(0.0, number - count * blocks.block_units) * unit_hour
            for count in (0, full, full + 1)
        )

    reads = cheapest(
        max(0.0, units.reads - free.read_units),
        of_class.read_unit_hour, blocks.read_block_upfront, blocks.read_block_hour,
    )  # fmt: skip
    writes = cheapest(
        max(0.0, units.writes - free.write_units),
        of_class.write_unit_hour, blocks.write_block_upfront, blocks.write_block_hour,
    )  # fmt: skip
    replicated = units.replicated * of_class.replicated_write_unit_hour
    return reads * usage.hours, (writes + replicated) * usage.hours


def _lowered(requests: RequestCosts, percent: float) -> RequestCosts:
    reads, writes = requests
    return reads * (1 - percent / 100), writes * (1 - percent / 100)


def _free(usage: TableUse, prices: Prices) -> FreeUse:
    """What is free, which is of the Standard class only."""
    return prices.figures.free if usage.has_free_use and usage.table_class == TABLE_CLASSES[0] else FreeUse()


def _paths(usage: TableUse, *figures: str) -> tuple[str, ...]:
    """The paths in a price table of figures of the table's class; of those about replicas only if there are any."""
    return tuple(f"{usage.table_class}.{one}" for one in figures if usage.replicas or "replicated" not in one)

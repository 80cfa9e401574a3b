"""Which mode fits a table, and why? Costs decide among the modes that bind nobody for years; the shape of the load can
overrule them.

Source of the rules: a load whose peak is more than ten times its average, and a table that is hardly used, fit on
demand; a steady load fits provisioned units.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from hashrange.toolkit.capacity_costs import (
    AUTO_SCALING,
    ON_DEMAND,
    ON_DEMAND_SAVING,
    PROVISIONED,
    RESERVED,
    ModeCost,
    TableUse,
    costs_of,
    rounded,
)
from hashrange.toolkit.prices import TABLE_CLASSES, Prices

PEAK_TO_AVERAGE_MAX = 10
"""With higher peaks than this, units cannot be provided in time."""
SMALL_DIFFERENCE_USD = 5.0
"""Modes whose costs differ by less in a month are as good as one another, so that the one without units wins."""
WRITE_WEIGHT = 5
"""A write unit costs about as much as this many read units, in all modes."""

ByMode = dict[str, ModeCost]


class Recommendation(NamedTuple):
    """A mode, and why."""

    mode: str
    reasons: tuple[str, ...]
    used_percent: float
    """The share of the units that the peak needs which is used on average, weighed by what they cost on demand."""


def told(cost: ModeCost) -> str:
    """A mode's whole cost, in a sentence."""
    return f"{rounded(cost.total):,.2f} USD"


def recommend(usage: TableUse, costs: Sequence[ModeCost], prices: Prices) -> Recommendation:
    """The mode that fits. `costs`: those of all modes."""
    by_mode = {cost.mode: cost for cost in costs}
    ratio = peak_to_average(usage)
    used_percent = _used_percent(by_mode)
    mode = _fitting_mode(ratio, by_mode)
    reasons = (
        *_reasons(mode, ratio, used_percent, by_mode),
        *_about_class(by_mode[mode], usage, prices),
        *_about_commitments(mode, by_mode),
    )
    return Recommendation(mode, reasons, used_percent)


def _fitting_mode(ratio: float, by_mode: ByMode) -> str:
    cheapest = _cheapest(by_mode)
    is_as_good = by_mode[ON_DEMAND].total - cheapest.total < SMALL_DIFFERENCE_USD
    return ON_DEMAND if ratio > PEAK_TO_AVERAGE_MAX or is_as_good else cheapest.mode


def _cheapest(by_mode: ByMode) -> ModeCost:
    """The cheapest of the modes that bind nobody for years."""
    return min((by_mode[mode] for mode in (PROVISIONED, AUTO_SCALING, ON_DEMAND)), key=lambda cost: cost.total)


def _reasons(mode: str, ratio: float, used_percent: float, by_mode: ByMode) -> Iterator[str]:
    provisioned, on_demand, cheapest = by_mode[PROVISIONED], by_mode[ON_DEMAND], _cheapest(by_mode)
    used = (
        f"{used_percent:.1f} % of the units that the peak needs are used on average, and provisioned ones are cheaper"
        f" above {provisioned.break_even_percent or 0:.1f} %."
    )
    if ratio > PEAK_TO_AVERAGE_MAX:
        yield (
            f"The peak is {ratio:,.3g} times the average. Auto scaling takes minutes to follow, so requests would be"
            f" throttled; units for the peak would cost {told(provisioned)}."
        )
    elif mode == cheapest.mode == ON_DEMAND:
        yield f"On demand is cheapest: {used}"
    elif mode == ON_DEMAND:
        yield (
            f"On demand costs {told(on_demand)}, which is at most {SMALL_DIFFERENCE_USD:.0f} USD more than"
            f" {cheapest.mode}, and nobody has to watch units."
        )
    else:
        yield f"{mode.capitalize()} costs {told(cheapest)}, on demand {told(on_demand)}: {used}"
    if mode == PROVISIONED and ratio == 1:
        yield (
            "The load is taken as constant, so the units leave no room for peaks. Give --peak-to-average, or use auto"
            f" scaling, which costs {told(by_mode[AUTO_SCALING])}."
        )
    if mode == AUTO_SCALING:
        yield "Auto scaling follows a load that changes over minutes; sudden peaks are throttled meanwhile."


def peak_to_average(usage: TableUse) -> float:
    """The peak's share of the average, over reads and writes of the table and its indexes; 1 without a load."""
    weighed = [(place.reads, 1) for place in usage.places] + [(place.writes, WRITE_WEIGHT) for place in usage.places]
    average = sum(rate.average * weight for rate, weight in weighed)
    return sum(rate.peak * weight for rate, weight in weighed) / average if average else 1.0


def _used_percent(by_mode: ByMode) -> float:
    """How much of the provisioned units is used, weighed by cost: what is paid on demand of what all would cost."""
    provisioned = by_mode[PROVISIONED]
    if not provisioned.break_even_percent:
        return 0.0
    full = provisioned.requests * 100 / provisioned.break_even_percent
    return 100 * by_mode[ON_DEMAND].requests / full


def _about_class(cost: ModeCost, usage: TableUse, prices: Prices) -> Iterator[str]:
    """What the other table class would save."""
    other = TABLE_CLASSES[usage.table_class == TABLE_CLASSES[0]]
    if other != TABLE_CLASSES[0] and prices.figures.infrequent_access is None:
        return
    [there] = [one for one in costs_of(usage._replace(table_class=other), prices) if one.mode == cost.mode]
    if cost.total - there.total > SMALL_DIFFERENCE_USD:
        yield f"In the table class {other}, it costs {told(there)}."


def _about_commitments(mode: str, by_mode: ByMode) -> Iterator[str]:
    """What a promise for years would save."""
    if mode == ON_DEMAND:
        saving = by_mode.get(ON_DEMAND_SAVING)
        if saving is not None and by_mode[mode].total - saving.total > SMALL_DIFFERENCE_USD:
            yield f"Who commits to this use for a year pays {told(saving)} with a savings plan."
        return
    reserved = [by_mode[name] for name in RESERVED.values() if name in by_mode]
    for cost in reserved:
        if by_mode[mode].total - cost.total > SMALL_DIFFERENCE_USD:
            yield f"If the load stays, units that are reserved for {cost.mode.partition(', ')[2]} cost {told(cost)}."

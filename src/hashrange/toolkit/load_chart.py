"""How do the costs of the modes depend on the load? As lines over the share of the provisioned units that is used, and
as a picture of characters.

Each mode is a straight line: what is paid by unit does not depend on the load, what is paid by request is proportional
to it, and so is what auto scaling provides.
"""

from collections.abc import Sequence
from typing import NamedTuple

from hashrange.toolkit.capacity_advice import Recommendation
from hashrange.toolkit.capacity_costs import (
    AUTO_SCALING,
    ON_DEMAND,
    ON_DEMAND_SAVING,
    PROVISIONED,
    PROVISIONED_SAVING,
    RESERVED,
    ModeCost,
    rounded,
)
from hashrange.toolkit.failures import UsageFault
from hashrange.toolkit.prices import Prices

BY_LOAD = {AUTO_SCALING, ON_DEMAND, ON_DEMAND_SAVING}
"""Modes whose costs depend on the load."""
SYMBOLS = {
    PROVISIONED: "p",
    AUTO_SCALING: "a",
    **{mode: term[0] for term, mode in RESERVED.items()},
    PROVISIONED_SAVING: "q",
    ON_DEMAND: "d",
    ON_DEMAND_SAVING: "e",
}
X_LABEL = "average load, in % of the units that the peak needs"
ROWS = 20
NO_LOAD = "there is no load, so no cost depends on it, and --plot has nothing to draw."


class CostLine(NamedTuple):
    """The monthly cost of a mode in USD, without any load and with all units used."""

    mode: str
    at_none: float
    at_full: float
    now: float

    def at(self, percent: float) -> float:
        """The cost with this share of the units used."""
        return self.at_none + (self.at_full - self.at_none) * percent / 100


class LoadChart(NamedTuple):
    """All that is drawn."""

    title: str
    lines: tuple[CostLine, ...]
    used_percent: float
    """The present load."""

    @property
    def most(self) -> float:
        """The greatest cost."""
        return max(max(line.at_none, line.at_full) for line in self.lines)


def load_chart(costs: Sequence[ModeCost], advice: Recommendation, prices: Prices) -> LoadChart:
    """The chart of these costs. Raises UsageFault if there is no load."""
    if not advice.used_percent:
        raise UsageFault(NO_LOAD)
    lines = []
    for cost in costs:
        fixed = cost.storage + cost.others
        at_full = fixed + cost.requests * 100 / advice.used_percent if cost.mode in BY_LOAD else cost.total
        lines.append(CostLine(cost.mode, fixed if cost.mode in BY_LOAD else cost.total, at_full, cost.total))
    told = prices.told(is_unconfirmed=any(cost.is_unconfirmed for cost in costs))
    return LoadChart(f"Monthly cost in USD by load (prices of {told})", tuple(lines), advice.used_percent)


def drawn(chart: LoadChart, columns: int) -> list[str]:
    """The chart as lines of characters, at most `columns` wide."""
    labels = [f"{chart.most * (ROWS - row) / ROWS:,.0f}" if row % 5 == 0 else "" for row in range(ROWS + 1)]
    margin = max(map(len, labels))
    width = max(columns - margin - 3, 20)
    rows = [[" "] * width for _ in range(ROWS + 1)]
    marked = round(min(chart.used_percent, 100) * (width - 1) / 100)
    for row in rows:
        row[marked] = ":"
    for line in chart.lines:
        for column in range(width):
            usd = line.at(100 * column / (width - 1))
            rows[ROWS - round(ROWS * usd / chart.most)][column] = SYMBOLS[line.mode]
    pictured = [f"{label:>{margin}} |{''.join(row).rstrip()}" for label, row in zip(labels, rows, strict=True)]
    pictured.append(f"{'':{margin}} +{'-' * width}")
    pictured.append(f"{'':{margin}}  0 %{'100 %':>{width - 3}}")
    legend = [f"  {SYMBOLS[line.mode]}  {line.mode}: {rounded(line.now):,.2f}" for line in chart.lines]
    return [chart.title, *pictured, f"  :  {X_LABEL}: {chart.used_percent:.1f} now", *legend]

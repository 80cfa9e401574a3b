"""Is the later commit slower? Medians and quartiles of its ratios to the earlier one, as a table,
and the limits that are exceeded.
"""

import statistics
from collections.abc import Sequence
from typing import NamedTuple

from benchmarks.tables import number, table

PLACES = 2
"""Decimals of a ratio that are compared with its limit: the third is noise."""


class Turn(NamedTuple):
    """CPU µs per unit of both commits, which answered the same requests directly one after the other."""

    before_us: float
    after_us: float


class Compared(NamedTuple):
    """The turns of one workload in one mode, by pair of processes."""

    title: str
    pairs: list[list[Turn]]

    def ratios(self) -> list[float]:
        """Return after / before of each pair."""
        return [middle_mean([turn.after_us / turn.before_us for turn in turns]) for turns in self.pairs]

    def ratio(self) -> float:
        """Return the median ratio over the pairs."""
        return statistics.median(self.ratios())

    def before_us(self) -> float:
        """Return the earlier commit's median over all turns."""
        return statistics.median(turn.before_us for turns in self.pairs for turn in turns)

    def after_us(self) -> float:
        """Return the later commit's median over all turns."""
        return statistics.median(turn.after_us for turns in self.pairs for turn in turns)


class Limits(NamedTuple):
    """The highest ratios allowed for the later commit."""

    ratio_max: float
    mean_ratio_max: float


def middle_mean(ratios: Sequence[float]) -> float:
    """Return the geometric mean of the middle half: outliers do not change it, and it is steadier than the median."""
    aside = len(ratios) // 4
    return statistics.geometric_mean(sorted(ratios)[aside : len(ratios) - aside])


def quartiles(ratios: Sequence[float]) -> tuple[float, float]:
    """Return the first and third quartile; of a single ratio, that ratio twice."""
    if len(ratios) == 1:
        return ratios[0], ratios[0]
    first, _, third = statistics.quantiles(ratios, n=4, method="inclusive")
    return first, third


def mean_ratio(rows: Sequence[Compared]) -> float:
    """Return the geometric mean ratio over the workloads."""
    return statistics.geometric_mean([row.ratio() for row in rows])


def is_beyond(ratio: float, limit: float) -> bool:
    """True if the ratio, rounded to PLACES, exceeds the limit."""
    return round(ratio, PLACES) > limit


def render_comparison(rows: Sequence[Compared], limits: Limits) -> str:
    """Return the table, one line per workload."""
    cells = []
    for row in rows:
        first, third = quartiles(row.ratios())
        beyond = "**yes**" if is_beyond(row.ratio(), limits.ratio_max) else ""
        spread = f"{first:.3f} to {third:.3f}"
        cells.append([row.title, number(row.before_us()), number(row.after_us()), f"{row.ratio():.3f}", spread, beyond])
    return table(["workload", "before µs", "after µs", "after / before", "quartiles of the pairs", "beyond"], cells)


def verdict(rows: Sequence[Compared], limits: Limits) -> tuple[str, bool]:
    """Return the closing sentences, and whether all limits are met."""
    beyond = [row.title for row in rows if is_beyond(row.ratio(), limits.ratio_max)]
    mean = mean_ratio(rows)
    lines = [f"Geometric mean of {len(rows)} ratios: {mean:.3f}; at most {limits.mean_ratio_max:.2f}."]
    if is_beyond(mean, limits.mean_ratio_max):
        lines.append("The mean is beyond its limit.")
    if beyond:
        lines.append(f"Beyond {limits.ratio_max:.2f}: {'; '.join(beyond)}.")
    if len(lines) == 1:
        lines.append(f"No workload is beyond {limits.ratio_max:.2f}.")
    return "\n".join(lines), not beyond and not is_beyond(mean, limits.mean_ratio_max)

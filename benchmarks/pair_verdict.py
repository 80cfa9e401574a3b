"""Is the later commit slower? Medians and quartiles of its ratios to the earlier one, as a table, and what is beyond its limit."""

import statistics
from collections.abc import Sequence
from typing import NamedTuple

from benchmarks.tables import number, table

PLACES = 2
"""Limits are compared with ratios of as many decimals: the third is noise."""


class Turn(NamedTuple):
    """The same requests, answered by both commits one right after the other: CPU µs per unit."""

    before_us: float
    after_us: float


class Compared(NamedTuple):
    """One workload in one mode: its turns, by pair of processes."""

    title: str
    pairs: list[list[Turn]]

    def ratios(self) -> list[float]:
        """After / before, one of each pair."""
        return [middle_mean([turn.after_us / turn.before_us for turn in turns]) for turns in self.pairs]

    def ratio(self) -> float:
        """The median over the pairs."""
        return statistics.median(self.ratios())

    def before_us(self) -> float:
        """The median over all turns."""
        return statistics.median(turn.before_us for turns in self.pairs for turn in turns)

    def after_us(self) -> float:
        """The median over all turns."""
        return statistics.median(turn.after_us for turns in self.pairs for turn in turns)


class Limits(NamedTuple):
    """What is wanted of the later commit."""

    ratio_max: float
    mean_ratio_max: float


def middle_mean(ratios: Sequence[float]) -> float:
    """The geometric mean of the middle half: wild turns do not move it, and it is steadier than the median."""
    aside = len(ratios) // 4
    return statistics.geometric_mean(sorted(ratios)[aside : len(ratios) - aside])


def quartiles(ratios: Sequence[float]) -> tuple[float, float]:
    """The first and the third; of one ratio, that."""
    if len(ratios) == 1:
        return ratios[0], ratios[0]
    first, _, third = statistics.quantiles(ratios, n=4, method="inclusive")
    return first, third


def mean_ratio(rows: Sequence[Compared]) -> float:
    """The geometric mean over the workloads."""
    return statistics.geometric_mean([row.ratio() for row in rows])


def is_beyond(ratio: float, limit: float) -> bool:
    """Is it greater, as far as it can be told?"""
    return round(ratio, PLACES) > limit


def render_comparison(rows: Sequence[Compared], limits: Limits) -> str:
    """The table, one line per workload."""
    cells = []
    for row in rows:
        first, third = quartiles(row.ratios())
        beyond = "**yes**" if is_beyond(row.ratio(), limits.ratio_max) else ""
        spread = f"{first:.3f} to {third:.3f}"
        cells.append([row.title, number(row.before_us()), number(row.after_us()), f"{row.ratio():.3f}", spread, beyond])
    return table(["workload", "before µs", "after µs", "after / before", "quartiles of the pairs", "beyond"], cells)


def verdict(rows: Sequence[Compared], limits: Limits) -> tuple[str, bool]:
    """What is to be said in the end, and whether nothing is beyond its limit."""
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

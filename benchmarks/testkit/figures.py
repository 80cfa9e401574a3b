"""What is a figure of the test kit? The median of repeated measurements, with their range,
and a note if others used the machine.
"""

import statistics
from collections.abc import Sequence
from typing import NamedTuple

from benchmarks.details import OTHERS_LIMIT
from benchmarks.sections import say


class KitFigure(NamedTuple):
    """One measurement, repeated; its unit follows from its name (targets.py)."""

    median: float
    least: float
    greatest: float
    repetitions: int
    other_share: float
    """CPU time of everything else on the machine, as a share of all its cores: the median of the repetitions."""

    @property
    def shared(self) -> str:
        """A mark if others used the machine during the measurement."""
        return f"machine shared ({self.other_share:.0%})" if self.other_share > OTHERS_LIMIT else ""


class Findings:
    """All figures by name, and what could not be measured."""

    def __init__(self) -> None:
        self.figures: dict[str, KitFigure] = {}
        self.skips: dict[str, str] = {}
        """What was not measured → why."""

    def add(self, name: str, values: Sequence[float], other_shares: Sequence[float]) -> None:
        """Add a figure from its repetitions, and print it."""
        median, least, greatest = statistics.median(values), min(values), max(values)
        figure = KitFigure(median, least, greatest, len(values), statistics.median(other_shares))
        self.figures[name] = figure
        say(f"  {name:32}{median:10.2f} ({least:.2f} to {greatest:.2f}, {len(values)} times) {figure.shared}")

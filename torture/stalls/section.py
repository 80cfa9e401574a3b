"""Which kinds are measured? Those asked for, one after another on one pair of servers; each says its figure at once."""

from collections.abc import Callable, Sequence
from pathlib import Path

from torture.figures import StallFigure
from torture.kinds.kind import Kind
from torture.stalls.pair import Pair
from torture.stalls.run import measure

Say = Callable[[str], None]


def run_stalls(folder: Path, kinds: Sequence[Kind], slice_seconds: float, say: Say) -> list[StallFigure]:
    """A figure for each kind, whatever fails."""
    figures = []
    pair = Pair(folder)
    try:
        for number, kind in enumerate(kinds, 1):
            figure = measure(pair, kind, slice_seconds)
            figures.append(figure)
            verdict = "" if figure.is_met else "  BROKEN " + "; ".join(figure.faults)
            say(
                f"{number}/{len(kinds)} {figure.name}: longest wait {figure.max_ms:,.1f} ms, control {figure.control_max_ms:,.1f} ms,"
                f" bound {figure.bound_ms:,.0f} ms; {figure.answer}, {figure.took_ms:,.0f} ms each; {figure.peak_mb:,.0f} MB{verdict}"
            )
    finally:
        pair.stop()
    return figures

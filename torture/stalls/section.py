"""Which kinds are measured? The chosen ones, one after another on one pair of servers;
each figure is printed at once.
"""

import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from benchmarks.client import ReplyError
from torture.figures import StallFigure
from torture.kinds.kind import Kind
from torture.server import Refused
from torture.stalls.pair import Pair
from torture.stalls.run import measure, unmeasured

Say = Callable[[str], None]


def measure_or_tell(pair: Pair, kind: Kind, slice_seconds: float) -> StallFigure:
    """Return the kind's figure; after an error, a figure without measurements, and restart both servers."""
    try:
        return measure(pair, kind, slice_seconds)
    except (RuntimeError, OSError, ReplyError, Refused, subprocess.TimeoutExpired, msgspec.DecodeError) as error:
        ended = pair.probed.process.poll()
        fault = (
            f"could not be measured: {type(error).__name__}: {error}; the server's status {ended}, its last words:"
            f" {pair.probed.last_words()}"
        )
        pair.restart()
        return unmeasured(kind, fault)


def run_stalls(folder: Path, kinds: Sequence[Kind], slice_seconds: float, say: Say) -> list[StallFigure]:
    """Return a figure for each kind, even after errors."""
    figures = []
    pair = Pair(folder)
    try:
        for number, kind in enumerate(kinds, 1):
            figure = measure_or_tell(pair, kind, slice_seconds)
            figures.append(figure)
            verdict = "" if figure.is_met else "  BROKEN " + "; ".join(figure.faults)
            say(
                f"{number}/{len(kinds)} {figure.name}: longest wait {figure.max_ms:,.1f} ms, control"
                f" {figure.control_max_ms:,.1f} ms, bound {figure.bound_ms:,.0f} ms;"
                f" {figure.answer}, {figure.took_ms:,.0f} ms each; {figure.peak_mb:,.0f} MB{verdict}"
            )
    finally:
        pair.stop()
    return figures

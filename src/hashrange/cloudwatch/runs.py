"""How is the same observation kept when it repeats for days? As one run: first and last time, period and value."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from hashrange.cloudwatch.statistic import StatisticSet

RUNS_MAX = 24
"""Runs of one series; when there are more, the shortest one becomes single cells."""
RUN_SAMPLES_MIN = 16
"""A run that has ended with fewer samples becomes single cells, which take less space."""


class SteadyRun(NamedTuple):
    """One observation that was made at `begin_seconds` and every `period_seconds` after that, before `end_seconds`.

    `begin_seconds` and `end_seconds` are multiples of `period_seconds`, and the end is greater.
    """

    begin_seconds: int
    end_seconds: int
    period_seconds: int
    observed: StatisticSet

    @property
    def samples(self) -> int:
        """How often it was observed."""
        return (self.end_seconds - self.begin_seconds) // self.period_seconds

    @property
    def last_seconds(self) -> int:
        """Time of the last observation."""
        return self.end_seconds - self.period_seconds

    def sums(self, begin_seconds: int, end_seconds: int, period_seconds: int) -> Iterator[tuple[int, StatisticSet]]:
        """Number of each period with observations in [begin, end), and all of these observations together.

        Periods begin at `begin_seconds`, with number 0. O(periods).
        """
        at_seconds = max(self.begin_seconds, _next_multiple(begin_seconds, self.period_seconds))
        end_seconds = min(self.end_seconds, end_seconds)
        while at_seconds < end_seconds:
            period = (at_seconds - begin_seconds) // period_seconds
            period_end_seconds = min(begin_seconds + (period + 1) * period_seconds, end_seconds)
            samples = -(-(period_end_seconds - at_seconds) // self.period_seconds)
            yield period, _repeated(self.observed, samples)
            at_seconds += samples * self.period_seconds


def run_of(begin_seconds: float, end_seconds: float, period_seconds: int, observed: StatisticSet) -> SteadyRun | None:
    """The run of the periods that begin in [begin, end), counted since 1970; None if there are none."""
    begin, end = _next_multiple(begin_seconds, period_seconds), _next_multiple(end_seconds, period_seconds)
    return SteadyRun(begin, end, period_seconds, observed) if begin < end else None


def add_run(runs: list[SteadyRun], run: SteadyRun) -> SteadyRun | None:
    """Add a run to those of a series; one that goes on where the last one ends makes that one longer.
    Returns one to be kept as cells instead, if any.
    """
    last = runs[-1] if runs else None
    runs.append(run)
    if last is None:
        return None
    if (last.observed, last.period_seconds, last.end_seconds) == (run.observed, run.period_seconds, run.begin_seconds):
        runs[-2:] = [run._replace(begin_seconds=last.begin_seconds)]
        return None
    if last.samples < RUN_SAMPLES_MIN:
        return runs.pop(-2)
    if len(runs) > RUNS_MAX:
        return runs.pop(min(range(len(runs) - 1), key=lambda place: runs[place].samples))
    return None


StoredRun = tuple[int, int, int, float, float, float, float]
"""A run as numbers."""


def stored_runs(runs: Sequence[SteadyRun]) -> list[StoredRun]:
    """The runs as they are kept."""
    return [(*run[:3], *run.observed) for run in runs]


def read_runs(stored: Sequence[StoredRun]) -> list[SteadyRun]:
    """The runs of `stored_runs`."""
    return [SteadyRun(one[0], one[1], one[2], StatisticSet(*one[3:])) for one in stored]


def _next_multiple(seconds: float, period_seconds: int) -> int:
    """The first multiple of a period that is not less than `seconds`."""
    return int(-(-seconds // period_seconds)) * period_seconds


def _repeated(observed: StatisticSet, times: int) -> StatisticSet:
    if times == 1:
        return observed
    return observed._replace(sample_count=observed.sample_count * times, sum=observed.sum * times)

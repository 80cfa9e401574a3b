"""`python -m benchmarks --pair BEFORE AFTER`: did a change make the server slower?
Two commits answer the same requests in alternation.

A pair is two fresh processes, one of each commit, with the same hash seed. For each workload both answer the same
requests for about a millisecond, in turns: A B, B A, A B, …; the next pair begins with B A. So other load and changes
of the machine's speed affect both commits alike. A turn's figure is the CPU time of the whole process, all threads,
to the nanosecond; a pair's ratio is the mean of the middle half of its turns' ratios; the result is the median over
the pairs. Reads run before writes, so that no read passes over rows that writes left; within both, the order is random,
from a seed. Background merges fall into few turns and do not count; `make bench`, a mean over seconds, includes them.

The servers are driven without sockets (pair_served.py). On two busy cores the ratios of a commit to itself were equally
steady over sockets, but a GetItem took 105 µs of CPU there and 32 µs through the dispatcher alone: two thirds belong
to the kernel, which no commit influences; they would make a change look three times smaller than it is. Turns of 1 ms
are as steady as turns of 4 ms, so turns are short and many; processes of one commit differ by less than 0.5 %,
so more turns help more than more processes.
"""

import argparse
import contextlib
import random
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from benchmarks.client import ReplyError
from benchmarks.generator import LoadFailed
from benchmarks.pair_requests import UNDO, Requests
from benchmarks.pair_served import CONNECTIONS
from benchmarks.pair_side import Side, started
from benchmarks.pair_trees import NotComparable, Tree, checked_out
from benchmarks.pair_verdict import Compared, Limits, Turn, render_comparison, verdict
from benchmarks.processes import choose_cores
from benchmarks.workloads import Paired, Plan, Workload

KINDS = {"memory": "in memory", "disk": "on disk"}
READING = frozenset({"BatchGetItem", "ExecuteStatement", "GetItem", "Query"})
"""Operations that only read; the only statement of the plan is a SELECT."""
REST_SECONDS, REST_SHARE, REST_LOOKS_MAX = 0.6, 0.03, 60
"""A server that uses less than REST_SHARE of a core for REST_SECONDS has finished its background work."""
HASH_SEEDS = 1 << 32
TOO_OLD = "A commit that does not start so, or lacks an operation, is too old for this; --only leaves workloads out."
INTERRUPTED = 130
MEASURING_SHARE = 0.75
"""Share of the time that is spent on measuring; the rest is for starts and loads."""

Sides = tuple[Side, Side]
"""The servers of the earlier and of the later commit."""


class Comparison(NamedTuple):
    """The settings of the comparison from the command line."""

    plan: Plan
    workloads: dict[str, list[Workload]]
    """The workloads by kind of store."""
    pairs: int
    minutes: float
    seed: int
    limits: Limits
    cores: str


def make_comparison(arguments: argparse.Namespace, plan: Plan, only: Sequence[str]) -> Comparison:
    """Return the settings from the command line; raises SystemExit for invalid options."""
    paired = plan.paired
    by_kind = {"memory": paired.memory, "disk": paired.disk}
    known = dict.fromkeys(name for names in by_kind.values() for name in names)
    if unknown := [name for name in only if name not in known]:
        raise SystemExit(f"no such workload with --pair: {', '.join(unknown)}; there are {', '.join(known)}")
    pairs = paired.pairs if arguments.pairs is None else arguments.pairs
    if pairs < 1:
        raise SystemExit("--pairs is at least 1")
    wanted = {kind for kind in KINDS if getattr(arguments, f"ours_{kind}")} or set(KINDS)
    workloads = {
        kind: [plan.named(name) for name in names if not only or name in only]
        for kind, names in by_kind.items()
        if kind in wanted and (not only or set(only) & set(names))
    }
    if not workloads:
        raise SystemExit(f"none of these workloads is measured {' or '.join(KINDS[kind] for kind in wanted)}")
    limits = Limits(
        paired.ratio_max if arguments.at_most is None else arguments.at_most,
        paired.mean_ratio_max if arguments.mean_at_most is None else arguments.mean_at_most,
    )
    plan = msgspec.structs.replace(
        plan, requests_prepared=paired.requests_prepared, table_items=arguments.items or paired.table_items
    )
    seed = 1 if arguments.seed is None else arguments.seed
    minutes = paired.minutes if arguments.minutes is None else arguments.minutes
    return Comparison(plan, workloads, pairs, minutes, seed, limits, choose_cores(not arguments.no_pin).server)


def compare(before: str, after: str | None, comparison: Comparison) -> int:
    """Compare two commits (None: the working tree) and print the result; return 1 beyond a limit, 2 on errors."""
    try:
        with checked_out(before, after) as trees:
            for side, tree in zip(("before", "after"), trees, strict=True):
                print(f"{side:6} {tree.title}", flush=True)
            rows = measure_pairs(trees, comparison)
    except KeyboardInterrupt:
        say("ended early; nothing compared")
        return INTERRUPTED
    except NotComparable as reason:
        say(f"nothing compared: {reason}")
        return 2
    except (LoadFailed, ReplyError) as reason:
        say(f"nothing compared: {reason}\n{TOO_OLD}")
        return 2
    text, is_within = verdict(rows, comparison.limits)
    turns = [len(turns) for row in rows for turns in row.pairs]
    print(f"\n{render_comparison(rows, comparison.limits)}\n")
    print(f"{comparison.pairs} pairs, of {min(turns)} to {max(turns)} turns for each workload.\n{text}")
    return 0 if is_within else 1


def measure_pairs(trees: tuple[Tree, Tree], comparison: Comparison) -> list[Compared]:
    """Measure all pairs, in memory and on disk."""
    rows = {
        (kind, workload.name): Compared(f"{workload.title}; {kind}", [])
        for kind, workloads in comparison.workloads.items()
        for workload in workloads
    }
    shares = Shares(comparison.minutes * 60, comparison.pairs * len(rows))
    with tempfile.TemporaryDirectory(dir=trees[0].sources.parent.parent) as folder:
        requests = Requests(comparison.plan, Path(folder))
        for number in range(comparison.pairs):
            for kind, workloads in comparison.workloads.items():
                with fresh_sides(trees, comparison, kind, number) as sides:
                    for name, turns in measure_pair(sides, requests, comparison, workloads, number, shares):
                        rows[kind, name].pairs.append(turns)
            minutes = shares.used_seconds() / 60
            left = minutes / (number + 1) * (comparison.pairs - number - 1)
            say(f"pair {number + 1} of {comparison.pairs} after {minutes:.1f} minutes, about {left:.1f} to go")
    return list(rows.values())


@contextlib.contextmanager
def fresh_sides(trees: tuple[Tree, Tree], comparison: Comparison, kind: str, number: int) -> Iterator[Sides]:
    """Start new servers of both commits; they are stopped and removed at the end."""
    hash_seed = random.Random(f"{comparison.seed} {number}").randrange(HASH_SEEDS)
    with tempfile.TemporaryDirectory(dir=trees[0].sources.parent.parent) as folder, contextlib.ExitStack() as stack:
        before, after = (
            stack.enter_context(
                started(f"{side} ({tree.title})", tree.sources, Path(folder, side), kind, hash_seed, comparison.cores)
            )
            for side, tree in zip(("before", "after"), trees, strict=True)
        )
        yield before, after


def measure_pair(
    sides: Sides,
    requests: Requests,
    comparison: Comparison,
    workloads: Sequence[Workload],
    number: int,
    shares: "Shares",
) -> Iterator[tuple[str, list[Turn]]]:
    """Return the turns of each workload of one pair, by the workload's name."""
    for indexes in sorted({workload.indexes for workload in workloads}):
        for side in sides:
            requests.fill(side, indexes)
    for workload in workloads:
        for side in sides:
            requests.load(side, workload)
    wait_for_rest(sides)
    for workload in in_random_order(workloads, random.Random(f"{comparison.seed} {number}")):
        for side in sides:
            side.connect()
        turns = take_turns(
            workload, sides, comparison.plan.paired, is_after_first=number % 2 == 1, ends_at=shares.next_ends_at()
        )
        yield workload.name, turns


def wait_for_rest(sides: Sides) -> None:
    """Wait until both servers have finished their background work, or a time limit has passed."""
    for _ in range(REST_LOOKS_MAX):
        used_ns = [side.used_ns() for side in sides]
        time.sleep(REST_SECONDS)
        if all(
            side.used_ns() - before < REST_SECONDS * REST_SHARE * 1e9
            for side, before in zip(sides, used_ns, strict=True)
        ):
            return


def in_random_order(workloads: Sequence[Workload], numbers: random.Random) -> list[Workload]:
    """Return reads, then writes, each in random order."""
    return sorted(numbers.sample(workloads, len(workloads)), key=lambda one: one.operation not in READING)


def orders(turns: int, *, is_after_first: bool) -> Iterator[tuple[int, int]]:
    """Yield the order of the two sides for each turn: before after, after before, …"""
    for turn in range(turns):
        yield (1, 0) if (turn % 2 == 1) is not is_after_first else (0, 1)


class Shares:
    """Divides the time that is left among the workloads of all pairs, so that all finish in time."""

    def __init__(self, seconds: float, count: int) -> None:
        self._began_at = time.monotonic()
        self._ends_at = self._began_at + seconds
        self._left = count

    def used_seconds(self) -> float:
        """Return the seconds since the comparison began."""
        return time.monotonic() - self._began_at

    def next_ends_at(self) -> float:
        """Return when the next workload should end, by the monotonic clock."""
        now = time.monotonic()
        share = (self._ends_at - now) / max(1, self._left) * MEASURING_SHARE
        self._left -= 1
        return now + share


def take_turns(workload: Workload, sides: Sides, paired: Paired, *, is_after_first: bool, ends_at: float) -> list[Turn]:
    """Warm up both sides, then run the same requests on both in turns; after `ends_at` stop at `turns_min`."""
    start, count = warm_up(workload, sides, paired)
    turns = []
    for order in orders(paired.turns, is_after_first=is_after_first):
        figures = [0.0, 0.0]
        for place in order:
            figures[place] = run(workload, sides[place], start, count) / (count * workload.units_per_request)
        turns.append(Turn(figures[0], figures[1]))
        start += count
        if len(turns) >= paired.turns_min and time.monotonic() > ends_at:
            break
    return turns


def warm_up(workload: Workload, sides: Sides, paired: Paired) -> tuple[int, int]:
    """Run without counting for the warm-up time; return the number of the next request and of requests per turn."""
    start, count, used_us = 0, CONNECTIONS, 0.0
    while used_us < paired.warm_up_us:
        run_us = max(min([run(workload, side, start, count) for side in sides]), 1.0)
        start += count
        used_us += run_us
        count = requests_in(paired.turn_us, run_us / count, is_batch=workload.is_per_part)
    return start, count


def requests_in(turn_us: float, request_us: float, *, is_batch: bool) -> int:
    """Requests per turn: whole groups, which share a sync on disk; any number of batches, each a group by itself."""
    count = max(1, round(turn_us / request_us))
    if is_batch and count < CONNECTIONS:
        return count
    return max(1, round(count / CONNECTIONS)) * CONNECTIONS


def run(workload: Workload, side: Side, start: int, count: int) -> float:
    """Return the CPU µs of running these requests; items that they delete are restored afterwards, unmeasured."""
    cpu_ns = side.run(workload.name, start, count)
    if workload.undo:
        side.run(workload.name + UNDO, start, count)
    return cpu_ns / 1000


def say(text: str) -> None:
    """Print progress."""
    print(text, file=sys.stderr, flush=True)

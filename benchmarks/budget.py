"""`python -m benchmarks.budget`: how many bytecode instructions does a request execute, and is that within the budget?

A count has next to no noise, so a few instructions more are seen, where a time has to grow by some per cent. The budget
(`budget.json`) may only be lowered, by `--write`; `--because TEXT` writes a higher one, with the reason. What runs
inside of C is not counted: `--pair` watches that. Counted on CPython 3.11 on Linux; other versions compile differently.

The servers are those of `--pair` (pair_served.py): all requests of a group, from the bytes of a request to the bytes of
its reply. Of several groups the one with the fewest instructions counts, so that what happens once a second does not.
"""

import argparse
import platform
import sys
import tempfile
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from benchmarks.pair import READING
from benchmarks.pair_requests import UNDO, Requests
from benchmarks.pair_served import CONNECTIONS
from benchmarks.pair_side import Side, started
from benchmarks.peers import ROOT
from benchmarks.tables import table
from benchmarks.workloads import Plan, Workload, read_plan

FILE = Path(__file__).with_name("budget.json")
GROUPS, WARM_UP_GROUPS = 12, 12
"""Groups of requests that are counted, and that come before: until then a client is new, and its signer unknown."""
TABLE_ITEMS, REQUESTS = 400, 400
ALLOWED = {"memory": 1.002, "disk": 1.01}
"""A count may be this many times its budget: requests before it fill caches otherwise, and the threads of the disk
answer when they like.
"""

Counts = dict[str, dict[str, int]]
"""Kind of store → workload → instructions of one request."""


class Budget(msgspec.Struct, forbid_unknown_fields=True):
    """The contents of budget.json."""

    memory: dict[str, int] = {}
    disk: dict[str, int] = {}
    raised: list[str] = []
    """Why a figure was raised, oldest first."""

    def of(self, kind: str) -> dict[str, int]:
        """The figures in memory or on disk."""
        return self.memory if kind == "memory" else self.disk


def is_counted_here() -> bool:
    """True on the interpreter and system for which the budget is made."""
    return sys.version_info[:2] == (3, 11) and (platform.python_implementation(), sys.platform) == ("CPython", "linux")


def main(words: Sequence[str] | None = None) -> int:
    """Count, print, and compare; returns 1 if a request takes more than its budget."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.budget", description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="write lower figures into the budget")
    parser.add_argument("--because", metavar="TEXT", help="write higher figures too, and this reason")
    parser.add_argument("--only", metavar="NAME,…", default="", help="only these workloads")
    arguments = parser.parse_args(words)
    if not is_counted_here():
        print("The budget is for CPython 3.11 on Linux; nothing was counted.")
        return 0
    budget, counts = read_budget(), count_all({*arguments.only.split(",")} - {""})
    over = over_budget(budget, counts)
    print(render(budget, counts))
    if arguments.write or arguments.because:
        write_budget(lowered(budget, counts, arguments.because))
    if over and not arguments.because:
        print(f"Over the budget: {', '.join(over)}.")
        return 1
    return 0


def read_budget() -> Budget:
    """Read budget.json."""
    return msgspec.json.decode(FILE.read_bytes(), type=Budget)


def write_budget(budget: Budget) -> None:
    """Write budget.json."""
    FILE.write_bytes(msgspec.json.format(msgspec.json.encode(budget)) + b"\n")


def over_budget(budget: Budget, counts: Counts) -> list[str]:
    """The workloads whose requests take more than their budget, or have none."""
    return [
        f"{name} ({kind})"
        for kind, by_name in counts.items()
        for name, count in by_name.items()
        if count > ALLOWED[kind] * budget.of(kind).get(name, 0)
    ]


def lowered(budget: Budget, counts: Counts, because: str | None) -> Budget:
    """The budget with lower figures; with a reason, with higher ones too."""
    for kind, by_name in counts.items():
        figures = budget.of(kind)
        for name, count in by_name.items():
            figures[name] = count if because else min(count, figures.get(name, count))
    if because:
        budget.raised.append(f"{datetime.now(UTC):%Y-%m-%d}: {because}")
    return budget


def render(budget: Budget, counts: Counts) -> str:
    """The figures as a table."""
    rows = [
        [f"{name}; {kind}", f"{count:,}", f"{budget.of(kind).get(name, 0):,}"]
        for kind, by_name in counts.items()
        for name, count in by_name.items()
    ]
    return table(["instructions of a request", "counted", "budget"], rows)


# --- counting -------------------------------------------------------------------------------------


def count_all(only: set[str]) -> Counts:
    """Count each workload of `--pair`, or only these, in memory and on disk."""
    plan = read_plan()
    paired = plan.paired
    plan = msgspec.structs.replace(plan, table_items=TABLE_ITEMS, requests_prepared=REQUESTS)
    counts: Counts = {}
    with tempfile.TemporaryDirectory() as folder:
        requests = Requests(plan, Path(folder))
        for kind, names in (("memory", paired.memory), ("disk", paired.disk)):
            workloads = [plan.named(name) for name in names if not only or name in only]
            workloads.sort(key=lambda one: one.operation not in READING)
            with started(kind, ROOT / "src", Path(folder, kind), kind, 1, "", counts=True) as side:
                counts[kind] = count_workloads(side, requests, plan, workloads)
    return counts


def count_workloads(side: Side, requests: Requests, plan: Plan, workloads: Sequence[Workload]) -> dict[str, int]:
    """The instructions of a request of each workload."""
    for indexes in sorted({workload.indexes for workload in workloads}):
        requests.fill(side, indexes)
    counted = {}
    for workload in workloads:
        requests.load(side, workload)
        side.connect()
        for group in range(WARM_UP_GROUPS):
            run(side, workload, group, side.run)
        counted[workload.name] = min(
            run(side, workload, group, side.count) for group in range(WARM_UP_GROUPS, WARM_UP_GROUPS + GROUPS)
        )
    return counted


def run(side: Side, workload: Workload, group: int, how: Callable[[str, int, int], int]) -> int:
    """Run one group of requests; return what `how` says of one of them."""
    start = group * CONNECTIONS
    figure = how(workload.name, start, CONNECTIONS) // CONNECTIONS
    if workload.undo:
        side.run(workload.name + UNDO, start, CONNECTIONS)
    return figure


if __name__ == "__main__":
    sys.exit(main())

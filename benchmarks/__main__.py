"""`python -m benchmarks`: which sections run, on which servers?
Reads the command line, runs the sections, prints, and writes the page.
"""

import argparse
import shlex
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

import msgspec

from benchmarks import sections
from benchmarks.estimate import describe, estimate
from benchmarks.generator import NoGenerator, require_generator
from benchmarks.machine import describe_machine
from benchmarks.measure import Pace
from benchmarks.pair import compare, make_comparison
from benchmarks.peers import home
from benchmarks.processes import choose_cores
from benchmarks.report import render
from benchmarks.results import Ledger, Results, RunNote, read_results
from benchmarks.running import remove_leftovers
from benchmarks.sections import Choice, say
from benchmarks.servers import BY_NAME, CONTENDERS, Contender
from benchmarks.workloads import SECTION_NAMES, Plan, read_plan

PAGE = Path(__file__).resolve().parent.parent / "docs" / "benchmarks.md"
REFERENCE = Path(__file__).with_name("reference")
"""Names the quickest commit so far, with which `--pair` compares. It moves only to a quicker one."""
SECONDS, QUICK_SECONDS, SIDE_SECONDS = 3.0, 2.0, 1.0
WARM_UP_SECONDS = 1.0
TINY_SECONDS = 1.0
"""Runs shorter than this only try the harness: they have no warm-up."""
QUICK_BACKFILL_ITEMS = 100_000
QUICK_SECTION_NAMES = ("in-process", "load", "start")
STARTS, TINY_STARTS = 5, 1
NOT_WITH_PAIR = (
    "quick",
    "full",
    "huge",
    "sections",
    "servers",
    "peers",
    "connections",
    "sizes",
    "seconds",
    "install",
    "page",
    "add",
    "render",
)
ONLY_WITH_PAIR = ("pairs", "minutes", "at_most", "mean_at_most", "seed")


def arguments_parser(plan: Plan) -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    names = ", ".join(workload.name for workload in plan.workload if not workload.is_paired_only)
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Measures Hashrange beside dynalite, DynamoDB Local, Dynoxide, MiniStack and moto,"
        " which it installs into .bench/.",
        epilog="Example: python -m benchmarks --quick --ours-disk --only get,put",
    )
    parser.add_argument(
        "--quick", action="store_true", help="a minute or two: ours only, one size, 16 connections; no page"
    )
    parser.add_argument("--full", action="store_true", help=f"also tables of {plan.table_items_full:,} items")
    parser.add_argument(
        "--huge", action="store_true", help=f"also the growth of a table to {plan.table_items_huge:,} items"
    )
    parser.add_argument("--sections", metavar="NAME,…", help=f"only these: {', '.join(SECTION_NAMES)}")
    parser.add_argument("--only", metavar="NAME,…", help=f"only these workloads: {names}")
    parser.add_argument("--servers", metavar="NAME,…", help=f"only these: {', '.join(BY_NAME)}")
    for name in ("ours", "ours-memory", "ours-disk", "peers"):
        parser.add_argument(f"--{name}", action="store_true", help=f"only {name.replace('-', ', ')}; can be combined")
    parser.add_argument("--connections", metavar="N,…", help="connections of the load section")
    parser.add_argument("--sizes", metavar="BYTES,…", help="item sizes of the load section")
    parser.add_argument("--items", type=int, metavar="N", help=f"items in every table [{plan.table_items:,} and more]")
    parser.add_argument("--seconds", type=float, help=f"length of each compared run [{SECONDS:.0f}]")
    parser.add_argument("--no-pin", action="store_true", help="do not hold server and generator to different cores")
    parser.add_argument("--install", action="store_true", help="only install the peers")
    parser.add_argument("--page", action="store_true", help="write the page even of a partial run")
    parser.add_argument(
        "--add", action="store_true", help="write the page of the last run's figures with this run's put in"
    )
    parser.add_argument("--render", action="store_true", help="write the page again from the last run's figures")
    add_pair_options(parser, plan)
    return parser


def add_pair_options(parser: argparse.ArgumentParser, plan: Plan) -> None:
    """Add the options of a comparison of two commits (`--pair`)."""
    paired = plan.paired
    names = ", ".join(dict.fromkeys([*paired.memory, *paired.disk]))
    group = parser.add_argument_group(
        "two commits of this repository",
        "Compares the CPU time per request of BEFORE and of AFTER [the working tree], some eight minutes;"
        " ends with 1 when AFTER is slower than wanted. --only, --ours-memory, --ours-disk, --items and --no-pin"
        f" narrow it. Needs no wrk and no peers. Workloads: {names}. Example: python -m benchmarks --pair"
        " HEAD~1 --only update-2-indexes",
    )
    group.add_argument(
        "--pair",
        nargs="*",
        metavar=("BEFORE", "AFTER"),
        help="compare these two commits, and nothing else; BEFORE [the one that benchmarks/reference names]",
    )
    group.add_argument("--pairs", type=int, metavar="N", help=f"pairs of fresh processes [{paired.pairs}]")
    group.add_argument(
        "--minutes", type=float, metavar="N", help=f"fewer turns where it would last longer [{paired.minutes:g}]"
    )
    group.add_argument(
        "--at-most", type=float, metavar="RATIO", help=f"of each workload, to two decimals [{paired.ratio_max:.2f}]"
    )
    group.add_argument(
        "--mean-at-most",
        type=float,
        metavar="RATIO",
        help=f"of their geometric mean, likewise [{paired.mean_ratio_max:.2f}]",
    )
    group.add_argument("--seed", type=int, metavar="N", help="of the order of workloads and of hashes [1]")


def chosen_contenders(arguments: argparse.Namespace) -> list[Contender]:
    """Return the servers on the command line, else Hashrange with --quick, else all; SystemExit for an unknown name."""
    names = split(arguments.servers)
    if unknown := [name for name in names if name not in BY_NAME]:
        raise SystemExit(f"no such server: {', '.join(unknown)}; there are {', '.join(BY_NAME)}")
    for contender in CONTENDERS:
        kinds = (contender.is_ours and arguments.ours, not contender.is_ours and arguments.peers)
        named = (
            contender.name == "ours-memory" and arguments.ours_memory,
            contender.name == "ours-disk" and arguments.ours_disk,
        )
        if any(kinds) or any(named):
            names.append(contender.name)
    if not names:
        return [contender for contender in CONTENDERS if contender.is_ours or not arguments.quick]
    return [contender for contender in CONTENDERS if contender.name in names]


def split(text: str | None) -> list[str]:
    """Return the parts of a comma-separated list."""
    return [part.strip() for part in text.split(",")] if text else []


def make_choice(arguments: argparse.Namespace, plan: Plan) -> Choice:
    """Return the settings of this run from the command line; raises SystemExit for an unknown workload."""
    names = split(arguments.only)
    offered = [workload for workload in plan.workload if not workload.is_paired_only]
    known = [workload.name for workload in offered]
    if unknown := [name for name in names if name not in known]:
        raise SystemExit(f"no such workload: {', '.join(unknown)}; there are {', '.join(known)}")
    compared = plan.connections_compared
    connections = list(map(int, split(arguments.connections))) or (
        [compared] if arguments.quick else list(plan.connections)
    )
    connections.sort(
        key=lambda count: count != compared
    )  # the compared number first: some tables are measured with it alone
    sizes = list(map(int, split(arguments.sizes))) or (
        [plan.item_bytes[0]] if arguments.quick else list(plan.item_bytes)
    )
    seconds = arguments.seconds or (QUICK_SECONDS if arguments.quick else SECONDS)
    cores = choose_cores(not arguments.no_pin)
    is_tiny = seconds < TINY_SECONDS
    pace = Pace(0 if is_tiny else WARM_UP_SECONDS, seconds, cores, 0 if is_tiny else 1, 0 if is_tiny else 10)
    side_pace = Pace(0, min(seconds, SIDE_SECONDS), cores, pace.compile_share / 2, 0 if is_tiny else 4)
    workloads = [workload for workload in offered if not names or workload.name in names]
    starts = TINY_STARTS if is_tiny else STARTS
    return Choice(
        smaller(plan, arguments),
        chosen_contenders(arguments),
        workloads,
        pace,
        side_pace,
        connections,
        sizes,
        starts,
        arguments.full,
    )


def smaller(plan: Plan, arguments: argparse.Namespace) -> Plan:
    """Return the plan with the table sizes of the command line."""
    footprint, backfill, vectors = plan.footprint, plan.backfill, plan.searched_vectors
    items = arguments.items
    if items:
        footprint = msgspec.structs.replace(footprint, items=items)
        backfill = msgspec.structs.replace(backfill, items=items, items_peers=items)
        vectors = msgspec.structs.replace(vectors, items=items)
    elif arguments.quick:
        backfill = msgspec.structs.replace(backfill, items=QUICK_BACKFILL_ITEMS)
    return msgspec.structs.replace(
        plan,
        table_items=items or plan.table_items,
        footprint=footprint,
        backfill=backfill,
        searched_vectors=vectors,
    )


def section_names(arguments: argparse.Namespace) -> list[str]:
    """Return the names of the chosen sections, else all; raises SystemExit for an unknown one."""
    names = split(arguments.sections) or [*(QUICK_SECTION_NAMES if arguments.quick else SECTION_NAMES)]
    if unknown := [name for name in names if name not in SECTION_NAMES]:
        raise SystemExit(f"no such section: {', '.join(unknown)}; there are {', '.join(SECTION_NAMES)}")
    return names


def run_sections(arguments: argparse.Namespace, choice: Choice, ledger: Ledger) -> None:
    """Run the chosen sections, in the page's order."""
    plan = choice.plan
    names = section_names(arguments)
    if "in-process" in names and any(contender.is_ours for contender in choice.contenders):
        sections.run_in_process(choice, ledger)
    if "load" in names:
        sections.run_load(choice, ledger, plan.table_items)
    for name, run in (
        ("latency", sections.run_latency),
        ("slow-sync", sections.run_slow_sync),
        ("start", sections.run_start),
        ("footprint", sections.run_footprint),
        ("backfill", sections.run_backfill),
        ("searches", sections.run_searches),
    ):
        if name in names:
            run(choice, ledger)
    if arguments.full:
        sections.run_load(choice, ledger, plan.table_items_full)
    if arguments.huge:
        sections.run_growth(choice, ledger, (plan.table_items, plan.table_items_full, plan.table_items_huge))


def installed(contenders: Sequence[Contender], ledger: Ledger) -> list[Contender]:
    """Return the contenders that could be installed, before anything is measured; each other one becomes a Skip."""
    ready = []
    for contender in contenders:
        with sections.skipping(ledger, contender):
            version = contender.version()
            say(f"{contender.title}: {version}")
            ledger.results.versions[contender.title.partition(",")[0]] = version
            ready.append(contender)
    return ready


def run_pair(arguments: argparse.Namespace, plan: Plan) -> int:
    """Compare two commits; raises SystemExit for options that --pair excludes."""
    if len(arguments.pair) > 2:
        raise SystemExit("--pair compares two commits: BEFORE and AFTER")
    if foreign := [name for name in NOT_WITH_PAIR if getattr(arguments, name)]:
        raise SystemExit(f"--pair does not go with --{foreign[0]}")
    before, after = (*(arguments.pair or [REFERENCE.read_text().split()[0]]), None)[:2]
    comparison = make_comparison(arguments, smaller(plan, arguments), split(arguments.only))
    handle_signals()
    remove_leftovers()
    return compare(before, after, comparison)


def check_no_pair_options(arguments: argparse.Namespace) -> None:
    """Raises SystemExit for options that need --pair."""
    if foreign := [name for name in ONLY_WITH_PAIR if getattr(arguments, name) is not None]:
        raise SystemExit(f"--{foreign[0].replace('_', '-')} goes with --pair BEFORE AFTER only")


def is_partial(arguments: argparse.Namespace) -> bool:
    """True if the options leave out parts of the page."""
    narrowing = (
        "quick",
        "sections",
        "only",
        "servers",
        "ours",
        "ours_memory",
        "ours_disk",
        "peers",
        "connections",
        "sizes",
        "items",
    )
    return any(getattr(arguments, name) for name in narrowing)


def open_ledger(arguments: argparse.Namespace, note: RunNote) -> Ledger:
    """Return the ledger for this run: the last run's file with --add, a file of its own for a partial run, else a new
    file.

    Raises SystemExit when the last run's file cannot be read.
    """
    if not (arguments.page or arguments.add) and is_partial(arguments):
        return Ledger(Results([note]), home() / "results-partial.json")
    file = home() / "results.json"
    if arguments.add and file.exists():
        results = read_kept(file)
        results.runs.append(note)
        return Ledger(results, file)
    if file.exists():
        file.replace(home() / "results-before.json")
    return Ledger(Results([note]), file)


def read_kept(file: Path) -> Results:
    """Return the last run's figures; raises SystemExit when there are none, or in another format."""
    try:
        return read_results(file)
    except (OSError, msgspec.DecodeError) as reason:
        raise SystemExit(f"{file.name} holds no figures that can be used: {reason}") from None


def end_orderly(number: int, _frame: FrameType | None) -> None:
    """Turn a signal into an exception, so that servers are stopped on exit."""
    raise SystemExit(128 + number)


def handle_signals() -> None:
    """Install handlers so that signals that end the harness also end its servers."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end_orderly)


def main() -> int:
    """Run; returns the exit status."""
    plan = read_plan()
    arguments = arguments_parser(plan).parse_args()
    if arguments.pair is not None:
        return run_pair(arguments, plan)
    check_no_pair_options(arguments)
    if arguments.render:
        write_page(render(plan, read_kept(home() / "results.json")))
        return 0
    choice = make_choice(arguments, plan)
    names = section_names(arguments)
    try:
        require_generator()
    except NoGenerator as reason:
        say(f"nothing measured: {reason}")
        return 2
    handle_signals()
    remove_leftovers()
    command = shlex.join(["python", "-m", "benchmarks", *sys.argv[1:]])
    note = RunNote(time.strftime("%Y-%m-%d"), command, describe_machine(choice.pace.cores), choice.pace.seconds)
    if arguments.install:
        installed(choice.contenders, Ledger(Results([note]), None))
        return 0
    ledger = open_ledger(arguments, note)
    choice = choice._replace(contenders=installed(choice.contenders, ledger))
    say(describe(estimate(choice, names, full=arguments.full, huge=arguments.huge)))
    try:
        run_sections(arguments, choice, ledger)
    except (KeyboardInterrupt, SystemExit):
        say(f"ended early; what was measured is in {ledger.file}, and --render makes a page of results.json")
        raise
    ledger.save()
    text = render(plan, ledger.results)
    print(text)
    if ledger.file == home() / "results.json":
        write_page(text)
    return 0


def write_page(text: str) -> None:
    """Write docs/benchmarks.md."""
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(text, encoding="utf-8")
    say(f"written: {PAGE}")


if __name__ == "__main__":
    sys.exit(main())

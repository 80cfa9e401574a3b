"""`python -m benchmarks`: which figures are wanted? Reads the command line, runs the sections, prints, and writes the page."""

import argparse
import shlex
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks import sections
from benchmarks.generator import NoGenerator, require_generator
from benchmarks.machine import describe_machine
from benchmarks.measure import Pace
from benchmarks.peers import home
from benchmarks.processes import choose_cores
from benchmarks.report import render
from benchmarks.results import Results, read_results
from benchmarks.sections import Choice, say
from benchmarks.servers import BY_NAME, CONTENDERS, Contender
from benchmarks.workloads import SECTION_NAMES, Plan, read_plan

PAGE = Path(__file__).resolve().parent.parent / "docs" / "benchmarks.md"
FULL_SECONDS, FULL_WARM_UP_SECONDS = 5.0, 2.0
QUICK_SECONDS, QUICK_WARM_UP_SECONDS = 2.0, 1.0


def arguments_parser(plan: Plan) -> argparse.ArgumentParser:
    """The command line."""
    names = ", ".join(workload.name for workload in plan.workload)
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Measures Hashrange beside dynalite, DynamoDB Local and Dynoxide, which it installs into .bench/.",
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
    parser.add_argument("--items", type=int, metavar="N", help=f"items in the table [{plan.table_items:,}]")
    parser.add_argument("--seconds", type=float, help=f"length of each run [{FULL_SECONDS:.0f}]")
    parser.add_argument("--no-pin", action="store_true", help="do not hold server and generator to different cores")
    parser.add_argument("--install", action="store_true", help="only install the peers")
    parser.add_argument("--page", action="store_true", help="write the page even of a partial run")
    parser.add_argument(
        "--add", action="store_true", help="write the page of the last run's figures with this run's put in"
    )
    parser.add_argument("--render", action="store_true", help="write the page again from the last run's figures")
    return parser


def chosen_contenders(arguments: argparse.Namespace) -> list[Contender]:
    """Those named; else ours with --quick, else all. Raises SystemExit for an unknown name."""
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
    """The parts of a list with commas."""
    return [part.strip() for part in text.split(",")] if text else []


def make_choice(arguments: argparse.Namespace, plan: Plan) -> Choice:
    """What the command line asks for; raises SystemExit for an unknown workload."""
    names = split(arguments.only)
    known = [workload.name for workload in plan.workload]
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
    seconds = arguments.seconds or (QUICK_SECONDS if arguments.quick else FULL_SECONDS)
    warm_up_seconds = QUICK_WARM_UP_SECONDS if arguments.quick else FULL_WARM_UP_SECONDS
    pace = Pace(warm_up_seconds, seconds, choose_cores(not arguments.no_pin))
    workloads = [workload for workload in plan.workload if not names or workload.name in names]
    return Choice(plan, chosen_contenders(arguments), workloads, pace, connections, sizes)


def run_sections(arguments: argparse.Namespace, choice: Choice, results: Results) -> None:
    """Everything that was asked for, in the page's order."""
    plan = choice.plan
    quick_names = ("in-process", "load", "start")
    names = split(arguments.sections) or (quick_names if arguments.quick else SECTION_NAMES)
    if unknown := [name for name in names if name not in SECTION_NAMES]:
        raise SystemExit(f"no such section: {', '.join(unknown)}; there are {', '.join(SECTION_NAMES)}")
    if "in-process" in names and any(contender.is_ours for contender in choice.contenders):
        sections.run_in_process(choice, results)
    if "load" in names:
        sections.run_load(choice, results, arguments.items or plan.table_items)
        if arguments.full:
            sections.run_load(choice, results, plan.table_items_full)
    for name, run in (
        ("latency", sections.run_latency),
        ("slow-sync", sections.run_slow_sync),
        ("start", sections.run_start),
        ("footprint", sections.run_footprint),
    ):
        if name in names:
            run(choice, results)
    if arguments.huge:
        sections.run_growth(choice, results, (plan.table_items, plan.table_items_full, plan.table_items_huge))


def installed(contenders: Sequence[Contender], results: Results) -> list[Contender]:
    """Those that are at hand, installed if need be before anything is measured; the others become Skips."""
    ready = []
    for contender in contenders:
        with sections.skipping(results, contender):
            version = contender.version()
            say(f"{contender.title}: {version}")
            results.versions[contender.title.partition(",")[0]] = version
            ready.append(contender)
    return ready


def main() -> int:
    """Run; returns the exit status."""
    plan = read_plan()
    arguments = arguments_parser(plan).parse_args()
    results_file = home() / "results.json"
    if arguments.render:
        write_page(render(plan, read_results(results_file)))
        return 0
    choice = make_choice(arguments, plan)
    try:
        require_generator()
    except NoGenerator as reason:
        say(f"nothing measured: {reason}")
        return 2
    command = shlex.join(["python", "-m", "benchmarks", *sys.argv[1:]])
    results = Results(
        time.strftime("%Y-%m-%d"), describe_machine(choice.pace.cores), command, choice.pace.seconds, versions={}
    )
    choice.contenders = installed(choice.contenders, results)
    if arguments.install:
        return 0
    run_sections(arguments, choice, results)
    if arguments.add:
        results.add_earlier(read_results(results_file))
    text = render(plan, results)
    print(text)
    is_partial = arguments.quick or any((arguments.sections, arguments.only, arguments.servers, arguments.ours, arguments.ours_memory, arguments.ours_disk, arguments.peers))  # fmt: skip
    if arguments.page or arguments.add or not is_partial:
        results.save(results_file)
        write_page(text)
    else:
        results.save(home() / "results-partial.json")
    return 0


def write_page(text: str) -> None:
    """docs/benchmarks.md."""
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(text, encoding="utf-8")
    say(f"written: {PAGE}")


if __name__ == "__main__":
    sys.exit(main())

"""How are the figures of the test kit measured? Each several times, in fresh processes; suites in turn."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from benchmarks.generator import LoadFailed
from benchmarks.peers import NotInstallable
from benchmarks.sections import say, without_paths
from benchmarks.servers import BY_NAME, Contender
from benchmarks.testkit import environments
from benchmarks.testkit.figures import Findings
from benchmarks.testkit.programs import run_module
from benchmarks.testkit.suite_runs import MOTO, OUR_DECORATOR, OURS, Suite, SuiteRun, run_suite, start_cpu_ms
from benchmarks.testkit.targets import FEW_ITEMS, LITTLE, MUCH, fork_name

TRANSPORT_ROUNDS = 9
CONTENT_ROUNDS_FEW, CONTENT_ROUNDS_MANY = 15, 7
STARTS_PER_ROUND, PLUGIN_PAIRS_PER_ROUND = 2, 6


BESIDE: tuple[Contender, ...] = (BY_NAME["dynoxide-memory"], BY_NAME["local-memory"])
"""Servers beside which the suite runs."""


class Extent(NamedTuple):
    """How much is measured."""

    rounds: int
    """Rounds of suites; everything else is repeated in proportion."""
    items_many: int
    """Items of the large database."""
    is_alone: bool = False
    """True to leave out the suites beside other tools."""


@contextmanager
def skipping(findings: Findings, what: str) -> Iterator[None]:
    """Record an error of the body as a reason why `what` was not measured."""
    try:
        yield
    except (NotInstallable, LoadFailed, OSError) as reason:
        say(f"  {what}: skipped: {reason}")
        findings.skips[what] = without_paths(str(reason))


def measure_starts(extent: Extent, findings: Findings) -> None:
    """The first and the following databases of several processes."""
    names = {"import": "import", "first": "first database", "next": "next database", "close": "close"}
    runs = [run_module("starts") for _ in range(extent.rounds * STARTS_PER_ROUND)]
    shares = [share for _, share in runs]
    for of_program, name in names.items():
        findings.add(name, [value for figures, _ in runs for value in figures[of_program]], shares)


def measure_transport(extent: Extent, findings: Findings) -> None:
    """CPU of a GetItem."""
    figures, share = run_module("transport", FEW_ITEMS, max(1, TRANSPORT_ROUNDS * extent.rounds // 5))
    names = {"answer": "get, our part", "client": "get, whole", "canned": "get, without ours"}
    for of_program, name in names.items():
        findings.add(name, figures[of_program], [share])


def measure_contents(extent: Extent, findings: Findings) -> None:
    """Reset, restore and fork of a small and of a large database."""
    for items, much, rounds in (
        (FEW_ITEMS, FEW_ITEMS, CONTENT_ROUNDS_FEW),
        (extent.items_many, min(MUCH, extent.items_many), CONTENT_ROUNDS_MANY),
    ):
        figures, share = run_module("contents", items, LITTLE, much, max(1, rounds * extent.rounds // 5))
        for written in ("little", "much"):
            findings.add(fork_name(items, written), figures[f"fork-{written}"], [share])
        for what in ("restore", "reset"):
            findings.add(f"{what} {items}", figures[what], [share])


def measure_plugin(extent: Extent, findings: Findings) -> None:
    """Runs of pytest with and without the plugin, in pairs, in a suite that does not use it."""
    python = environments.python_with_hashrange()
    with_plugin, without, shares = [], [], []
    for pair in range(1 + extent.rounds * PLUGIN_PAIRS_PER_ROUND):
        ms_with, share = start_cpu_ms(python)
        ms_without, _ = start_cpu_ms(python, "-p", "no:hashrange")
        if pair:  # the first pair compiles, and reads files that are not in the page cache
            with_plugin.append(ms_with)
            without.append(ms_without)
            shares.append(share)
    findings.add("unused plugin", [one - other for one, other in zip(with_plugin, without, strict=True)], shares)
    findings.add("pytest", without, shares)


def suites_of(python: str, extent: Extent, findings: Findings) -> list[tuple[Suite, str]]:
    """The suites with the Python that runs each; one whose tool cannot be installed is skipped."""
    found = [(OURS, python), (OUR_DECORATOR, python)]
    if not extent.is_alone:
        found += [(Suite(one.name, f"{one.title}, started once", "with_server", one), python) for one in BESIDE]
        with skipping(findings, MOTO.title):
            found.append((MOTO, environments.python_with_moto()))
    return found


def measure_suites(extent: Extent, findings: Findings) -> None:
    """The suites in turn, so that other load affects all of them; the first round, which compiles, does not count."""
    chosen = suites_of(environments.python_with_hashrange(), extent, findings)
    runs: dict[str, list[SuiteRun]] = {suite.name: [] for suite, _ in chosen}
    for turn in range(1 + extent.rounds):
        for suite, of_suite in chosen:
            with skipping(findings, suite.title):
                run = run_suite(suite, of_suite)
                if turn:
                    runs[suite.name].append(run)
    for name, of_name in runs.items():
        if of_name:
            shares = [max(0.0, run.ran.other_share - run.server_share) for run in of_name]
            findings.add(f"suite {name}", [run.ran.seconds for run in of_name], shares)
            findings.add(f"suite {name}, tests", [run.tests_seconds for run in of_name], shares)
            findings.add(
                f"suite {name}, CPU", [run.ran.cpu_seconds + run.server_cpu_seconds for run in of_name], shares
            )
            findings.add(f"suite {name}, start", [run.server_ready_seconds for run in of_name], shares)
            whole = [run.server_ready_seconds + run.ran.seconds for run in of_name]
            findings.add(f"suite {name}, with start", whole, shares)


PARTS: dict[str, Callable[[Extent, Findings], None]] = {
    "starts": measure_starts,
    "transport": measure_transport,
    "contents": measure_contents,
    "plugin": measure_plugin,
    "suites": measure_suites,
}

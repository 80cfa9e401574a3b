"""What does the page say of the test kit? Its targets beside the measured figures, the suites,
and what else was measured.
"""

import shlex
import sys
import time
from importlib.metadata import version

from benchmarks.machine import describe_hardware
from benchmarks.servers import CONTENDERS
from benchmarks.tables import DASH, number, table
from benchmarks.testkit import environments
from benchmarks.testkit.figures import Findings, KitFigure
from benchmarks.testkit.suite_runs import MOTO, OUR_DECORATOR, OURS
from benchmarks.testkit.targets import OTHERS, TARGETS, Target

INTRO = (
    "Medians of repeated measurements on the clock, except where CPU is named; in brackets the least and the greatest."
    " Databases are in memory; items have 400 B. Ready: the `with` block begins. A fork is measured until it is ready."
    " Our part of a GetItem: from the request that botocore has prepared to the reply that botocore parses, without"
    " the making of botocore's own reply object; CPU of all threads."
)
SUITE_INTRO = (
    "The same suite of 50 tests: each makes a table, writes ten items and reads ten through boto3, with a client of"
    " its own or, by our fixture, the one of the test before. Seconds on the clock of `pytest` in a new process, from"
    " its start to its end, in turn with the other suites; servers have been started just before, and their start is"
    " shown beside. Hashrange is installed as a package; moto has an environment of its own with"
    " the same boto3 and pytest."
)


def render(findings: Findings) -> str:
    """The whole page."""
    found = findings.figures
    rows = [target_row(target, found) for target in TARGETS if has_figures(target, found)]
    command = shlex.join(["python", "-m", "benchmarks.testkit", *sys.argv[1:]])
    pairs = [(name, version(name)) for name in ("pytest", "boto3")] + [("moto", environments.MOTO.partition("==")[2])]
    head = (
        "# What the test kit costs\n\n"
        f"<!-- Written by `{command}`; do not edit. -->\n\n"
        f"Measured on {time.strftime('%Y-%m-%d')} by `{command}`: {describe_hardware()};"
        f" {', '.join(' '.join(pair) for pair in pairs)}.\n\n{INTRO}"
    )
    targets = table(["target", "wanted", "measured", "met", "", ""], rows) if rows else ""
    missing = "\n".join(f"- Not measured: {what}: {why}" for what, why in findings.skips.items())
    return "\n\n".join(filter(None, [head, targets, suites(found), others(found), missing])) + "\n"


def has_figures(target: Target, found: dict[str, KitFigure]) -> bool:
    """True if what the target is about was measured."""
    return target.figure in found and (target.relative_to is None or target.relative_to in found)


def target_row(target: Target, found: dict[str, KitFigure]) -> list[str]:
    """Return the row of one target, with its range and a mark if others used the machine meanwhile."""
    figure = found[target.figure]
    value, span = figure.median, span_of(figure)
    if target.relative_to is not None:
        value = figure.median / found[target.relative_to].median
        span = f"{seconds(figure.median)} / {seconds(found[target.relative_to].median)} s"
    is_met = "yes" if value <= target.at_most else "**no**"
    unit = f" {target.unit}"
    return [target.title, f"≤ {number(target.at_most)}{unit}", f"{number(value)}{unit}", is_met, span, figure.shared]


def span_of(figure: KitFigure) -> str:
    """Return the range of a figure's repetitions."""
    return f"{number(figure.least)} to {number(figure.greatest)}"


def suites(found: dict[str, KitFigure]) -> str:
    """Return the table of suites."""
    titles = {suite.name: suite.title for suite in (OURS, OUR_DECORATOR, MOTO)}
    titles |= {contender.name: f"{contender.title}, started once" for contender in CONTENDERS}
    rows = []
    for name, title in titles.items():
        whole = found.get(f"suite {name}")
        if whole is not None:
            tests, cpu, start = (found[f"suite {name}, {what}"].median for what in ("tests", "CPU", "start"))
            span = f"{seconds(whole.least)} to {seconds(whole.greatest)}"
            started = seconds(start) if start else DASH
            rows.append([title, seconds(whole.median), span, seconds(tests), seconds(cpu), started, whole.shared])
    if not rows:
        return ""
    columns = ["suite", "whole s", "least to greatest", "tests alone s", "CPU s, with server", "server's start s", ""]
    return f"## A suite of 50 tests\n\n{SUITE_INTRO}\n\n" + table(columns, rows)


def seconds(value: float) -> str:
    """Return seconds with two digits after the point."""
    return f"{value:.2f}"


def others(found: dict[str, KitFigure]) -> str:
    """Return the table of figures without targets."""
    rows = [
        [title, f"{number(found[name].median)} {unit}", span_of(found[name]), found[name].shared]
        for name, (title, unit) in OTHERS.items()
        if name in found
    ]
    return "## Also measured\n\n" + table(["what", "measured", "least to greatest", ""], rows) if rows else ""

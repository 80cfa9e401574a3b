"""What does the page say of triggers? Their targets beside the measured figures, and what else was measured."""

import shlex
import shutil
import sys
import time
from importlib.metadata import version

from benchmarks.machine import describe_hardware
from benchmarks.peers import first_line
from benchmarks.resting import CONNECTIONS, GETS_PER_SECOND, IDLE_SECONDS
from benchmarks.tables import number, table
from benchmarks.testkit.figures import Findings, KitFigure
from benchmarks.testkit.page import span_of
from benchmarks.triggers.measuring import READING_SECONDS, WRITES_PER_ROUND
from benchmarks.triggers.targets import BATCH_RECORDS, MAPPINGS, OTHERS, TARGETS, Target

INTRO = f"""A server of this checkout in a process of its own, asked over sockets; \
handlers in processes, as for users. All processes share the machine's
cores. Figures are medians of repeated measurements. Items have 400 B, streams have both images.

- *From write to handler*: from the reply to PutItem, when the client has it, to the first \
statement of the handler, in an
  environment that has been started; one write at a time, after pauses of 5 to 30 ms. \
The median of {WRITES_PER_ROUND} in each round.
- *Cold start*: from the request Invoke to the first statement of a handler whose process has to be \
started. Its module imports
  `os` and `time`.
- *New code*: a file in the folder of a declared function is written; then from the request Invoke to the first \
statement of the new code.
- *Records a second*: a mapping with batches of {BATCH_RECORDS} begins at a stream in which all records wait; \
from the begin of the first handler to that of the last.
- *Idle*: CPU of the server and of all {MAPPINGS} environments, in {IDLE_SECONDS:.0f} s, after each \
mapping has delivered a record.
- *GetItem*: {GETS_PER_SECOND:,} a second at a fixed rate over {CONNECTIONS} connections, whose latencies count from \
when they were due; {READING_SECONDS:.0f} s
  alone, then {READING_SECONDS:.0f} s beside a mapping that works off what waits, as fast as it can, in turns. \
The ratio is that of each turn. Server
  and handler keep two cores busy; so the generator gets a core at once where the system allows it (`SCHED_RR`), \
and its own waits do not count."""


def render(findings: Findings) -> str:
    """The whole page."""
    found = findings.figures
    command = shlex.join(["python", "-m", "benchmarks.triggers", *sys.argv[1:]])
    rows = [target_row(target, found[target.figure]) for target in TARGETS if target.figure in found]
    others = [
        [title, f"{number(found[name].median)} {unit}", span_of(found[name]), found[name].shared]
        for name, (title, unit) in OTHERS.items()
        if name in found
    ]
    head = (
        "# How quickly functions get stream records\n\n"
        f"<!-- Written by `{command}`; do not edit. -->\n\n"
        f"Measured on {time.strftime('%Y-%m-%d')} by `{command}`: {describe_hardware()};"
        f" Python {sys.version.split()[0]}, Node {node_version()}, boto3 {version('boto3')}.\n\n{INTRO}"
    )
    targets = table(["target", "wanted", "measured", "met", "least to greatest", ""], rows) if rows else ""
    also = "## Also measured\n\n" + table(["what", "measured", "least to greatest", ""], others) if others else ""
    missing = "\n".join(f"- Not measured: {what}: {why}" for what, why in findings.skips.items())
    return "\n\n".join(filter(None, [head, targets, also, missing])) + "\n"


def target_row(target: Target, figure: KitFigure) -> list[str]:
    """The row of one target, with its range and a mark if others used the machine meanwhile."""
    value = figure.median
    is_met = value >= target.bound if target.is_least else value <= target.bound
    wanted = f"{'≥' if target.is_least else '≤'} {number(target.bound)} {target.unit}"
    measured = f"{number(value)} {target.unit}"
    return [target.title, wanted, measured, "yes" if is_met else "**no**", span_of(figure), figure.shared]


def node_version() -> str:
    """Version of Node.js on PATH."""
    node = shutil.which("node")
    return "missing" if node is None else first_line([node, "--version"]).removeprefix("v")

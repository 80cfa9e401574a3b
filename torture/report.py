"""What does the page say? Both tables as Markdown, each with a paragraph about its method and its limits."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.machine import describe_disk, describe_hardware
from benchmarks.servers import our_version
from benchmarks.tables import table
from torture.figures import LARGE_BOUND_MS, SHORT_BOUND_MS, LossFigure, StallFigure
from torture.loss.folders import NOTICE_SECONDS
from torture.stalls.pace import NOMINAL_MS, slowness
from torture.stalls.run import REPLY_SECONDS_MAX, SLICES

MET = {True: "yes", False: "**no**"}

HEAD = """# Reliability

<!-- Written by `make torture ARGS=--write`; do not edit. -->

Does one client hold up the others, and is anything lost that was acknowledged? `make torture` tries both for some \
ten minutes, prints this page,
and fails when a bound is broken. `make test` has a share of it.
"""

STALLS_TEXT = f"""## Hostile clients

A prober asks for a small item on one connection, a millisecond after each reply, while hostile clients send the same \
server the request of their kind
over and over. The control: the same prober on the same server, while the same clients send the same requests to a \
second server of the same machine.
Both are measured in turns ({SLICES} slices of either; one when the first is hopeless). \
What the prober waits longer than beside the control is the server's doing.

- **Longest**, **99.9%**: of the prober's waits, from request to reply; beside the control in the columns after them.
- **Bound**: how much longer than the control's the longest wait may be: {SHORT_BOUND_MS:.0f} ms \
beside requests of up to 1 MB,
  {LARGE_BOUND_MS:.0f} ms beside larger ones (decoded), times how much slower than nominal ({NOMINAL_MS:g} ms) a \
fixed piece of Python work runs right before.
- **Took**: the median of the hostile requests. One that takes {REPLY_SECONDS_MAX:.0f} s is given up, \
its server is killed, and its kind has failed.
- **Memory**: the most that the server held meanwhile.

The servers store on disk and check signatures. What each kind sends stands in `torture/kinds/`.
"""

STALLS_NOT = """Not covered: more hostile clients than named, kinds beside each other, TLS, other tables and indexes \
than plain ones, and waits that many
ordinary clients cause each other (`make bench` has those).
"""

LOSS_TEXT = f"""## Kills, cuts, full and lost folders

Six writers put, update, delete, batch and transact items of their own, and note what was acknowledged. \
Afterwards everything is read consistently
and held against their notes; `hashrange check` reads the folder too.

- **Lost**: acknowledged, and missing or older. **Invented**: there, though never written so, or deleted.
- **kill -9**: at random times; the server starts again on the same folder.
- **Power cuts**: a copy of a killed server's folder whose logs are cut back to the last completed sync, \
or to anywhere after it; or which then ends
  in zeros, as file systems leave it.
- **Full disk**: no file may grow over a limit, until it may again.
- **Lost folders**: renamed or deleted while the server runs. A renamed one comes back and must hold all that was \
acknowledged; {NOTICE_SECONDS:g} s after
  a deletion nothing may be acknowledged any more (each writer of which a write was counts as one lost).
- **Serving after**: the longest time from a start, or from the end of the trouble, to the first answer.
"""

LOSS_NOT = """Not covered: disks that lie about syncs, damage in the midst of files (`hashrange check` finds it; \
a start refuses it only where it reads what is
damaged, and otherwise everything is refused from the first read of it on), and machines that fail for good: \
there is one copy of the data.
"""


class Run(NamedTuple):
    """The conditions of a run."""

    command: str
    machine: str
    slice_seconds: float
    seed: int


def describe_run(folder: Path) -> str:
    """Describe machine, disk and server, without names and dates."""
    return (
        f"{describe_hardware()}; {describe_disk(folder)}; Hashrange {our_version()}; a fixed piece of Python work takes"
        f" {slowness():.1f} times its nominal time"
    )


def render(run: Run, stalls: Sequence[StallFigure], loss: Sequence[LossFigure]) -> str:
    """Return the whole page; a part that was not run is left out."""
    parts = [
        HEAD,
        f"- Command: `{run.command}`; slices of {run.slice_seconds:g} s, seed {run.seed}\n- Machine: {run.machine}\n",
    ]
    if stalls:
        parts += [STALLS_TEXT, summary(stalls), stalls_table(stalls), *faults(stalls), STALLS_NOT]
    if loss:
        parts += [LOSS_TEXT, summary(loss), loss_table(loss), *faults(loss), LOSS_NOT]
    return "\n".join(part.rstrip("\n") + "\n" for part in parts)


def summary(figures: Sequence[StallFigure] | Sequence[LossFigure]) -> str:
    """Return how many figures met their bound."""
    met = sum(figure.is_met for figure in figures)
    return f"{met} of {len(figures)} held.\n"


def stalls_table(figures: Sequence[StallFigure]) -> str:
    """Return the table with one row per kind."""
    columns = [
        "kind", "clients", "on the wire", "decoded", "answer", "took ms", "memory MB",
        "longest ms", "control", "99.9% ms", "control", "bound ms", "held",
    ]  # fmt: skip
    rows = [
        [
            figure.name,
            f"{figure.clients:,}",
            size(figure.wire_bytes),
            size(figure.decoded_bytes),
            figure.answer,
            f"{figure.took_ms:,.0f}",
            f"{figure.peak_mb:,.0f}",
            f"{figure.max_ms:,.1f}",
            f"{figure.control_max_ms:,.1f}",
            f"{figure.p999_ms:,.1f}",
            f"{figure.control_p999_ms:,.1f}",
            f"{figure.bound_ms:,.0f}",
            MET[figure.is_met],
        ]
        for figure in figures
    ]
    return table(columns, rows)


def loss_table(figures: Sequence[LossFigure]) -> str:
    """Return the table with one row per way of losing data."""
    columns = ["what", "rounds", "acknowledged", "lost", "invented", "starts refused", "serving after s", "held"]
    rows = [
        [
            figure.name,
            f"{figure.rounds:,}",
            f"{figure.acknowledged:,}",
            f"{figure.lost:,}",
            f"{figure.invented:,}",
            f"{figure.refused_starts:,}",
            f"{figure.serve_seconds_max:.2f}",
            MET[figure.is_met],
        ]
        for figure in figures
    ]
    return table(columns, rows)


def faults(figures: Sequence[StallFigure] | Sequence[LossFigure]) -> list[str]:
    """Return all faults in words; empty without faults."""
    lines = [f"- {figure.name}: {fault}" for figure in figures for fault in figure.faults]
    return ["What was wrong, beside waits:\n\n" + "\n".join(lines) + "\n"] if lines else []


def size(size_bytes: int) -> str:
    """Return a body's size in B, KB or MB."""
    if size_bytes < 1000:
        return f"{size_bytes} B"
    return f"{size_bytes / 1000:,.0f} KB" if size_bytes < 1_000_000 else f"{size_bytes / 1e6:,.1f} MB"

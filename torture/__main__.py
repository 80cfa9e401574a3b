"""`python -m torture`: which tests of hostile clients and data loss run?
Reads the command line, runs both parts, prints tables, writes the page.
"""

import argparse
import shlex
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from torture.figures import LossFigure, StallFigure
from torture.kinds.kind import Kind
from torture.kinds.table import BY_NAME, KINDS
from torture.loss.section import run_loss
from torture.report import Run, describe_run, render
from torture.server import ROOT
from torture.stalls.section import run_stalls

PAGE = ROOT / "docs" / "reliability.md"
SLICE_SECONDS = 1.5
PARTS = STALLS, LOSS = "stalls", "loss"
NARROWING = ("only", "kinds")
"""Options that leave out parts of the page, so --write excludes them; the page states slice length and rounds."""


def arguments_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m torture",
        description=(
            "Hostile clients beside an ordinary one; kills, power cuts, full disks and lost folders under writers."
        ),
        epilog="Example: python -m torture --only stalls --kinds put-list-800000,query-page --seconds 1",
    )
    parser.add_argument("--only", choices=PARTS, help="one of the two parts")
    parser.add_argument("--kinds", metavar="NAME,…", help=f"only these hostile kinds: {', '.join(BY_NAME)}")
    parser.add_argument("--seconds", type=float, help=f"length of each of the four slices of a kind [{SLICE_SECONDS}]")
    parser.add_argument("--share", type=float, help="of the rounds of the part about loss [1]")
    parser.add_argument("--seed", type=int, default=1, help="of everything random in the part about loss [1]")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.relative_to(ROOT)}; of a whole run only")
    return parser


def chosen_kinds(names: str | None) -> Sequence[Kind]:
    """Return the kinds named on the command line, else all; raises SystemExit for an unknown one."""
    if not names:
        return KINDS
    wanted = [name.strip() for name in names.split(",")]
    if unknown := [name for name in wanted if name not in BY_NAME]:
        raise SystemExit(f"no such kind: {', '.join(unknown)}; there are {', '.join(BY_NAME)}")
    return [BY_NAME[name] for name in wanted]


def end_orderly(number: int, _frame: FrameType | None) -> None:
    """Turn a signal into an exception, so that servers are ended and folders removed on exit."""
    raise SystemExit(128 + number)


def say(text: str) -> None:
    """Print progress."""
    print(text, file=sys.stderr, flush=True)


def main() -> int:
    """Run both parts; return 0 when all bounds were met, else 1."""
    arguments = arguments_parser().parse_args()
    kinds = chosen_kinds(arguments.kinds)
    if arguments.write and any(getattr(arguments, name) is not None for name in NARROWING):
        raise SystemExit("--write needs a whole run: leave out " + ", ".join(f"--{name}" for name in NARROWING))
    if sys.platform != "linux":
        raise SystemExit("the torture reads /proc and limits other processes: it needs Linux")
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end_orderly)
    seconds = arguments.seconds or SLICE_SECONDS
    began = time.perf_counter()
    stalls: list[StallFigure] = []
    loss: list[LossFigure] = []
    with tempfile.TemporaryDirectory(prefix="hashrange-torture-", ignore_cleanup_errors=True) as folder:
        if arguments.only != LOSS:
            stalls = run_stalls(Path(folder), kinds, seconds, say)
        if arguments.only != STALLS and not arguments.kinds:
            loss = run_loss(Path(folder), arguments.seed, arguments.share or 1.0, say)
        command = shlex.join(["python", "-m", "torture", *sys.argv[1:]])
        run = Run(command, describe_run(Path(folder)), seconds, arguments.seed)
    text = render(run, stalls, loss)
    print(text)
    say(f"took {time.perf_counter() - began:.0f} s")
    if arguments.write:
        PAGE.write_text(text, encoding="utf-8")
        say(f"written: {PAGE}")
    return 0 if all(figure.is_met for figure in stalls) and all(figure.is_met for figure in loss) else 1


if __name__ == "__main__":
    sys.exit(main())

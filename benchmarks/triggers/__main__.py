"""`python -m benchmarks.triggers`: which targets do triggers meet? Measures them and prints the page."""

import argparse
import os
import sys
import time

from benchmarks.__main__ import handle_signals
from benchmarks.peers import ROOT
from benchmarks.running import remove_leftovers
from benchmarks.sections import say
from benchmarks.testkit.figures import Findings
from benchmarks.testkit.measuring import skipping
from benchmarks.triggers.measuring import PARTS, Extent
from benchmarks.triggers.page import render

ROUNDS, RECORDS = 5, 60_000
PAGE = ROOT / "docs" / "triggers-speed.md"


def main() -> int:
    """Run; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.triggers", description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"of every part [{ROUNDS}]")
    parser.add_argument("--records", type=int, default=RECORDS, help=f"that a mapping works off [{RECORDS:,}]")
    parser.add_argument("--only", metavar="NAME,…", help=f"only these parts: {', '.join(PARTS)}")
    parser.add_argument("--write", action="store_true", help=f"also write {PAGE.relative_to(ROOT)}; needs all parts")
    arguments = parser.parse_args()
    names = arguments.only.split(",") if arguments.only else [*PARTS]
    if unknown := [name for name in names if name not in PARTS]:
        parser.error(f"no such part: {', '.join(unknown)}; there are {', '.join(PARTS)}")
    if arguments.write and arguments.only:
        parser.error("--write needs all parts")
    handle_signals()
    remove_leftovers()
    extent, findings = Extent(arguments.rounds, arguments.records), Findings()
    began = time.monotonic()
    for name in names:
        say(f"triggers: {name}")
        with skipping(findings, name):
            PARTS[name](extent, findings)
    say(f"measured in {time.monotonic() - began:.0f} s; {os.cpu_count()} cores")
    page = render(findings)
    print(page)
    if arguments.write:
        PAGE.write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""`python -m benchmarks.testkit`: which targets does the test kit meet? Measures them and prints the page."""

import argparse
import os
import sys
import time

from benchmarks.__main__ import handle_signals
from benchmarks.peers import ROOT
from benchmarks.running import remove_leftovers
from benchmarks.sections import say
from benchmarks.testkit.figures import Findings
from benchmarks.testkit.measuring import PARTS, Extent, skipping
from benchmarks.testkit.page import render
from benchmarks.testkit.targets import MANY_ITEMS

ROUNDS = 5
PAGE = ROOT / "docs" / "testing" / "speed.md"


def main() -> int:
    """Run; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.testkit", description=__doc__)
    parser.add_argument(
        "--rounds", type=int, default=ROUNDS, help=f"of suites, and in proportion of the rest [{ROUNDS}]"
    )
    parser.add_argument("--items", type=int, default=MANY_ITEMS, help=f"of the large database [{MANY_ITEMS:,}]")
    parser.add_argument("--ours", action="store_true", help="no suites beside other tools")
    parser.add_argument("--only", metavar="NAME,…", help=f"only these: {', '.join(PARTS)}")
    parser.add_argument("--write", action="store_true", help=f"also write {PAGE.relative_to(ROOT)}; needs all parts")
    arguments = parser.parse_args()
    names = arguments.only.split(",") if arguments.only else [*PARTS]
    if unknown := [name for name in names if name not in PARTS]:
        parser.error(f"no such part: {', '.join(unknown)}; there are {', '.join(PARTS)}")
    if arguments.write and (arguments.only or arguments.ours):
        parser.error("--write needs all parts and all tools")
    handle_signals()
    remove_leftovers()
    extent, findings = Extent(arguments.rounds, arguments.items, is_alone=arguments.ours), Findings()
    began = time.monotonic()
    for name in names:
        say(f"test kit: {name}")
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

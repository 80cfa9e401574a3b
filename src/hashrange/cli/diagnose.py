"""`hashrange diagnose TABLE`: what is wrong with a table, why, and what helps? A checklist of what can be seen from
outside, at any endpoint.
"""

from collections import Counter

from hashrange.cli.capacity_options import SAMPLE_USUAL, number_of
from hashrange.cli.folding import Colour, HeadedLine
from hashrange.cli.main import DONE, count
from hashrange.cli.output import say
from hashrange.cli.parsing import CommandParser, command_parser, parse
from hashrange.cli.tabular import FORMS, add_form, require_form, show_records
from hashrange.cli.target_options import add_target, chosen_target
from hashrange.messages.installing import how_to_install
from hashrange.toolkit.verdict import CheckVerdict, VerdictState

FAULTY = 3
"""Exit code: at least one check has found something."""
DAYS_USUAL, DAYS_MAX = 14, 60
SAMPLE_MAX = 100_000
COLOURS: dict[VerdictState, Colour] = {"found": "red", "ok": "green", "unknown": "yellow"}
EXAMPLE = """example:
  hashrange diagnose Orders
  hashrange diagnose Orders --aws --region eu-west-1 --output json

Reads the table's description, its metrics of the last days, a sample of its items, and what Contributor Insights has \
counted. Changes nothing; the sample takes read units of the table.

The exit code is 3 if something is found, else 0. What cannot be judged is unknown, with the reason.

Needs the extra toolkit: {install}
"""


def run(words: list[str]) -> int:
    """Print the verdict of each check; returns the exit code. Raises UsageError, ToolkitFailure."""
    options = parse(build_parser(), words)
    require_form(options.output)
    sample_max = int(number_of("--sample", options.sample, 0, SAMPLE_MAX, is_whole=True))
    days = number_of("--days", options.days, 1, DAYS_MAX)
    target = chosen_target(options)
    # Imported here: the command's help needs none of it.
    from hashrange.clock import SystemClock
    from hashrange.toolkit.diagnosis import diagnose
    from hashrange.toolkit.diagnosis_evidence import gather_table_evidence

    seen = gather_table_evidence(target, options.table, sample_max, SystemClock.wall_time(), days)
    verdicts = diagnose(seen)
    if options.output == FORMS[0]:
        show_checklist(verdicts)
    else:
        show_records(CheckVerdict._fields, [one._asdict() for one in verdicts], options.output)
    return FAULTY if any(one.state == "found" for one in verdicts) else DONE


def show_checklist(verdicts: list[CheckVerdict]) -> None:
    """Print the verdicts, one in each line, and how many there are."""
    for one in verdicts:
        told = " ".join(filter(None, (one.evidence, one.cause, one.remedy)))
        say(HeadedLine(f"{one.state:<8} {one.check:<15} ", told, one.state, COLOURS[one.state]))
    states = Counter(one.state for one in verdicts)
    say("", f"{count(states['found'], 'finding')}, {states['ok']} ok, {states['unknown']} unknown.")


def build_parser() -> CommandParser:
    """The parser of `hashrange diagnose`."""
    parser = command_parser(
        "diagnose",
        "Tell what is wrong with a table, why, and what helps, as far as it can be seen from outside.",
        EXAMPLE.format(install=how_to_install("toolkit")),
    )
    parser.add_argument("table", metavar="TABLE", help="The table's name.")
    parser.add_argument(
        "--days", metavar="N", default=str(DAYS_USUAL), help=f"Days of metrics to look back. [{DAYS_USUAL}]"
    )
    parser.add_argument(
        "--sample", metavar="N", default=str(SAMPLE_USUAL),
        help=f"Items to read; 0 reads none. [{SAMPLE_USUAL}]",
    )  # fmt: skip
    add_form(parser)
    add_target(parser)
    return parser

"""`hashrange design`: what does a new table look like, in CloudFormation, CDK, Terraform, or as a request? Asks, takes
options, or reads an existing table.
"""

import os
import sys
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from hashrange.cli.main import DONE
from hashrange.cli.output import complain, lines_of, say_unfolded
from hashrange.cli.parsing import CommandParser, UsageError, command_parser, parse
from hashrange.cli.shown_progress import ShownProgress
from hashrange.cli.target_options import add_target, agree, chosen_target
from hashrange.messages.installing import how_to_install

if TYPE_CHECKING:
    from hashrange.toolkit.design_questions import DesignWish
    from hashrange.toolkit.table_design import DesignedCapacity, TableDesign
    from hashrange.toolkit.target import Target

EXAMPLE = """example:
  hashrange design
  hashrange design Orders --partition-key customer --sort-key created:N \\
    --gsi by-status=status/created/keys-only --ttl expires > orders.yaml
  hashrange design --from Orders --output terraform

The first one asks. Keys are strings, unless :N (number) or :B (binary) stands behind the name. An index is written as \
NAME=PARTITION/SORT/PROJECTION; each of its keys may have several attributes, as in \
by-place=country,city/created. The projection is all, keys-only, or include:ATTRIBUTE,ATTRIBUTE. Units are a number, \
or a range of auto scaling with a target in percent, such as 5-100@70; indexes get those of the table.

The text is printed, and nothing is created, except with --apply. Needs the extra toolkit: {install}
"""
OUTPUTS = ("cloudformation", "cdk", "terraform", "json")
BILLINGS = ("on-demand", "provisioned")
UNITS_USUAL = "5"
DESIGN_FLAGS = {
    "sort_key": "--sort-key",
    "billing": "--billing",
    "read": "--read",
    "write": "--write",
    "gsi": "--gsi",
    "lsi": "--lsi",
    "ttl": "--ttl",
    "stream": "--stream",
    "recovery_days": "--recovery-days",
    "is_recoverable": "--point-in-time-recovery",
    "is_deletion_protected": "--deletion-protection",
    "table_class": "--table-class",
    "encryption": "--encryption",
    "tag": "--tag",
}
"""Options that say something of the table, by their places in the parsed options."""


def run(words: list[str]) -> int:
    """Design a table, and print, write or create it; returns the exit code. Raises UsageError, ToolkitFailure."""
    options = parse(build_parser(), words)
    if options.output not in OUTPUTS:
        raise UsageError(f'--output is "{options.output}"; it must be {", ".join(OUTPUTS[:-1])} or {OUTPUTS[-1]}.')
    if options.is_template:
        require_template_alone(options)
        print_or_write(table_template(), options.file)
        return DONE
    if is_asking(options):
        design, options.output, options.file, options.is_applying = asked_wish(options)
    elif options.from_table is not None:
        # Imported here, and below: the command's help needs none of it.
        from hashrange.toolkit.design_reading import read_design

        design = read_design(chosen_target(options), options.from_table, complain)
        design = design._replace(name=options.table or design.name)
    else:
        design = design_of(options)
    fault = design.first_fault()
    if fault is not None:
        raise UsageError(fault)
    hand_out(design, options)
    return DONE


def asked_wish(options: Any) -> "DesignWish":
    """What a person answers. Raises ToolkitFailure."""
    from hashrange.toolkit.design_questions import InterviewDefaults, interview
    from hashrange.toolkit.prompting import GREETING, ask_in_terminal, terminal

    def show(text: str) -> None:
        complain("", *lines_of(text), "")

    with terminal():
        show(GREETING)
        given = InterviewDefaults(options.table or "", options.output, options.file, options.is_applying)
        return interview(ask_in_terminal, show, file_fault, given)


def file_fault(path: str) -> str | None:
    """Why a new file cannot have this name; None: it can."""
    if not path:
        return "needs a name."
    if os.path.lexists(path):
        return "exists already."
    return None if os.path.isdir(os.path.dirname(path) or ".") else "is in a folder that does not exist."


def hand_out(design: "TableDesign", options: Any) -> None:
    """Print or write the design, and create the table if that is wanted. Raises UsageError, ToolkitFailure."""
    from hashrange.toolkit.design_languages import commands_left, write_design

    target = chosen_target(options) if options.is_applying else None  # what is wrong with it is told before the text
    print_or_write(write_design(design, options.output), options.file)
    if target is not None:
        agree(target, f"create the table {design.name}", is_agreed=options.is_agreed)
        create(design, target)
        return
    for command in commands_left(design, options.output):
        complain(f"Once the table is active: {command}")


def create(design: "TableDesign", target: "Target") -> None:
    """Create the table; if that fails after CreateTable, tell what is left to do. Raises ToolkitFailure."""
    from hashrange.toolkit.design_requests import as_command, design_requests
    from hashrange.toolkit.failures import ToolkitFailure
    from hashrange.toolkit.sending import Sender

    progress, requests = ShownProgress(), design_requests(design)
    sender = Sender(target, progress)
    try:
        for request in requests:
            sender.carry_out(request)
    except (ToolkitFailure, KeyboardInterrupt):
        progress.clear()
        if sender.sent:
            complain(f"The table {design.name} has been created.")
            for request in requests[sender.sent :]:
                complain(f"This has not been done. Once the table is active: {as_command(request)}")
        raise
    progress.clear()
    complain(f"The table {design.name} is active.")


def build_parser() -> CommandParser:
    """The parser of `hashrange design`."""
    parser = command_parser(
        "design",
        "Design a table, and write it in the language of your infrastructure.",
        EXAMPLE.format(install=how_to_install("toolkit")),
    )
    parser.add_argument("table", metavar="TABLE", nargs="?", help="Name of the table.")
    parser.add_argument(
        "--partition-key", metavar="NAME[:TYPE]", help="The partition key. Without it, questions are asked."
    )
    parser.add_argument("--sort-key", metavar="NAME[:TYPE]", help="The sort key. [none]")
    parser.add_argument("--billing", metavar="|".join(BILLINGS), help="How requests are paid. [on-demand]")
    for kind in ("read", "write"):
        parser.add_argument(
            f"--{kind}", metavar="UNITS", help=f"Provisioned units of {kind}s, such as 5 or 5-100@70. [{UNITS_USUAL}]"
        )
    parser.add_argument("--gsi", metavar="INDEX", action="append", help="A global secondary index. May be repeated.")
    parser.add_argument(
        "--lsi", metavar="INDEX", action="append", help="A local one, NAME=SORT/PROJECTION. May be repeated."
    )
    parser.add_argument("--ttl", metavar="NAME", help="Attribute with the time at which items expire. [none]")
    parser.add_argument(
        "--stream",
        metavar="VIEW",
        help="What the stream holds: keys-only, new-image, old-image or new-and-old-images. [no stream]",
    )
    parser.add_argument(
        "--point-in-time-recovery",
        dest="is_recoverable",
        action="store_true",
        help="Let the table be restored to any second.",
    )
    parser.add_argument("--recovery-days", metavar="N", help="The same, for this many days. [35]")
    parser.add_argument(
        "--deletion-protection", dest="is_deletion_protected", action="store_true", help="Refuse to delete the table."
    )
    parser.add_argument("--table-class", metavar="standard|infrequent-access", help="The table's class. [standard]")
    parser.add_argument(
        "--encryption", metavar="aws-owned|aws-managed|ARN", help="The key of the encryption. [aws-owned]"
    )
    parser.add_argument("--tag", metavar="KEY=VALUE", action="append", help="A tag. May be repeated.")
    parser.add_argument("--from", dest="from_table", metavar="NAME", help="Write the design of this existing table.")
    parser.add_argument(
        "--template", dest="is_template", action="store_true",
        help="Write a template of CloudFormation with parameters: generic keys, two indexes, auto scaling, alarms.",
    )  # fmt: skip
    parser.add_argument("--output", metavar="|".join(OUTPUTS), default=OUTPUTS[0], help=f"The language. [{OUTPUTS[0]}]")
    parser.add_argument("--file", metavar="FILE", help="Write to this file, which must not exist. [standard output]")
    parser.add_argument("--apply", dest="is_applying", action="store_true", help="Create the table at the endpoint.")
    parser.add_argument(
        "--non-interactive", dest="is_silent", action="store_true", help="Ask nothing: options must say everything."
    )
    add_target(parser, is_changing=True)
    return parser


def require_template_alone(options: Any) -> None:
    """Raise UsageError if other options than `--file` are given with `--template`."""
    others = {"partition_key": "--partition-key", "from_table": "--from", "is_applying": "--apply", **DESIGN_FLAGS}
    given = ["TABLE"] * bool(options.table) + [flag for place, flag in others.items() if getattr(options, place)]
    given += [f"--output {options.output}"] * (options.output != OUTPUTS[0])
    if given:
        raise UsageError(
            f"--template is the same for every table; leave out {given[0]}, and set its parameters instead."
        )


def is_asking(options: Any) -> bool:
    """True if questions are asked. Raises UsageError if options say too little, or nobody can be asked."""
    if options.from_table is not None:
        if not options.from_table:
            raise UsageError("--from needs the name of a table.")
        given = [
            flag
            for place, flag in {"partition_key": "--partition-key", **DESIGN_FLAGS}.items()
            if getattr(options, place)
        ]
        if given:
            raise UsageError(f"--from reads the whole design of a table; leave out {given[0]}.")
        return False
    if options.partition_key is not None:
        if options.table is None:
            raise UsageError("the design needs TABLE, the table's name: hashrange design TABLE --partition-key NAME.")
        return False
    given = [flag for place, flag in DESIGN_FLAGS.items() if getattr(options, place)]
    if given:
        raise UsageError(f"{given[0]} needs --partition-key; without any of these options, questions are asked.")
    if options.is_silent:
        raise UsageError("--non-interactive needs TABLE and --partition-key, or --from.")
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError("there is no terminal to ask in: give TABLE and --partition-key, or --from.")
    return True


def design_of(options: Any) -> "TableDesign":
    """The design that the options give. Raises UsageFault, UsageError."""
    from hashrange.toolkit import design_texts as texts
    from hashrange.toolkit.table_design import AWS_OWNED, RECOVERY_DAYS_MAX, AttributeLetter, TableDesign

    capacity, letters = capacity_of(options), dict[str, AttributeLetter]()
    partition_key = texts.read_key_word(options.partition_key, "--partition-key", letters)
    sort_key = texts.read_key_word(options.sort_key, "--sort-key", letters) if options.sort_key else None
    recovery_days = RECOVERY_DAYS_MAX if options.is_recoverable else None
    if options.recovery_days is not None:
        recovery_days = texts.read_days_word(options.recovery_days, "--recovery-days")
    indexes = [texts.read_global_index(text, "--gsi", letters) for text in options.gsi or ()]
    views, classes = texts.STREAM_VIEWS, texts.TABLE_CLASSES
    return TableDesign(
        name=options.table,
        partition_key=partition_key,
        sort_key=sort_key,
        capacity=capacity,
        global_indexes=tuple(index._replace(capacity=capacity) for index in indexes),
        local_indexes=tuple(texts.read_local_index(text, "--lsi", letters) for text in options.lsi or ()),
        ttl_attribute=options.ttl,
        stream_view=views[texts.read_word(options.stream, "--stream", views)] if options.stream else None,
        recovery_days=recovery_days,
        is_deletion_protected=options.is_deletion_protected,
        table_class=classes[texts.read_word(options.table_class or "standard", "--table-class", classes)],
        encryption=texts.read_encryption(options.encryption, "--encryption") if options.encryption else AWS_OWNED,
        tags=tuple(texts.read_tag_word(text, "--tag") for text in options.tag or ()),
    )


def capacity_of(options: Any) -> "DesignedCapacity | None":
    """The units that the options give; None: on demand. Raises UsageFault, UsageError."""
    from hashrange.toolkit import design_texts as texts
    from hashrange.toolkit.table_design import DesignedCapacity

    units = [flag for flag in ("--read", "--write") if getattr(options, flag[2:]) is not None]
    billing = texts.read_word(options.billing or BILLINGS[bool(units)], "--billing", BILLINGS)
    if billing == BILLINGS[0]:
        if units:
            raise UsageError(f"{units[0]} is for --billing provisioned; on demand, there are no units.")
        return None
    return DesignedCapacity(
        *(texts.read_units_word(getattr(options, kind) or UNITS_USUAL, f"--{kind}") for kind in ("read", "write"))
    )


def table_template() -> str:
    """The template for `--template`."""
    return files("hashrange.toolkit").joinpath("table_template.yaml").read_text(encoding="utf-8")


def print_or_write(text: str, path: str | None) -> None:
    """Print the text, or write it to a file that does not exist yet. Raises UsageError."""
    if path is None:
        say_unfolded(*lines_of(text), is_flushed=True)
        return
    fault = file_fault(path)
    if fault is not None:
        raise UsageError(f"the file {path} {fault} Name another one." if path else "--file needs the name of a file.")
    is_made = False
    try:
        with open(path, "x", encoding="utf-8") as file:
            is_made = True
            file.write(text)
    except OSError as error:
        if is_made:  # a part of the text
            os.remove(path)
        raise UsageError(f"the file {path} cannot be written: {error.strerror}. Name another one.") from None
    complain(f"The design is in {path}.")

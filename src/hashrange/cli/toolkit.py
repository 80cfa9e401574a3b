"""`hashrange toolkit export DIR`: how do scripts, templates and references of the toolkit come into a folder?"""

from hashrange.cli.main import DONE, count
from hashrange.cli.output import complain
from hashrange.cli.parsing import CommandParser, UsageError, command_parser, parse

EXAMPLE = """example:
  hashrange toolkit export ./toolkit

The files are for people and for coding agents: scripts over these commands, a template of CloudFormation, the schema \
of several kinds of items in one table, references, and SKILL.md, which says what each is for.
"""
DEEDS = ("export",)


def run(words: list[str]) -> int:
    """Write the toolkit's files; returns the exit code. Raises UsageError, UsageFault."""
    options = parse(build_parser(), words)
    if options.deed not in DEEDS:
        raise UsageError(f"`hashrange toolkit` does not know {options.deed}; say hashrange toolkit export DIR.")
    # Imported here: the command's help does not need it.
    from hashrange.toolkit.export import export_toolkit

    number = export_toolkit(options.folder, is_overwriting=options.is_overwriting)
    complain(f"{count(number, 'file')} of the toolkit are in {options.folder}. Begin with SKILL.md.")
    return DONE


def build_parser() -> CommandParser:
    """The parser of `hashrange toolkit`."""
    parser = command_parser("toolkit", "Write scripts, templates and references for DynamoDB into a folder.", EXAMPLE)
    parser.add_argument("deed", metavar="export", help="Write the files.")
    parser.add_argument("folder", metavar="DIR", help="The folder, which must be empty or missing.")
    parser.add_argument(
        "--force", dest="is_overwriting", action="store_true",
        help="Write into a folder with other files; only files of the toolkit are overwritten.",
    )  # fmt: skip
    return parser

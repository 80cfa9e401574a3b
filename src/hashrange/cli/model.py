"""`hashrange model FILE`: does a model of tables, items and access patterns do what it says, and what does it cost?
Checks a schema document, runs its access patterns on a server of its own or at an endpoint, and reports.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from hashrange.cli.main import DONE, WRONG_USE, count, refuse
from hashrange.cli.model_report import show_report
from hashrange.cli.parsing import CommandParser, UsageError, command_parser, parse
from hashrange.cli.tabular import add_form, require_form
from hashrange.cli.target_options import add_target, agree, chosen_target
from hashrange.messages.installing import how_to_install
from hashrange.toolkit.target import TargetOptions, find_target

if TYPE_CHECKING:
    from hashrange.toolkit.models.document import SchemaDocument
    from hashrange.toolkit.models.running import ModelRun
    from hashrange.toolkit.target import Target

FOUND = 3
"""Exit code: the model is run, and there is something to tell of its design."""
EXAMPLE = """example:
  hashrange model --init model.json
  hashrange model model.json

Needs the extra toolkit: {install}
"""


def run(words: list[str]) -> int:
    """Check, run and report a model; returns the exit code. Raises UsageError, ToolkitFailure."""
    options = parse(build_parser(), words)
    require_form(options.output)
    # Imported here, and below: the command's help needs none of it.
    from hashrange.toolkit.models.document import read_document
    from hashrange.toolkit.models.faults import document_faults
    from hashrange.toolkit.models.files import read_file
    from hashrange.toolkit.models.lint import find

    document = read_document(read_file(options.file), options.file)
    faults = list(document_faults(document))
    if faults:
        for fault in faults:
            refuse(f"{options.file}: {fault}", WRONG_USE)
        return WRONG_USE
    model_run = run_somewhere(document, options)
    findings = find(document, model_run)
    show_report(document, model_run, findings, options.output)
    return FOUND if any(one.level != "note" for one in findings) else DONE


def run_somewhere(document: "SchemaDocument", options: Any) -> "ModelRun":
    """Run a model on a server of its own, or at the endpoint that is named. Raises ToolkitFailure."""
    from hashrange.toolkit.models.running import run_model

    if not (options.endpoint or options.uses_aws or options.profile):
        if options.is_kept:
            raise UsageError(
                "--keep needs --endpoint, --aws or --profile: the model's own server ends with the command."
            )
        with own_target() as target:
            return run_model(target, document, is_kept=False, waits=False)
    target = chosen_target(options)
    deed = f"create {count(len(document.tables), 'table')} of {document.name}"
    agree(target, deed if options.is_kept else f"{deed}, and delete them at the end", is_agreed=options.is_agreed)
    return run_model(target, document, is_kept=options.is_kept, waits=True)


@contextmanager
def own_target() -> "Iterator[Target]":
    """A server in this process, for the block."""
    from hashrange.settings import Settings
    from hashrange.testing import server

    with server(Settings(data_dir=None, port=0)) as database:
        yield find_target(TargetOptions(endpoint=database.endpoint), {})


def build_parser() -> CommandParser:
    """The parser of `hashrange model`."""
    parser = command_parser(
        "model",
        "Check a model of tables, items and access patterns, run it, and report what it finds and costs.",
        EXAMPLE.format(install=how_to_install("toolkit")),
    )
    parser.add_argument("file", metavar="FILE", help="The schema document, a JSON file.")
    parser.add_argument("--keep", dest="is_kept", action="store_true", help="Leave the tables at the endpoint.")
    add_form(parser)
    add_target(parser, is_changing=True)
    return parser

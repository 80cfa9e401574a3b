"""`hashrange model FILE`: does a model of tables, items and access patterns do what it says, and what does it cost?
Checks a schema document, runs its access patterns on a server of its own or at an endpoint, and reports.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any

from hashrange.cli.main import DONE, WRONG_USE, count, refuse
from hashrange.cli.model_report import show_model
from hashrange.cli.output import complain
from hashrange.cli.parsing import CommandParser, UsageError, command_parser, parse
from hashrange.cli.tabular import add_form, require_form
from hashrange.cli.target_options import add_target, agree, chosen_target
from hashrange.messages.installing import how_to_install

if TYPE_CHECKING:
    from hashrange.toolkit.models.document import SchemaDocument
    from hashrange.toolkit.models.running import ModelRun
    from hashrange.toolkit.target import Target

FOUND = 3
"""Exit code: the model is run, and there is something to mend in its design."""
EXAMPLE = """example:
  hashrange model --init model.json
  hashrange model model.json --html model.html
  hashrange model model.json --endpoint http://localhost:8000 --keep
  hashrange model --from-workbench export.json --init model.json

FILE is a schema document: tables as CreateTable takes them, kinds of items with the templates of their keys, samples, \
and access patterns. The first command writes one to begin with, and beside it the JSON Schema that editors read.

The tables are made on a server of the command's own, in memory, unless --endpoint, --aws or --profile names another \
place; variables do not. There, they are deleted at the end, except with --keep. A table that is there already is \
never touched.

The exit code is 3 if there is something to mend in the design. Needs the extra toolkit: {install}
"""
FAULTS_TOLD_MAX = 100
"""Contradictions of a document that are told at once."""
SCHEMA_ENDING = ".schema.json"
OWN_ENDPOINT = "http://own-server"
"""What the command's own server is called in sentences."""
WORKBENCH_DATE = "%b %d, %Y, %I:%M %p"
"""As NoSQL Workbench writes dates: Nov 30, 2026, 09:05 PM."""


def run(words: list[str]) -> int:
    """Check, run and report a model; returns the exit code. Raises UsageError, ToolkitFailure."""
    options = parse(build_parser(), words)
    require_form(options.output)
    if options.file is not None and (options.new_file or options.workbench_source):
        raise UsageError(f"{'--init' if options.new_file else '--from-workbench'} stands for FILE; leave one out.")
    if options.new_file is not None:
        return write_first(options)
    if options.file is None and options.workbench_source is None:
        raise UsageError("`hashrange model` needs FILE, a schema document; --init FILE writes one to begin with.")
    document = read_model(options)
    if document is None:
        return WRONG_USE
    # Imported here, and below: the command's help needs none of it.
    from hashrange.toolkit.models.drawing import draw_model
    from hashrange.toolkit.models.files import require_new, write_new_file
    from hashrange.toolkit.models.lint import find
    from hashrange.toolkit.prices import read_prices

    prices = read_prices(options.prices, None)
    for path in filter(None, (options.page, options.workbench_target)):
        require_new(path)
    if options.workbench_target is not None:
        write_workbench(document, options.workbench_target)
    model_run = run_somewhere(document, options)
    findings = find(document, model_run)
    show_model(document, model_run, findings, prices, options.output)
    if options.page is not None:
        write_new_file(options.page, draw_model(document, model_run, findings, prices))
        complain(f"The model is drawn in {options.page}.")
    return FOUND if any(one.level != "note" for one in findings) else DONE


def write_first(options: Any) -> int:
    """Write a document, the template or that of a model of NoSQL Workbench, and the JSON Schema beside it; returns the
    exit code. Raises UsageFault.
    """
    from hashrange.toolkit.models.files import (
        document_text,
        read_file,
        require_new,
        schema_text,
        template_text,
        write_new_file,
    )
    from hashrange.toolkit.models.workbench_reading import read_workbench

    path, source = options.new_file, options.workbench_source
    beside = path.removesuffix(".json") + SCHEMA_ENDING
    if source is None:
        text = template_text(beside)
    else:
        text = document_text(read_workbench(read_file(source), source), beside)
    require_new(beside)
    write_new_file(path, text)
    write_new_file(beside, schema_text())
    complain(f"The model is in {path}, and the JSON Schema of models in {beside}.")
    return DONE


def read_model(options: Any) -> "SchemaDocument | None":
    """The document of a file; None if parts of it contradict one another, which has been told then.

    Raises UsageFault.
    """
    from hashrange.toolkit.models.document import parse_document
    from hashrange.toolkit.models.faults import document_faults
    from hashrange.toolkit.models.files import read_file
    from hashrange.toolkit.models.workbench_reading import read_workbench

    path = options.file or options.workbench_source
    read = read_workbench if options.file is None else parse_document
    document = read(read_file(path), path)
    faults = list(islice(document_faults(document), FAULTS_TOLD_MAX + 1))
    for fault in faults[:FAULTS_TOLD_MAX]:
        refuse(f"{path}: {fault}", WRONG_USE)
    if len(faults) > FAULTS_TOLD_MAX:
        refuse(f"{path}: there is more that contradicts itself. Mend these {FAULTS_TOLD_MAX} first.", WRONG_USE)
    return None if faults else document


def write_workbench(document: "SchemaDocument", path: str) -> None:
    """Write a document as a model of NoSQL Workbench, and say what is left out. Raises UsageFault."""
    import json
    from datetime import UTC, datetime

    from hashrange.clock import SystemClock
    from hashrange.toolkit.models.files import write_new_file
    from hashrange.toolkit.models.workbench_writing import left_out, workbench_model

    now = datetime.fromtimestamp(SystemClock().service_time(), UTC)
    model = workbench_model(document, now.strftime(WORKBENCH_DATE))
    write_new_file(path, json.dumps(model, indent=2, ensure_ascii=False) + "\n")
    complain(*left_out(document), f"The model for NoSQL Workbench is in {path}.")


def run_somewhere(document: "SchemaDocument", options: Any) -> "ModelRun":
    """Run a model on a server of its own, or at the endpoint that is named. Raises UsageError, ToolkitFailure."""
    from hashrange.toolkit.models.running import run_model

    if not (options.endpoint or options.uses_aws or options.profile):
        if options.is_kept:
            raise UsageError("--keep needs --endpoint, --aws or --profile: the command's own server ends with it.")
        with own_target() as target:
            return run_model(target, document, is_kept=False, waits=False)
    target = chosen_target(options)
    deed = f"create {count(len(document.tables), 'table')} of {document.name}"
    agree(target, deed if options.is_kept else f"{deed}, to be deleted at the end", is_agreed=options.is_agreed)
    return run_model(target, document, is_kept=options.is_kept, waits=True)


@contextmanager
def own_target() -> "Iterator[Target]":
    """A server in this process, for the block. It makes clients as a session of boto3 does, and answers their requests
    without a port, so neither variables nor profiles matter.
    """
    from hashrange.testing import server
    from hashrange.toolkit.target import LOCAL_REGION, Target

    with server() as database:
        yield Target(database, OWN_ENDPOINT, LOCAL_REGION, ignores_variables=True)


def build_parser() -> CommandParser:
    """The parser of `hashrange model`."""
    parser = command_parser(
        "model",
        "Check a model of tables, items and access patterns, run it, and report what it finds and consumes.",
        EXAMPLE.format(install=how_to_install("toolkit")),
    )
    parser.add_argument("file", metavar="FILE", nargs="?", help="The schema document, a JSON file.")
    parser.add_argument(
        "--init", dest="new_file", metavar="FILE", help="Write a document to begin with, and its JSON Schema."
    )
    parser.add_argument(
        "--from-workbench", dest="workbench_source", metavar="FILE",
        help="Take a model of NoSQL Workbench; with --init, make a document of it.",
    )  # fmt: skip
    parser.add_argument(
        "--to-workbench", dest="workbench_target", metavar="FILE", help="Write the model for NoSQL Workbench, too."
    )
    parser.add_argument("--html", dest="page", metavar="FILE", help="Draw the item collections as an HTML page.")
    parser.add_argument("--keep", dest="is_kept", action="store_true", help="Leave the tables at the endpoint.")
    parser.add_argument(
        "--prices", metavar="DATE", help="Price table, as of `hashrange capacity`, or a file. [the newest]"
    )
    add_form(parser)
    add_target(parser, is_changing=True, endpoint_help="Where the tables are made. [a server of the command's own]")
    return parser

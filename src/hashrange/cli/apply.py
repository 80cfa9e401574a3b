"""`hashrange apply FILE`: which tables does a template want? Creates and changes them at an endpoint, with the
functions, event source mappings, scaling and alarms that belong to them; `--diff` only shows what would be done.
"""

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from hashrange.cli.main import DONE, count
from hashrange.cli.output import complain
from hashrange.cli.parsing import CommandParser, UsageError, command_parser, parse
from hashrange.cli.shown_progress import ShownProgress
from hashrange.cli.tabular import OutputRow, add_form, require_form, show_records
from hashrange.cli.target_options import add_target, agree, chosen_target
from hashrange.messages.installing import how_to_install

if TYPE_CHECKING:
    from hashrange.templates.stack import Locality, Stack
    from hashrange.toolkit.deployment import Compared, Deployment
    from hashrange.toolkit.target import Target

INCOMPLETE = 3
"""Exit code: something of the template is left out, or a table is not touched that would have to be."""
NOT_NEEDED = "it has no effect except at AWS"
UNKNOWN_ACCOUNT = "000000000000"
COLUMNS = ("state", "resource", "request", "change")
EXAMPLE = """example:
  hashrange apply template.yaml --diff
  hashrange apply template.yaml --parameter Environment=dev

FILE is a template of CloudFormation or SAM, the folder cdk.out, or what `terraform show -json PLAN` prints. \
A table is never replaced or deleted: one that the template drops, or gives other keys, is named and stays as it is. \
The exit code is 3 then, and if something of the template is left out.

Needs the extra toolkit: {install}
"""


def run(words: list[str]) -> int:
    """Apply a template, or show the difference; returns the exit code. Raises UsageError, ToolkitFailure."""
    options = parse(build_parser(), words)
    require_form(options.output)
    given = read_parameters(options.parameters)
    stacks = stacks_of(options.file, options.stack_name, given)
    target = chosen_target(options)
    # Imported here: the command's help needs none of it.
    from hashrange.templates.stack import Locality
    from hashrange.templates.texts import TemplateError

    place = Locality(target.account() or UNKNOWN_ACCOUNT, target.region)
    rows: list[OutputRow] = []
    try:
        deployments = deployments_of(stacks, target, place, given, rows)
    except TemplateError as error:
        raise UsageError(f"the template {options.file} cannot be applied: {error}") from None
    compared = [(deployment, deployment.compare()) for deployment in deployments]
    progress = ShownProgress()
    number = sum(len(one.requests) for _, one in compared)
    if number and not options.is_diff:
        agree(target, f"apply {options.file}, {count(number, 'change')}", is_agreed=options.is_agreed)
    for deployment, found in compared:
        if not options.is_diff:
            send_missing(deployment, found, progress)
        rows += rows_of(deployment, found, "to do" if options.is_diff else "done", is_at_aws=target.is_aws)
    show_records(COLUMNS, rows, options.output)
    return INCOMPLETE if any(row["state"] in {"left out", "kept"} for row in rows) else DONE


def send_missing(deployment: "Deployment", compared: "Compared", progress: ShownProgress) -> None:
    """Send what is missing. Raises ToolkitFailure."""
    try:
        deployment.carry_out(compared.requests, progress)
    except KeyboardInterrupt:
        progress.clear()
        complain("Interrupted. What has been begun stands above; the same command does the rest.")
        raise
    finally:
        progress.clear()


def build_parser() -> CommandParser:
    """The parser of `hashrange apply`."""
    parser = command_parser(
        "apply",
        "Create and change tables as a template of CloudFormation, SAM, the CDK or Terraform says.",
        EXAMPLE.format(install=how_to_install("toolkit")),
    )
    parser.add_argument("file", metavar="FILE", help="The template, a file or a cdk.out folder.")
    parser.add_argument("--diff", dest="is_diff", action="store_true", help="Only show what would be done.")
    parser.add_argument(
        "--parameter", dest="parameters", metavar="NAME=VALUE", action="append", default=[],
        help="Value of a parameter of the template; as often as needed.",
    )  # fmt: skip
    parser.add_argument(
        "--stack-name", metavar="NAME",
        help="AWS::StackName, with which names begin that the template does not give. [name of the file]",
    )  # fmt: skip
    add_form(parser)
    add_target(parser, is_changing=True)
    return parser


def read_parameters(words: list[str]) -> dict[str, str]:
    """Name → value of `--parameter NAME=VALUE`. Raises UsageError."""
    found = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not name or not equals:
            raise UsageError(f'--parameter is "{word}"; it must be a name and a value, such as Environment=dev.')
        found[name] = value
    return found


def stacks_of(path: str, name: str | None, given: Mapping[str, str]) -> "list[Stack]":
    """The stacks of a file or folder. Raises UsageError."""
    from hashrange.templates.reading import read_stacks
    from hashrange.templates.texts import TemplateError

    try:
        stacks = read_stacks(path)
    except TemplateError as error:
        raise UsageError(str(error)) from None
    if name is not None:
        if not is_stack_name(name):
            raise UsageError(
                f'--stack-name is "{name}"; it must be a letter and up to 127 letters, digits and hyphens.'
            )
        if len(stacks) > 1:
            raise UsageError(f"--stack-name names one stack, and {path} has {len(stacks)}.")
        stacks = [stacks[0]._replace(name=name)]
    declared = {one for stack in stacks for one in stack.document.get("Parameters") or {}}
    if len(stacks) > 1 and (unknown := sorted(given.keys() - declared)):
        raise UsageError(f"{path}: no stack has a parameter {unknown[0]}.")
    return stacks


def is_stack_name(name: str) -> bool:
    """True if CloudFormation takes a stack of this name."""
    return re.fullmatch("[A-Za-z][A-Za-z0-9-]{0,127}", name) is not None


def deployments_of(
    stacks: "list[Stack]", target: "Target", place: "Locality", given: Mapping[str, str], rows: list[OutputRow]
) -> "list[Deployment]":
    """The deployment of each stack; those bound to other Regions become rows. Raises TemplateError, UsageFault."""
    from hashrange.templates.wanted import wanted_together
    from hashrange.toolkit.deployment import Deployment

    here = [stack for stack in stacks if stack.region in {None, place.region}]
    for stack in stacks:
        if stack.region not in {None, place.region}:
            reason = f"it is for {stack.region}; say --region {stack.region}"
            rows.append(row("left out", f"stack {stack.name}", "", reason))
    return [Deployment(target, place, *one) for one in wanted_together(here, place, given)]


def rows_of(deployment: "Deployment", compared: "Compared", state: str, *, is_at_aws: bool) -> Iterator[OutputRow]:
    """What is told of a stack."""
    for request in compared.requests:
        yield row(state, request.resource, request.operation, request.told)
    for name in compared.unchanged:
        yield row("unchanged", name, "", "")
    for name, reason in compared.kept:
        yield row("kept", name, "", reason)
    for left in deployment.wanted.left_out:
        if left.is_for_aws and not is_at_aws:
            yield row("not needed", left.place, left.what, NOT_NEEDED)
        else:
            yield row("left out", left.place, left.what, left.reason)
    for name, value in deployment.outputs().items():
        yield row("output", name, "", value)


def row(state: str, resource: str, request: str, change: Any) -> OutputRow:
    """One record."""
    return dict(zip(COLUMNS, (state, resource, request, change), strict=True))

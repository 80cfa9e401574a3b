"""How do commands of the toolkit say where they work, and ask before they change AWS? With the same options in every
command: `--endpoint`, `--aws`, `--profile`, `--region`, and `--yes` where something is changed.
"""

import sys
from typing import TYPE_CHECKING, Any

from hashrange.cli.output import complain
from hashrange.cli.parsing import CommandParser
from hashrange.toolkit.failures import ToolkitFailure, UsageFault
from hashrange.toolkit.target import LOCAL_ENDPOINT, TargetOptions, find_target

if TYPE_CHECKING:
    from hashrange.toolkit.target import Target

YES_WORDS = {"y", "yes"}
ENDPOINT_HELP = (
    f"Where the tables are; AWS_ENDPOINT_URL_DYNAMODB and AWS_ENDPOINT_URL are heard too. [{LOCAL_ENDPOINT}]"
)


def add_target(parser: CommandParser, *, is_changing: bool = False, endpoint_help: str = ENDPOINT_HELP) -> None:
    """Let a command take the options of its target. `is_changing`: also `--yes`."""
    parser.add_argument("--endpoint", "--endpoint-url", dest="endpoint", metavar="URL", help=endpoint_help)
    parser.add_argument("--aws", dest="uses_aws", action="store_true", help="Use AWS, not an endpoint.")
    parser.add_argument(
        "--profile", metavar="NAME", help="Use this profile of ~/.aws, and AWS unless an endpoint is named."
    )
    parser.add_argument(
        "--region", metavar="NAME",
        help="Region of the tables; AWS_REGION and AWS_DEFAULT_REGION are heard too. [us-east-1, but none at AWS]",
    )  # fmt: skip
    if is_changing:
        parser.add_argument("--yes", dest="is_agreed", action="store_true", help="Change AWS without asking.")


def chosen_target(options: Any) -> "Target":
    """The target that the options and the environment name; sends nothing. Raises ToolkitFailure."""
    # Imported here: a command's help does not need it, and it loads the server's settings.
    from hashrange.cli.settings_sources import current_environment

    chosen = TargetOptions(options.endpoint, options.uses_aws, options.profile, options.region)
    return find_target(chosen, current_environment())


def agree(target: "Target", deed: str, *, is_agreed: bool) -> None:
    """Print account, Region and endpoint before something is changed, and at AWS ask, unless `is_agreed`.

    `deed`: what is done, such as `create the table Orders`. Raises ToolkitFailure if the answer is not yes, and
    UsageFault if nobody can be asked.
    """
    complain(f"{deed[:1].upper()}{deed[1:]}: {target.told()}.")
    if is_agreed or not target.is_aws:
        return
    if not sys.stdin.isatty():
        raise UsageFault("this changes AWS, and nobody can be asked here. Say --yes, or name another --endpoint.")
    complain("This changes AWS. Type yes to go on:")
    if sys.stdin.readline().strip().lower() not in YES_WORDS:
        raise ToolkitFailure("nothing has been changed, because the answer was not yes.")

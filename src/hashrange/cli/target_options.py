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


def add_target(
    parser: CommandParser,
    *,
    is_changing: bool = False,
    prefix: str = "",
    told: str = "the tables",
    endpoint_help: str | None = None,
) -> None:
    """Let a command take the options of a target. `is_changing`: also `--yes`. `prefix`: of a second target.
    `endpoint_help`: what is said of its endpoint, if no variables name it.
    """
    places = prefix.replace("-", "_")
    parser.add_argument(
        f"--{prefix}endpoint", f"--{prefix}endpoint-url", dest=f"{places}endpoint", metavar="URL",
        help=endpoint_help
        or f"Where {told} are; AWS_ENDPOINT_URL_DYNAMODB and AWS_ENDPOINT_URL are heard too. [{LOCAL_ENDPOINT}]",
    )  # fmt: skip
    parser.add_argument(
        f"--{prefix}aws", dest=f"{places}uses_aws", action="store_true", help="Use AWS, not an endpoint."
    )
    parser.add_argument(
        f"--{prefix}profile", metavar="NAME", help="Use this profile of ~/.aws, and AWS unless an endpoint is named."
    )
    parser.add_argument(
        f"--{prefix}region", metavar="NAME",
        help=f"Region of {told}; AWS_REGION and AWS_DEFAULT_REGION are heard too. [us-east-1, but none at AWS]",
    )  # fmt: skip
    if is_changing:
        parser.add_argument("--yes", dest="is_agreed", action="store_true", help="Change AWS without asking.")


def chosen_target(options: Any, places: str = "") -> "Target":
    """The target that the options and the environment name; sends nothing. Raises ToolkitFailure.

    `places`: with what the names of its options begin, if it is a second target.
    """
    # Imported here: a command's help does not need it, and it loads the server's settings.
    from hashrange.cli.settings_sources import current_environment

    endpoint, uses_aws, profile, region = (
        getattr(options, places + name) for name in ("endpoint", "uses_aws", "profile", "region")
    )
    chosen = TargetOptions(endpoint, uses_aws, profile, region, flags=f"--{places.replace('_', '-')}")
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

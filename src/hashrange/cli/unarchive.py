"""`hashrange unarchive BUCKET TABLE`: which expired items can come back from S3?
Shows what it would write into the table, and writes it with `--write`.
"""

import re
import sys
from collections import Counter
from collections.abc import Generator, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from hashrange.cli.main import DONE, FAILED, count, refuse
from hashrange.cli.output import complain, say, show_progress
from hashrange.cli.parsing import CommandParser, UsageError, command_parser, parse
from hashrange.cli.remote import (
    DEFAULT_REGION,
    PLACEHOLDER_KEY,
    Remote,
    RemoteError,
    add_endpoint,
    chosen_region,
    endpoint_of,
    require_endpoint,
)
from hashrange.cli.settings_sources import current_environment
from hashrange.messages.installing import how_to_install
from hashrange.toolkit.bounded_clients import bound_replies

if TYPE_CHECKING:
    from hashrange.cli.archived_items import ArchiveStore, Aws, Result, Selection, TargetTable, TimeToLiveChoice

EXAMPLE = """example:
  hashrange unarchive archive orders --type Order
  hashrange unarchive archive orders --type Order --expires-in 30d --write

Objects are those that the trigger hashrange.archive.trigger has written (docs/archive.md). The first command writes \
nothing. An item
that is in the table now is never replaced, except with --replace. The exit code is 1 if objects cannot be used.

S3 is reached at the same endpoint, or at AWS if that is AWS's, unless --s3-endpoint or AWS_ENDPOINT_URL_S3 names \
another.

Needs the extra s3: {install}
"""
MISSING = "S3 and DynamoDB are called by boto3, which is not installed. Install it: {install}."
OLD = "the installed boto3 cannot be used ({reason}). Install another: {install}."
UNITS_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
LINES_TOLD = 20
THREADS = 8
"""Objects that are read at the same time: at AWS each takes some ten milliseconds."""
SAYINGS = {
    "new": "the table has no item with this key",
    "identical": "the item is in the table; when it expires does not count",
    "different": "another item with this key is in the table",
    "written": "the item has been put into the table",
    "replaced": "the item has replaced another",
    "unusable": "the object is no archived item of this table, or cannot be read or written",
}
"""What the states of `ArchivedState` mean, for the summary."""


def run(words: list[str]) -> int:
    """Show or write the items of an archive; returns the exit code. Raises UsageError, AwsFailure."""
    options = parse(build_parser(), words)
    require_sound(options)
    environment = current_environment()
    endpoint, region = endpoint_of(options.endpoint, environment), chosen_region(options.region, environment)
    if find_spec("boto3") is None:
        return refuse(MISSING.format(install=how_to_install("s3")), FAILED)
    # Imported here: the command's help needs none of it.
    from hashrange.cli.archived_items import ArchiveStore, Selection, TargetTable

    dynamodb, s3 = clients_of(endpoint, options.s3_endpoint, region, environment)
    table = TargetTable(dynamodb, options.table, service_time(endpoint, region, environment))
    choice = choice_of(options, table)
    if options.partition_key_prefix and "B" in list(table.key_types.values())[:1]:
        raise UsageError(f"--key-prefix is for strings and numbers; the partition key of {table.name} is binary.")
    selection = Selection(
        options.origin_table or table.name,
        options.partition_key_prefix,
        choice,
        is_writing=options.is_writing,
        is_replacing=options.is_replacing,
    )
    archive = ArchiveStore(s3, options.bucket, options.prefix)
    with closing(results(archive, table, selection, options.item_type)) as found:
        return tell(found, table, selection, options)


def build_parser() -> CommandParser:
    """The parser of `hashrange unarchive`."""
    parser = command_parser(
        "unarchive",
        "Bring items back from S3 that had expired, or show which.",
        EXAMPLE.format(install=how_to_install("s3")),
    )
    parser.add_argument("bucket", metavar="BUCKET", help="Name of the bucket.")
    parser.add_argument("table", metavar="TABLE", help="Name of the table into which the items come.")
    parser.add_argument("--type", dest="item_type", metavar="NAME", help="Only items of this type. [all types]")
    parser.add_argument(
        "--key-prefix", dest="partition_key_prefix", metavar="TEXT", default="",
        help="Only items whose partition key begins with this text.",
    )  # fmt: skip
    parser.add_argument(
        "--write", dest="is_writing", action="store_true", help="Write the items that are new. Without it, nothing is."
    )
    parser.add_argument(
        "--replace", dest="is_replacing", action="store_true",
        help="With --write, also replace items that are in the table and differ. Needs --type.",
    )  # fmt: skip
    parser.add_argument(
        "--remove-ttl", dest="removes_ttl", action="store_true",
        help="Leave out the attribute by which the items expire, so that they stay.",
    )  # fmt: skip
    parser.add_argument(
        "--expires-in", metavar="TIME", help="Let the items expire after this time, such as 12h or 30d."
    )
    parser.add_argument(
        "--keep-ttl", dest="keeps_ttl", action="store_true",
        help="Leave the attribute as it was: expired items expire again within seconds or, at AWS, days.",
    )  # fmt: skip
    parser.add_argument(
        "--from-table", dest="origin_table", metavar="NAME", help="Table that the items were deleted from. [TABLE]"
    )
    parser.add_argument(
        "--prefix", metavar="TEXT", default="archive/", help="ARCHIVE_PREFIX of the trigger. [archive/]"
    )
    parser.add_argument(
        "--lines", metavar="N", default=str(LINES_TOLD),
        help=f"Show at most this many objects of which the same is so. [{LINES_TOLD}]",
    )  # fmt: skip
    add_endpoint(parser)
    parser.add_argument("--s3-endpoint", metavar="URL", help="Where S3 is, if it is not at the endpoint.")
    parser.add_argument(
        "--region", metavar="NAME",
        help=f"Region of table and bucket; AWS_REGION and AWS_DEFAULT_REGION are heard too. [{DEFAULT_REGION}]",
    )  # fmt: skip
    return parser


# --- options ----------------------------------------------------------------------------------------


def require_sound(options: Any) -> None:
    """Raise UsageError for the first option that cannot be used."""
    from hashrange.archive.objects import prefix_fault

    for value in vars(options).values():
        if isinstance(value, str) and "\udc80" <= max(value, default="") <= "\udcff":
            raise UsageError(f'"{value}" holds bytes that are no UTF-8.')
    fault = prefix_fault(options.prefix)
    if fault is not None:
        raise UsageError(f'--prefix is "{options.prefix}"; it {fault}.')
    if not re.fullmatch("[0-9]{1,9}", options.lines, re.ASCII):
        raise UsageError(f'--lines is "{options.lines}"; it must be a number.')
    if options.is_replacing and options.item_type is None:
        raise UsageError("--replace needs --type: one item may have been archived as several types, one after another.")
    if options.removes_ttl + options.keeps_ttl + (options.expires_in is not None) > 1:
        raise UsageError("--remove-ttl, --expires-in and --keep-ttl exclude one another.")
    if options.expires_in is not None:
        read_duration(options.expires_in)


def read_duration(text: str) -> int:
    """The seconds in `30d`. Raises UsageError."""
    match = re.fullmatch(r"([1-9][0-9]{0,5})([smhd])", text, re.ASCII)
    if match is None:
        raise UsageError(f'--expires-in is "{text}"; it must be a number with s, m, h or d behind it, such as 30d.')
    return int(match[1]) * UNITS_SECONDS[match[2]]


def choice_of(options: Any, table: "TargetTable") -> "TimeToLiveChoice":
    """What becomes of the attribute of time to live. Raises UsageError if it has to be said, or cannot be done."""
    from hashrange.cli.archived_items import TimeToLiveChoice

    attribute = table.time_to_live_attribute
    is_changing = options.removes_ttl or options.expires_in is not None
    if attribute is None:
        if is_changing:
            raise UsageError(
                f"time to live is off in table {table.name}: no item expires, and no attribute is known to be changed."
                " Leave out --remove-ttl and --expires-in."
            )
        return TimeToLiveChoice(None)
    if is_changing and attribute in table.key_types:
        raise UsageError(
            f"items of table {table.name} expire by {attribute}, which is part of their key: it must stay."
        )
    if options.is_writing and not is_changing and not options.keeps_ttl:
        raise UsageError(
            f"items of table {table.name} expire by {attribute}, and what has expired would be deleted again."
            " Say --remove-ttl, --expires-in 30d, or --keep-ttl."
        )
    if options.expires_in is not None:
        return TimeToLiveChoice(attribute, int(table.now_seconds) + read_duration(options.expires_in))
    return TimeToLiveChoice(attribute if options.removes_ttl else None)


def clients_of(endpoint: str, s3_option: str | None, region: str, environment: Mapping[str, str]) -> "tuple[Aws, Aws]":
    """Clients of DynamoDB and S3. A server that is not AWS's gets the keys of the environment or made-up ones, as from
    other commands; all others get the keys of AWS's usual places. Raises UsageError.
    """
    from hashrange.cli.archived_items import Aws

    domain = aws_domain(endpoint)
    s3_endpoint = f"https://s3.{region}.{domain}" if domain else endpoint
    for source, url in (("AWS_ENDPOINT_URL_S3", environment.get("AWS_ENDPOINT_URL_S3")), ("--s3-endpoint", s3_option)):
        if url:
            require_endpoint(url, source)
            s3_endpoint = url.removesuffix("/")
    keys = {} if environment.get("AWS_ACCESS_KEY_ID") else made_up_keys()
    return (
        Aws(make_client("dynamodb", endpoint, region, {} if domain else keys), f"DynamoDB at {endpoint}"),
        Aws(make_client("s3", s3_endpoint, region, keys if s3_endpoint == endpoint else {}), f"S3 at {s3_endpoint}"),
    )


def service_time(endpoint: str, region: str, environment: Mapping[str, str]) -> float | None:
    """The time of a server with an admin API, which may have been moved, in seconds since the epoch; None of others."""
    if aws_domain(endpoint):
        return None
    try:
        with Remote(endpoint, region, environment) as server:
            moment: float = server.operate("GET", "info")["service_time"]
            return moment
    except RemoteError:
        return None


def made_up_keys() -> dict[str, str]:
    """Keys that a server without a credentials file accepts."""
    return {"aws_access_key_id": PLACEHOLDER_KEY, "aws_secret_access_key": PLACEHOLDER_KEY}


def aws_domain(endpoint: str) -> str | None:
    """The domain of an endpoint of AWS's; None for other servers."""
    host = urlsplit(endpoint).hostname or ""
    return next((domain for domain in ("amazonaws.com", "amazonaws.com.cn") if host.endswith(f".{domain}")), None)


def make_client(service: str, endpoint: str, region: str, keys: Mapping[str, str]) -> Any:
    """A client of boto3. Raises UsageError if the library cannot make one."""
    import boto3
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError

    config = Config(
        retries={"mode": "standard", "total_max_attempts": 5},
        max_pool_connections=THREADS,
        s3={"addressing_style": "auto" if aws_domain(endpoint) else "path"},
    )
    try:
        client = boto3.client(service, endpoint_url=endpoint, region_name=region, config=config, **keys)
    except (BotoCoreError, ValueError) as error:
        raise UsageError(OLD.format(reason=" ".join(str(error).split()), install=how_to_install("s3"))) from None
    bound_replies(client)
    return client


# --- what is shown ----------------------------------------------------------------------------------


def results(
    archive: "ArchiveStore", table: "TargetTable", selection: "Selection", item_type: str | None
) -> "Generator[Result, None, None]":
    """What is found of each object, in the order of their keys. Raises AwsFailure."""
    from hashrange.cli.archived_items import bring_back

    with ThreadPoolExecutor(THREADS) as threads:
        for objects in archive.objects(item_type, selection.key_prefix):
            for result in threads.map(lambda one: bring_back(archive, table, selection, one), objects):
                if result is not None:
                    yield result


def tell(found: "Iterator[Result]", table: "TargetTable", selection: "Selection", options: Any) -> int:
    """Print a line for each of the first results, and how many there are of each kind; returns the exit code."""
    counts: Counter[str] = Counter()
    expires_again_count, lines_max = 0, int(options.lines)
    try:
        for result in found:
            counts[result.state] += 1
            expires_again_count += result.expires_again
            tell_result(result, counts, lines_max)
    finally:  # what was written before S3 or the server failed, or before somebody interrupted this, is told too
        for state, number in counts.items():
            hidden = f" {number - lines_max:,} are not shown." if number > lines_max else ""
            say(f"{count(number, 'object')} {state}: {SAYINGS[state]}.{hidden}")
    if not counts:
        say(f"The bucket {options.bucket} has no such objects below {options.prefix}.")
    for sentence in notes(counts, expires_again_count, table, selection):
        say(sentence)
    return FAILED if counts["unusable"] else DONE


def tell_result(result: "Result", counts: Counter[str], lines_max: int) -> None:
    """Print the line of one object; in a terminal, the number of objects instead of lines that are too many."""
    if counts[result.state] > lines_max:
        if not counts.total() % 1000 and sys.stderr.isatty():
            show_progress(count(counts.total(), "object"))
    elif result.state == "unusable":
        complain(f"{result.key}: {result.told}.")
    else:
        say(f"{result.state:<9}  {result.key}  (deleted {result.told})")


def notes(
    counts: Counter[str], expires_again_count: int, table: "TargetTable", selection: "Selection"
) -> Iterator[str]:
    """What else is to be known."""
    if expires_again_count:
        yield (
            f"Time to live will delete {count(expires_again_count, 'item')} of these again, by the attribute"
            f" {table.time_to_live_attribute}; --remove-ttl and --expires-in change it."
        )
    if not selection.is_writing and (counts["new"] or counts["different"]):
        replacing = ", and --write --replace those that are different" if counts["different"] else ""
        yield f"Nothing has been written. --write writes those that are new{replacing}."

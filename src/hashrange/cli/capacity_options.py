"""Which load and which bill does the command line of `hashrange capacity` describe?"""

import math
from typing import Any

from hashrange.cli.parsing import CommandParser, UsageError, command_parser
from hashrange.cli.tabular import add_form
from hashrange.cli.target_options import add_target
from hashrange.messages.installing import how_to_install
from hashrange.toolkit.capacity_units import CONSISTENCIES, AskedLoad, IndexLoad, ItemSteps, steps_of_sizes
from hashrange.toolkit.dax_costs import NODES_MAX, NODES_USUAL, DaxCluster
from hashrange.toolkit.prices import TABLE_CLASSES, USUAL_REGION, shipped_dates

EXAMPLE = """example:
  hashrange capacity --item-size 2.5 --reads 500 --writes 200 \\
    --consistency eventual
  hashrange capacity --item-size 4 --reads 1000 --writes 100 --gsi-count 3
  hashrange capacity --from-table Orders --aws --region eu-west-1 \\
    --prices prices.toml
  hashrange capacity --item-size 1 --reads 90 --writes 40 --peak-to-average 3 \\
    --plot -

Reads and writes are those of a second, on average. RCU and WCU are the units that the peak needs. Costs are those \
of a month. Every cost stands beside the date of its prices; what could not be confirmed is marked. docs/toolkit.md \
says how it is computed.

--from-table needs the extra toolkit: {toolkit}

--plot FILE.png needs the extra plot: {plot}
"""
ITEM_KB_MAX = 400
INDEXES_MAX = 20
KB_BYTES = 1024
SAMPLE_USUAL, DAYS_USUAL = 1000, 7
DAYS_MAX = 15
"""CloudWatch keeps periods of a minute for this long."""
MANY = 1e12
"""Greater numbers are mistakes."""


def build_parser() -> CommandParser:
    """The parser of `hashrange capacity`."""
    parser = command_parser(
        "capacity",
        "Compute the units that a table and its indexes need, and what they cost in each mode.",
        EXAMPLE.format(toolkit=how_to_install("toolkit"), plot=how_to_install("plot")),
    )

    def add(flag: str, metavar: str, text: str, default: str | None = None) -> None:
        shown = "" if default is None else f" [{default}]"
        parser.add_argument(flag, metavar=metavar, default=default, help=f"{text}{shown}")

    add("--item-size", "KB", "Size of an item, names included; 1 KB is 1,024 bytes.")
    add("--reads", "N", "Items read in a second.")
    add("--writes", "N", "Items written in a second.")
    add("--consistency", "|".join(CONSISTENCIES), "Of reads; transactional: of writes, too.", "eventual")
    add("--gsi-count", "N", "Number of global secondary indexes. [0]")
    add("--gsi-share", "PERCENT", "Share of an item that indexes project; or one for each, as in 100,20,5. [100]")
    add(
        "--gsi-writes",
        "PERCENT",
        "Share of writes that change an entry, twice if they move it; or one for each. [100]",
    )
    add("--gsi-reads", "N", "Entries read in a second from each index, beside --reads; or one number for each. [0]")
    add("--storage", "GB", "Size of the table; the indexes add their shares.")
    add("--table-class", "|".join(TABLE_CLASSES), f"The table's class. [{TABLE_CLASSES[0]}]")
    add("--replicas", "N", "Other Regions that have the table, as a global table. [0]")
    add("--peak-to-average", "RATIO", "The peak in proportion to the average. [1]")
    add("--utilization", "PERCENT", "Share of its units at which auto scaling aims.", "70")
    add("--hours", "N", "Hours of a month.", "730")
    parser.add_argument(
        "--extra", dest="extras", metavar="NAME=N", action="append", default=[],
        help="What else a month has, such as point-in-time-recovery=100 (GB); a wrong NAME lists all.",
    )  # fmt: skip
    add("--dax-hits", "PERCENT", "Compare DAX nodes, which answer this share of the reads.")
    add("--dax-nodes", "N", "Number of DAX nodes.", str(NODES_USUAL))
    add("--dax-node-type", "TYPE", "Their type. [the first in the price table]")
    parser.add_argument(
        "--free-tier", dest="has_free_use", action="store_true",
        help="Subtract what an account has for nothing in a Region; without it, nothing is.",
    )  # fmt: skip
    add("--prices", "DATE", f"Price table: {', '.join(shipped_dates())}, or the name of a file. [the newest]")
    add("--price-region", "NAME", f"Region of the prices. [--region, or {USUAL_REGION}]")
    add("--from-table", "NAME", "Measure this table: sizes by a sample, units in CloudWatch.")
    add("--sample", "N", "Items in the sample; reading them takes units.", str(SAMPLE_USUAL))
    add("--days", "N", f"Days of CloudWatch's metrics, at most {DAYS_MAX}.", str(DAYS_USUAL))
    add("--plot", "FILE", "Draw cost by load into a file that ends with .png, or with - here.")
    add_form(parser)
    add_target(parser)
    return parser


def number_of(flag: str, text: str, least: float, most: float, *, is_whole: bool = False) -> float:
    """The number behind a flag. Raises UsageError."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not least <= number <= most or (is_whole and not number.is_integer()):
        kind = "whole number" if is_whole else "number"
        limit = f"from {least:,} to {most:,}" if most < MANY else f"of at least {least:,}"
        raise UsageError(f'{flag} is "{text}"; it must be a {kind} {limit}.')
    return number


def word_of(flag: str, text: str, words: tuple[str, ...]) -> str:
    """The word behind a flag, one of `words`. Raises UsageError."""
    if text not in words:
        raise UsageError(f'{flag} is "{text}"; it must be {", ".join(words[:-1])} or {words[-1]}.')
    return text


def asked_load(options: Any, items: ItemSteps | None = None, indexes: tuple[IndexLoad, ...] | None = None) -> AskedLoad:
    """The load that the options describe, whose consistency is a known one. `items`, `indexes`: measured ones.

    Raises UsageError.
    """
    if items is None:
        items = steps_of_sizes([item_bytes(options)])
    return AskedLoad(
        items,
        number_of("--reads", options.reads, 0, MANY),
        number_of("--writes", options.writes, 0, MANY),
        options.consistency,
        number_of("--peak-to-average", options.peak_to_average or "1", 1, 1_000_000),
        asked_indexes(options) if indexes is None else indexes,
    )


def item_bytes(options: Any) -> float:
    """The size of an item. Raises UsageError."""
    return number_of("--item-size", options.item_size, 0, ITEM_KB_MAX) * KB_BYTES


def asked_indexes(options: Any) -> tuple[IndexLoad, ...]:
    """The indexes that the options describe. Raises UsageError."""
    count = int(number_of("--gsi-count", options.gsi_count or "0", 0, INDEXES_MAX, is_whole=True))
    columns = (
        _for_each("--gsi-share", options.gsi_share or "100", count, 100),
        _for_each("--gsi-writes", options.gsi_writes or "100", count, 200),
        _for_each("--gsi-reads", options.gsi_reads or "0", count, MANY),
    )
    return tuple(
        IndexLoad(f"index {place}", steps_of_sizes([item_bytes(options) * share / 100]), writes / 100, reads)
        for place, (share, writes, reads) in enumerate(zip(*columns, strict=True), 1)
    )


def asked_storage_gb(options: Any) -> float:
    """Storage of the table and its indexes. Raises UsageError."""
    count = int(number_of("--gsi-count", options.gsi_count or "0", 0, INDEXES_MAX, is_whole=True))
    shares = _for_each("--gsi-share", options.gsi_share or "100", count, 100)
    return number_of("--storage", options.storage or "0", 0, MANY) * (1 + sum(shares) / 100)


def _for_each(flag: str, text: str, count: int, most: float) -> list[float]:
    """A number for each index. Raises UsageError."""
    numbers = [number_of(flag, one, 0, most) for one in text.split(",")]
    if len(numbers) == 1:
        return numbers * count
    if len(numbers) != count:
        raise UsageError(f"{flag} has {len(numbers)} numbers, and --gsi-count is {count}. Give one, or one for each.")
    return numbers


def asked_extras(options: Any) -> dict[str, float]:
    """Name of an extra → its amount in a month. Raises UsageError."""
    found = {}
    for word in options.extras:
        name, equals, amount = word.partition("=")
        if not equals:
            raise UsageError(f'--extra is "{word}"; it must be a name and a number, such as backup=50.')
        found[name] = number_of(f"--extra {name}", amount, 0, MANY)
    return found


def asked_cluster(options: Any) -> DaxCluster | None:
    """The DAX cluster that is compared; None without one. Raises UsageError."""
    if options.dax_hits is None:
        return None
    share = number_of("--dax-hits", options.dax_hits, 0, 100) / 100
    nodes = int(number_of("--dax-nodes", options.dax_nodes, 1, NODES_MAX, is_whole=True))
    return DaxCluster(share, options.dax_node_type, nodes)

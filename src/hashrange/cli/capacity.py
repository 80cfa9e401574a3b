"""`hashrange capacity`: how many units do a table and its indexes need, what do they cost in each mode, and which mode
fits?
"""

import sys
from typing import TYPE_CHECKING, Any

from hashrange.cli.capacity_options import (
    DAYS_MAX,
    asked_cluster,
    asked_extras,
    asked_load,
    asked_storage_gb,
    build_parser,
    number_of,
    word_of,
)
from hashrange.cli.capacity_report import CapacityReport, show_capacity
from hashrange.cli.folding import COLUMNS_USUAL, columns_of
from hashrange.cli.main import DONE, count
from hashrange.cli.output import complain, say_unfolded
from hashrange.cli.parsing import UsageError, parse
from hashrange.cli.tabular import FORMS, require_form
from hashrange.cli.target_options import chosen_target
from hashrange.toolkit.capacity_advice import recommend
from hashrange.toolkit.capacity_costs import TableUse, costs_of
from hashrange.toolkit.capacity_units import CONSISTENCIES, WRITE_STEP_BYTES, units_of_load
from hashrange.toolkit.chart_file import require_plotting, write_png
from hashrange.toolkit.dax_costs import dax_savings
from hashrange.toolkit.failures import ToolkitFailure
from hashrange.toolkit.load_chart import LoadChart, drawn, load_chart
from hashrange.toolkit.prices import TABLE_CLASSES, read_prices

if TYPE_CHECKING:
    from hashrange.toolkit.target import Target

MEASURED = {
    "--item-size": "item_size",
    "--gsi-count": "gsi_count",
    "--gsi-share": "gsi_share",
    "--gsi-writes": "gsi_writes",
    "--gsi-reads": "gsi_reads",
    "--storage": "storage",
}
"""Options that say what --from-table measures, and their places in the parsed options."""
SAMPLE_MAX = 100_000
HERE = "-"
"""The file's name that means standard output."""
PICTURE_COLUMNS_MAX = 100


def run(words: list[str]) -> int:
    """Print units, costs and advice; returns the exit code. Raises UsageError, ToolkitFailure."""
    options = parse(build_parser(), words)
    require_form(options.output)
    word_of("--consistency", options.consistency, tuple(CONSISTENCIES))
    if options.plot not in {None, HERE}:
        require_plotting(options.plot)
    if options.plot == HERE and options.output != FORMS[0]:
        raise UsageError(f"--plot - draws beside a table; leave out --output {options.output}, or name a .png file.")
    target = None if options.from_table is None else chosen_target(options)
    region = options.price_region or (options.region if target is None else target.region)
    prices = read_prices(options.prices, region)
    usage = usage_of(options) if target is None else measured_usage(options, target)
    costs = costs_of(usage, prices)
    cluster = asked_cluster(options)
    savings = [] if cluster is None else dax_savings(
        cluster, usage, prices, is_eventual=options.consistency == "eventual"
    )  # fmt: skip
    advice = recommend(usage, costs, prices)
    show_capacity(CapacityReport(usage.places, costs, savings, advice, prices), options.output)
    if options.plot is not None:
        plot(load_chart(costs, advice, prices), options.plot)
    return DONE


def plot(chart: LoadChart, path: str) -> None:
    """Draw a chart into a file, or here. Raises UsageFault."""
    if path == HERE:
        columns = min(columns_of(sys.stdout) or COLUMNS_USUAL, PICTURE_COLUMNS_MAX)
        say_unfolded("", *drawn(chart, columns))
    else:
        write_png(chart, path)
        complain(f"The plot is in {path}.")


def usage_of(options: Any) -> TableUse:
    """All that costs something, by the options. Raises UsageError."""
    needed = (("--item-size", options.item_size), ("--reads", options.reads), ("--writes", options.writes))
    missing = [flag for flag, value in needed if value is None]
    if missing:
        raise UsageError(f"the calculation needs {' and '.join(missing)}, or --from-table NAME.")
    load = asked_load(options)
    return _billed(options, TableUse(
        tuple(units_of_load(load)),
        storage_gb=asked_storage_gb(options),
        table_class=TABLE_CLASSES[0],
        written_bytes=load.writes * load.items.average_bytes,
    ))  # fmt: skip


def measured_usage(options: Any, target: "Target") -> TableUse:
    """All that an existing table costs; tells what has been measured. Raises UsageError, ToolkitFailure."""
    for flag, value in MEASURED.items():
        if getattr(options, value) is not None:
            raise UsageError(f"--from-table measures what {flag} says; leave out {flag}.")
    if (options.reads is None) != (options.writes is None):
        raise UsageError("--reads and --writes belong together; without both, units are those of CloudWatch.")
    if options.reads is None and options.peak_to_average is not None:
        raise UsageError("--peak-to-average needs --reads and --writes; without them, CloudWatch tells the peak.")
    sample_max = int(number_of("--sample", options.sample, 1, SAMPLE_MAX, is_whole=True))
    days = number_of("--days", options.days, 0.01, DAYS_MAX)
    # Imported here: most calculations measure nothing.
    from hashrange.clock import SystemClock
    from hashrange.toolkit.capacity_measuring import measure_table, measured_units

    table = target.ask("dynamodb", "describe_table", TableName=options.from_table)["Table"]
    places = None
    if options.reads is None:
        try:
            places = measured_units(target, table, SystemClock.wall_time(), days)
        except ToolkitFailure as failure:
            raise ToolkitFailure(f"{failure} Or give --reads and --writes.") from failure
        complain(f"Units are those of CloudWatch in at most {days:g} days, peaks those of a minute.")
    measured = measure_table(target, table, sample_max)
    items = measured.items
    complain(
        f"{measured.name} is {measured.mode}. A sample of {count(len(measured.sample.items), 'item')}, which has taken"
        f" {measured.sample.read_units:,.1f} read units, has {items.average_bytes:,.0f} bytes an item."
    )
    if places is None:
        places = units_of_load(asked_load(options, items, measured.indexes))
        written_bytes = float(options.writes) * items.average_bytes
    else:
        written_bytes = places[0].writes.average * WRITE_STEP_BYTES
    usage = TableUse(tuple(places), measured.storage_gb, measured.table_class, replicas=measured.replicas)
    return _billed(options, usage._replace(written_bytes=written_bytes))


def _billed(options: Any, usage: TableUse) -> TableUse:
    """What is used, with what the options say of the bill. Raises UsageError."""
    if options.table_class is not None:
        usage = usage._replace(table_class=word_of("--table-class", options.table_class, TABLE_CLASSES))
    if options.replicas is not None:
        usage = usage._replace(replicas=int(number_of("--replicas", options.replicas, 0, 50, is_whole=True)))
    return usage._replace(
        hours=number_of("--hours", options.hours, 1, 8784),
        utilization=number_of("--utilization", options.utilization, 1, 100) / 100,
        extras=asked_extras(options),
        has_free_use=options.has_free_use,
    )

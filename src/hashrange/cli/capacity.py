"""`hashrange capacity`: how many units do a table and its indexes need, what do they cost in each mode, and which mode
fits?
"""

from typing import TYPE_CHECKING, Any

from hashrange.cli.capacity_options import (
    asked_cluster,
    asked_extras,
    asked_load,
    asked_storage_gb,
    build_parser,
    number_of,
    word_of,
)
from hashrange.cli.main import DONE
from hashrange.cli.output import say, say_unfolded
from hashrange.cli.parsing import UsageError, parse
from hashrange.cli.tabular import Amount, OutputRow, require_form, show_json, show_records
from hashrange.toolkit.capacity_advice import Advice, advise
from hashrange.toolkit.capacity_costs import ModeCost, Usage, costs_of, rounded
from hashrange.toolkit.capacity_units import units_of
from hashrange.toolkit.dax_costs import DaxSaving, dax_savings
from hashrange.toolkit.prices import TABLE_CLASSES, Prices, read_prices

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["build_parser", "run"]

UNIT_COLUMNS = ("where", "read units", "write units", "RCU", "WCU")
COST_COLUMNS = (
    "mode", "reads USD", "writes USD", "storage USD", "others USD", "total USD", "break-even %", "prices",
)  # fmt: skip
DAX_COLUMNS = ("mode", "saved USD", "nodes USD", "gained USD", "prices")


def run(words: list[str]) -> int:
    """Print units, costs and advice; returns the exit code. Raises UsageError, ToolkitFailure."""
    options = parse(build_parser(), words)
    require_form(options.output)
    prices = read_prices(options.prices, options.price_region or options.region)
    usage = usage_of(options)
    costs = costs_of(usage, prices)
    advice = advise(usage, costs)
    cluster = asked_cluster(options)
    savings = [] if cluster is None else dax_savings(
        cluster, usage, prices, is_eventual=options.consistency == "eventual"
    )  # fmt: skip
    report = {
        "units": [_unit_row(usage, place) for place in range(len(usage.places))],
        "costs": [_cost_row(cost, prices) for cost in costs],
        "dax": [_dax_row(saving, prices) for saving in savings],
    }
    if options.output == "table":
        _show_tables(report, advice, costs, prices)
    elif options.output == "json":
        show_json(report | {"recommendation": advice._asdict()})
    else:
        rows = [{"kind": kind} | row for kind, some in report.items() for row in some]
        rows.append({"kind": "recommendation", "mode": advice.mode, "reasons": " ".join(advice.reasons)})
        show_records(list(dict.fromkeys(name for row in rows for name in row)), rows, options.output)
    return DONE


def usage_of(options: Any) -> Usage:
    """All that costs something, by the options. Raises UsageError."""
    needed = (("--item-size", options.item_size), ("--reads", options.reads), ("--writes", options.writes))
    missing = [flag for flag, value in needed if value is None]
    if missing:
        raise UsageError(f"the calculation needs {' and '.join(missing)}, or --from-table NAME.")
    load = asked_load(options)
    return Usage(
        tuple(units_of(load)),
        storage_gb=asked_storage_gb(options),
        table_class=word_of("--table-class", options.table_class, TABLE_CLASSES),
        hours=number_of("--hours", options.hours, 1, 8784),
        utilization=number_of("--utilization", options.utilization, 1, 100) / 100,
        replicas=int(number_of("--replicas", options.replicas, 0, 50, is_whole=True)),
        written_bytes=load.writes * load.items.average_bytes,
        extras=asked_extras(options),
        has_free_use=options.has_free_use,
    )


def _unit_row(usage: Usage, place: int) -> OutputRow:
    one = usage.places[place]
    values = (
        one.name, round(one.reads.average, 3), round(one.writes.average, 3),
        one.reads.provisioned, one.writes.provisioned,
    )  # fmt: skip
    return dict(zip(UNIT_COLUMNS, values, strict=True))


def _cost_row(cost: ModeCost, prices: Prices) -> OutputRow:
    amounts = [_amount(one) for one in (cost.reads, cost.writes, cost.storage, cost.others, cost.total)]
    even = None if cost.break_even_percent is None else round(cost.break_even_percent, 1)
    values = (cost.mode, *amounts, even, prices.told(is_unconfirmed=cost.is_unconfirmed))
    return dict(zip(COST_COLUMNS, values, strict=True))


def _dax_row(saving: DaxSaving, prices: Prices) -> OutputRow:
    amounts = [_amount(one) for one in (saving.saved, saving.nodes, saving.saved - saving.nodes)]
    values = (saving.mode, *amounts, prices.told(is_unconfirmed=saving.is_unconfirmed))
    return dict(zip(DAX_COLUMNS, values, strict=True))


def _amount(usd: float) -> Amount:
    return Amount(rounded(usd))


def _show_tables(
    report: dict[str, list[OutputRow]], advice: Advice, costs: "Sequence[ModeCost]", prices: Prices
) -> None:
    show_records(UNIT_COLUMNS, report["units"], "table")
    say_unfolded("")
    show_records(COST_COLUMNS, report["costs"], "table")
    if report["dax"]:
        say_unfolded("")
        show_records(DAX_COLUMNS, report["dax"], "table")
    is_unconfirmed = any(cost.is_unconfirmed for cost in costs)
    say("", f"Recommended: {advice.mode} (prices of {prices.told(is_unconfirmed=is_unconfirmed)}).", *advice.reasons)

"""How are units, costs and a recommendation printed? As tables with sentences below; for programs as one JSON object,
or as CSV whose column `kind` says what a row is about.
"""

from collections.abc import Sequence
from typing import NamedTuple

from hashrange.cli.output import say, say_unfolded
from hashrange.cli.tabular import Amount, OutputRow, show_json, show_records
from hashrange.toolkit.capacity_advice import Recommendation
from hashrange.toolkit.capacity_costs import ModeCost, rounded
from hashrange.toolkit.capacity_units import PlaceUnits
from hashrange.toolkit.dax_costs import DaxSaving
from hashrange.toolkit.prices import Prices

HEADINGS = {
    "read_units": "read units",
    "write_units": "write units",
    "rcu": "RCU",
    "wcu": "WCU",
    "reads_usd": "reads",
    "writes_usd": "writes",
    "storage_usd": "storage",
    "others_usd": "others",
    "total_usd": "total",
    "saved_usd": "saved",
    "nodes_usd": "nodes",
    "gained_usd": "gained",
    "break_even_percent": "even at %",
}
"""Names of figures in JSON and CSV → headings of columns, where they differ."""
CAPTIONS = {
    "units": "Units in a second",
    "costs": "USD in a month, in {region}",
    "dax": "USD in a month that DAX saves and costs, in {region}",
}
MARK = "unconfirmed"
BESIDE = {MARK, "region"}
"""What tables tell in other places: with the date, and in the caption."""
SELDOM = ("storage_usd", "others_usd")
"""Figures that a table leaves out if they are zero in all rows, so that it fits a terminal."""


class CapacityReport(NamedTuple):
    """All that is printed."""

    places: Sequence[PlaceUnits]
    costs: Sequence[ModeCost]
    savings: Sequence[DaxSaving]
    """What DAX nodes save in each mode; empty if nobody has asked."""
    recommendation: Recommendation
    prices: Prices


def show_capacity(report: CapacityReport, form: str) -> None:
    """Print a report in one of the forms of `--output`."""
    prices, recommended = report.prices, report.recommendation
    rows = {
        "units": [_unit_row(place) for place in report.places],
        "costs": [_cost_row(cost, prices) for cost in report.costs],
        "dax": [_dax_row(saving, prices) for saving in report.savings],
    }
    if form == "json":
        rounded_percent = {"used_percent": round(recommended.used_percent, 1)}
        show_json(rows | {"recommendation": recommended._asdict() | rounded_percent})
    elif form == "csv":
        flat = [{"kind": kind} | row for kind, some in rows.items() for row in some]
        flat.append({"kind": "recommendation", "mode": recommended.mode, "reasons": " ".join(recommended.reasons)})
        show_records(list(dict.fromkeys(name for row in flat for name in row)), flat, form)
    else:
        for kind, some in rows.items():
            if some:
                say_unfolded(CAPTIONS[kind].format(region=prices.region))
                _show_table(some)
                say_unfolded("")
        is_unconfirmed = any(cost.is_unconfirmed for cost in report.costs)
        told = prices.told(is_unconfirmed=is_unconfirmed)
        say(f"Recommended: {recommended.mode} (prices of {told}).", *recommended.reasons)


def _show_table(rows: list[OutputRow]) -> None:
    unused = {name for name in SELDOM if not any(row.get(name) for row in rows)} | BESIDE
    shown = []
    for row in rows:
        is_marked = row.get(MARK, False)
        headed = {HEADINGS.get(name, name): value for name, value in row.items() if name not in unused}
        shown.append(headed | ({"prices": f"{row['prices']}, {MARK}"} if is_marked else {}))
    show_records(list(shown[0]), shown, "table")


def _unit_row(place: PlaceUnits) -> OutputRow:
    return {
        "where": place.name,
        "read_units": round(place.reads.average, 3),
        "write_units": round(place.writes.average, 3),
        "rcu": place.reads.provisioned,
        "wcu": place.writes.provisioned,
    }


def _cost_row(cost: ModeCost, prices: Prices) -> OutputRow:
    return {
        "mode": cost.mode,
        "reads_usd": _amount(cost.reads),
        "writes_usd": _amount(cost.writes),
        "storage_usd": _amount(cost.storage),
        "others_usd": _amount(cost.others),
        "total_usd": _amount(cost.total),
        "break_even_percent": None if cost.break_even_percent is None else round(cost.break_even_percent, 1),
        "region": prices.region,
        "prices": prices.date,
        MARK: cost.is_unconfirmed,
    }


def _dax_row(saving: DaxSaving, prices: Prices) -> OutputRow:
    return {
        "mode": saving.mode,
        "saved_usd": _amount(saving.saved),
        "nodes_usd": _amount(saving.nodes),
        "gained_usd": _amount(saving.saved - saving.nodes),
        "region": prices.region,
        "prices": prices.date,
        MARK: saving.is_unconfirmed,
    }


def _amount(usd: float) -> Amount:
    return Amount(rounded(usd))

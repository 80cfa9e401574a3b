"""How is a model reported? Access patterns with what they found, findings, and units by table and index: as tables, as
one JSON object, or as CSV of the access patterns.
"""

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from hashrange.cli.folding import Colour, HeadedLine
from hashrange.cli.main import count
from hashrange.cli.output import complain, say, say_unfolded
from hashrange.cli.tabular import OutputRow, show_records
from hashrange.terminal import escape_json

if TYPE_CHECKING:
    from hashrange.toolkit.models.document import SchemaDocument
    from hashrange.toolkit.models.estimate import Estimate
    from hashrange.toolkit.models.finding import ModelFinding
    from hashrange.toolkit.models.running import ModelRun
    from hashrange.toolkit.prices import Prices

PATTERN_COLUMNS = ("pattern", "operation", "index", "items", "expected", "requests", "read units", "vector bytes")
ESTIMATE_COLUMNS = (
    "table",
    "index",
    "reads/s",
    "writes/s",
    "million reads/month",
    "million writes/month",
    "GB",
    "vector bytes/s",
    "USD/month",
)
COLOURS: dict[str, Colour] = {"wrong": "red", "advice": "yellow", "note": "cyan"}


def show_model(
    document: "SchemaDocument", run: "ModelRun", findings: "Sequence[ModelFinding]", prices: "Prices", form: str
) -> None:
    """Print what there is to tell of a model, in one of the forms of `--output`."""
    # Imported here: a command's help does not need it.
    from hashrange.toolkit.models.estimate import estimate, monthly_usd, told_prices

    costs, priced_by = monthly_usd(document, prices), told_prices(document, prices)
    patterns, estimates = list(pattern_rows(run)), list(estimate_rows(list(estimate(document)), costs))
    if form == "json":
        told = {
            "model": document.name,
            "sampleItems": run.item_count,
            "sampleWriteUnits": run.write_units,
            "accessPatterns": patterns,
            "findings": [one._asdict() for one in findings],
            "capacity": estimates,
            "prices": priced_by,
        }
        say_unfolded(*map(escape_json, json.dumps(told, indent=2).split("\n")))
        return
    has_searches = any(row["vector bytes"] for row in patterns)
    show_records(PATTERN_COLUMNS if has_searches else PATTERN_COLUMNS[:-1], patterns, form)
    if form == "csv":
        complain(*(f"{one.level}: {one.place}: {one.sentence} [{one.rule}]" for one in findings))
        return
    say("")
    say(*map(finding_line, findings))
    if findings:
        say("")
    shown = [one for one in ESTIMATE_COLUMNS if any(row[one] for row in estimates) or one in ESTIMATE_COLUMNS[:2]]
    show_records(shown, estimates, form)
    say(
        "",
        f"On demand, that costs {sum(costs):,.2f} USD in a month ({priced_by}). `hashrange capacity` compares modes.",
        f"{count(run.item_count, 'sample item')} in {run.write_units:g} write units.",
    )


def pattern_rows(run: "ModelRun") -> Iterator[OutputRow]:
    """A record for each access pattern that has been run."""
    for one in run.patterns:
        sample = one.pattern.sample
        values = (
            one.pattern.name,
            one.pattern.operation,
            one.pattern.index,
            one.item_count,
            None if sample is None else sample.item_count,
            one.requests,
            one.read_units,
            one.vector_bytes,
        )
        yield dict(zip(PATTERN_COLUMNS, values, strict=True))


def estimate_rows(estimates: "Sequence[Estimate]", costs: Sequence[float]) -> Iterator[OutputRow]:
    """A record for each table and index, of which each has its cost."""
    for one, cost in zip(estimates, costs, strict=True):
        values = (
            one.table,
            one.index_name,
            one.read_units,
            one.write_units,
            round(one.million_reads, 3),
            round(one.million_writes, 3),
            round(one.storage_gb, 3),
            one.vector_write_bytes,
            round(cost, 2),
        )
        yield dict(zip(ESTIMATE_COLUMNS, values, strict=True))


def finding_line(finding: "ModelFinding") -> HeadedLine:
    """A finding for people."""
    head = f"{finding.level:<6} "
    return HeadedLine(
        head, f"{finding.place}: {finding.sentence} [{finding.rule}]", finding.level, COLOURS[finding.level]
    )

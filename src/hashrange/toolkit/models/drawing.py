"""How is a model drawn? As one HTML page without scripts: its access patterns with what they find, its findings, and
the item collections of each table and index, as modelling tools show them.

All texts are escaped. The page loads nothing, and follows the reader's preference for light or dark colours.
"""

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from importlib.resources import files
from itertools import groupby
from string import Template
from typing import NamedTuple

from hashrange.toolkit.models.document import AccessPattern, ModelIndex, ModelTable, SchemaDocument
from hashrange.toolkit.models.estimate import Estimate, estimate, monthly_usd, told_prices
from hashrange.toolkit.models.finding import ModelFinding
from hashrange.toolkit.models.running import ModelRun, PatternRun
from hashrange.toolkit.models.sample_items import (
    Attributes,
    SampleItem,
    held_by_index,
    key_attribute_names,
    partition_names,
    shown_value,
    sort_names,
    table_items,
)
from hashrange.toolkit.prices import Prices

SKELETON = "drawing.html"
COLOURS = 8
"""Colours of kinds of items; with more kinds, they are used again."""


class HeldItem(NamedTuple):
    """An item as a table or an index holds it."""

    item: SampleItem
    held: Attributes


def draw_model(document: SchemaDocument, run: ModelRun, findings: Sequence[ModelFinding], prices: Prices) -> str:
    """The text of the page."""
    costs = monthly_usd(document, prices)
    skeleton = Template(files(__package__).joinpath(SKELETON).read_text(encoding="utf-8"))
    return skeleton.substitute(
        title=escape(document.name),
        description=escape(document.description),
        legend="".join(_legend(document)),
        patterns="".join(_pattern_rows(document, run)),
        findings="".join(map(_finding_line, findings)) or "<li>There is nothing to tell of this design.</li>",
        estimates="".join(map(_estimate_row, estimate(document), costs)),
        prices=escape(told_prices(document, prices)),
        collections="".join(part for table in document.tables for part in _table_parts(document, table)),
    )


def _legend(document: SchemaDocument) -> Iterator[str]:
    for number, entity in enumerate(document.entities):
        told = f' title="{escape(entity.description)}"' if entity.description else ""
        yield f'<span class="kind k{number % COLOURS}"{told}>{escape(entity.name)}</span> '


# --- access patterns, findings, units --------------------------------------------------------------------


def _pattern_rows(document: SchemaDocument, run: ModelRun) -> Iterator[str]:
    runs = {one.pattern.name: one for one in run.patterns}
    for number, pattern in enumerate(document.access_patterns, 1):
        found = runs.get(pattern.name)
        table = document.table_of_pattern(pattern)
        place = table.table_name + (f" · {pattern.index}" if pattern.index else "")
        cells = [str(pattern.number or number), pattern.name, pattern.question, place, request_text(table, pattern)]
        shown = "".join(f"<td>{escape(one)}</td>" for one in cells[:4]) + f"<td><code>{escape(cells[4])}</code></td>"
        yield f"<tr>{shown}{_result_cells(found)}</tr>\n"


def _result_cells(found: PatternRun | None) -> str:
    if found is None or found.pattern.sample is None:
        return '<td class="number">not run</td><td class="number"></td>'
    expected = found.pattern.sample.item_count
    is_right = found.item_count == expected and not found.refusal
    number = str(found.item_count) if is_right else f"{found.item_count}, not {expected}"
    if found.refusal:
        number = "refused"
    kind = "number" if is_right else "number wrong"
    return f'<td class="{kind}">{number}</td><td class="number">{found.read_units:g}</td>'


def request_text(table: ModelTable, pattern: AccessPattern) -> str:
    """The request of a pattern in short, with its templates: `PK = "ORDER#{order}" and SK begins with "LINE#"`."""
    match pattern.operation:
        case "GetItem":
            return "GetItem " + " and ".join(f'{name} = "{text}"' for name, text in pattern.key.items())
        case "SearchVectors":
            told = [f'{name} = "{text}"' for name, text in pattern.condition.items()]
            return " and ".join([f"SearchVectors, the {pattern.top_k} nearest", *told])
    keys = table.index(pattern.index) or table
    partition = partition_names(keys)
    conditions = [f'{name} = "{text}"' for name, text in zip(partition, pattern.partition_keys(), strict=False)]
    for name, one in zip(sort_names(keys), pattern.sort_conditions(), strict=False):
        word = one.condition.replace("_", " ")
        conditions.append(f"{name} {word} " + " and ".join(f'"{text}"' for text in one.values))
    request = f"{pattern.operation} {' and '.join(conditions)}".rstrip()
    filtered = " and ".join(f"{one.attribute} {one.condition}" for one in pattern.filter)
    request += f", filtered by {filtered}" if filtered else ""
    return request + (", backwards" if pattern.is_newest_first else "")


def _finding_line(finding: ModelFinding) -> str:
    return (
        f'<li class="{finding.level}"><b>{finding.level}</b> {escape(finding.place)}: {escape(finding.sentence)}'
        f" <code>{escape(finding.rule)}</code></li>\n"
    )


def _estimate_row(one: Estimate, cost: float) -> str:
    numbers = [one.read_units, one.write_units, one.million_reads, one.million_writes]
    cells = "".join(f'<td class="number">{number:,.1f}</td>' for number in numbers)
    stored = f'<td class="number">{one.storage_gb:,.3f}</td><td class="number">{cost:,.2f}</td>'
    return f"<tr><td>{escape(one.table)}</td><td>{escape(one.index_name)}</td>{cells}{stored}</tr>\n"


# --- item collections ------------------------------------------------------------------------------------


def _table_parts(document: SchemaDocument, table: ModelTable) -> Iterator[str]:
    items = list(table_items(document, table))
    kinds = {entity.name: number % COLOURS for number, entity in enumerate(document.entities)}
    yield from _collections(f"Table {table.table_name}", table, kinds, [HeldItem(one, one.attributes) for one in items])
    for index in table.indexes():
        names = key_attribute_names(index)
        inside = [one for one in items if all(name in one.attributes for name in names)]
        entries = [HeldItem(one, held_by_index(table, index, one.attributes)) for one in inside]
        yield from _collections(f"Index {index.index_name} of {table.table_name}", index, kinds, entries)
    for vector in table.vector_indexes:
        name = vector.vector_attribute.attribute_name
        number = sum(name in one.attributes for one in items)
        yield (
            f"<h3>Vector index {escape(vector.index_name)} of {escape(table.table_name)}</h3>"
            f"<p>{number} vectors of {vector.dimensions} dimensions in {escape(name)}, compared by"
            f" {escape(vector.distance_function)}.</p>"
        )


def _collections(
    title: str, keys: ModelTable | ModelIndex, kinds: dict[str, int], entries: list[HeldItem]
) -> Iterator[str]:
    """A table of the page: one row for each item, with its collection's partition key before the first."""
    partition, sort = partition_names(keys), sort_names(keys)
    ordered = sorted(entries, key=lambda one: (_key(one, partition), _key(one, sort)))
    groups = [list(group) for _, group in groupby(ordered, key=lambda one: _key(one, partition))]
    head = f"<th>{escape(' / '.join(partition))}</th><th>{escape(' / '.join(sort))}</th><th>attributes</th>"
    yield f'<h3>{escape(title)}</h3>\n<div class="wide"><table class="items"><tr>{head}</tr>\n'
    for group in groups:
        for number, entry in enumerate(group):
            first = f'<th rowspan="{len(group)}">{escape(_shown_key(entry, partition))}</th>' if number == 0 else ""
            kind = f'<td class="key k{kinds[entry.item.entity.name]}">{escape(_shown_key(entry, sort))}</td>'
            yield f"<tr>{first}{kind}<td>{_attributes(entry, {*partition, *sort})}</td></tr>\n"
    yield "</table></div>\n" if groups else "</table></div>\n<p>No sample is in it.</p>\n"


def _key(entry: HeldItem, names: list[str]) -> tuple[tuple[bool, float, str], ...]:
    """What orders entries as the service does: numbers by value, texts by their bytes."""
    return tuple(_order(entry.item.attributes.get(name, {})) for name in names)


def _order(value: Attributes) -> tuple[bool, float, str]:
    return (True, float(value["N"]), "") if "N" in value else (False, 0.0, shown_value(value))


def _shown_key(entry: HeldItem, names: list[str]) -> str:
    return " / ".join(shown_value(entry.item.attributes.get(name, {})) for name in names)


def _attributes(entry: HeldItem, without: Iterable[str]) -> str:
    hidden = set(without)
    shown = [
        f'<span class="attribute"><i>{escape(name)}</i> {escape(shown_value(value))}</span>'
        for name, value in entry.held.items()
        if name not in hidden
    ]
    return " ".join(shown)

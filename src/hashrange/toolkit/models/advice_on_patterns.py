"""What is to be said of a model's access patterns? What a request reads for nothing, does not get, or cannot do; and
what it has found with its sample.
"""

from collections.abc import Iterator

from hashrange.toolkit.models.document import AccessPattern, ModelTable, SchemaDocument
from hashrange.toolkit.models.estimate import request_bytes
from hashrange.toolkit.models.finding import ModelFinding, advice, wrong
from hashrange.toolkit.models.key_templates import template
from hashrange.toolkit.models.running import PatternRun
from hashrange.toolkit.models.sample_items import key_attribute_names

PAGE_BYTES_MAX = 1024 * 1024
"""A Query reads at most this much."""
WHOLE_ITEMS_BYTES = 64 * 1024
"""Whole items of this many bytes in an answer take longer to send than to read."""
KEY_WORDS = {"=", "<", "<=", ">", ">=", "between", "begins_with"}
"""Conditions that a sort key serves, too."""


def pattern_findings(document: SchemaDocument, pattern: AccessPattern) -> Iterator[ModelFinding]:
    """The findings of a pattern of a document without faults."""
    table, place = document.table_of_pattern(pattern), f"access pattern {pattern.name}"
    if pattern.operation == "Scan":
        yield advice(
            "scan",
            place,
            "a Scan reads the whole table for each request, and becomes slower and dearer with each item. Give the"
            " items that are asked for a key of an index, and use a Query.",
        )
    yield from _sort_findings(pattern, place)
    yield from _filter_findings(document, pattern, place)
    yield from _projection_findings(table, pattern, place)
    yield from _size_findings(document, pattern, place)
    if pattern.is_consistent and pattern.index in {one.index_name for one in table.global_secondary_indexes}:
        yield wrong(
            "consistent-index",
            place,
            f"reads of a global index ({pattern.index}) are never consistent. Take it out, or read the table.",
        )
    if pattern.then_writes:
        yield advice(
            "read-before-write",
            place,
            f"its answer decides what is written to {' and '.join(pattern.then_writes)}, and somebody else may write in"
            " between. Let one UpdateItem do it: say what must hold in its ConditionExpression, and compute in its"
            " UpdateExpression.",
        )
    if pattern.sample is None:
        yield advice("not-run", place, "it has no sample, so it has not been run. Add values, and the number of items.")


def _sort_findings(pattern: AccessPattern, place: str) -> Iterator[ModelFinding]:
    prefixes = [template(one.values[0]) for one in pattern.conditions() if one.condition == "begins_with"]
    for one in prefixes:
        is_filled = one.is_constant or pattern.sample is not None
        if is_filled and one.fill({} if pattern.sample is None else pattern.sample.values) == "":
            yield wrong(
                "begins-with-nothing",
                place,
                "its begins_with has an empty text, which DynamoDB refuses in a key, and which every text begins with."
                " Leave the condition out.",
            )


def _filter_findings(document: SchemaDocument, pattern: AccessPattern, place: str) -> Iterator[ModelFinding]:
    expiry = None if document.time_to_live is None else document.time_to_live.attribute
    for one in pattern.filter:
        if one.condition in KEY_WORDS and one.attribute != expiry:
            yield advice(
                "filter",
                place,
                f"items are read, and paid for, before the filter on {one.attribute} leaves them out. Put"
                f" {one.attribute} into the sort key, or into the key of an index.",
            )


def _projection_findings(table: ModelTable, pattern: AccessPattern, place: str) -> Iterator[ModelFinding]:
    index = table.index(pattern.index)
    if index is None or index.projection.projection_type == "ALL":
        return
    held = {*key_attribute_names(table), *key_attribute_names(index), *index.projection.non_key_attributes}
    asked = [*pattern.attributes, *(one.attribute for one in pattern.filter)]
    missing = [name for name in asked if name not in held]
    if missing:
        yield wrong(
            "projection",
            place,
            f"it asks for {', '.join(missing)}, which the index {index.index_name} does not hold. Add it to the"
            " projection, or read the items by their keys.",
        )
    if not pattern.attributes:
        yield advice(
            "projection",
            place,
            f"it names no attributes, and gets those that the index {index.index_name} holds. Say in attributes which"
            " it needs, so that this can be compared.",
        )


def _size_findings(document: SchemaDocument, pattern: AccessPattern, place: str) -> Iterator[ModelFinding]:
    if pattern.operation not in {"GetItem", "Query"}:
        return
    size = request_bytes(document, pattern)
    if size > PAGE_BYTES_MAX and pattern.limit is None:
        yield advice(
            "several-requests",
            place,
            f"it reads {size:,.0f} bytes, and a Query returns at most {PAGE_BYTES_MAX:,}. Let it read less, with a"
            " narrower sort key or a limit, or make the items smaller.",
        )
    elif size > WHOLE_ITEMS_BYTES and not pattern.attributes:
        yield advice(
            "whole-items",
            place,
            f"it gets {size:,.0f} bytes of whole items. If it needs only some attributes, name them in attributes (a"
            " ProjectionExpression), or let it read an index that holds only these.",
        )


# --- what a run has found --------------------------------------------------------------------------------


def run_findings(run: PatternRun) -> Iterator[ModelFinding]:
    """The findings of what a pattern has found with its sample."""
    pattern, place = run.pattern, f"access pattern {run.pattern.name}"
    assert pattern.sample is not None
    if run.refusal:
        yield wrong("refused", place, f"{run.refusal} Mend the pattern, or what it reads.")
        return
    expected = pattern.sample.item_count
    if run.item_count != expected:
        yield wrong(
            "item-count",
            place,
            f"the number of items found is {run.item_count}, and its sample says {expected}. Mend the keys, the"
            " samples, or the number.",
        )
    if run.requests > 1:
        yield advice(
            "several-requests",
            place,
            f"its sample took {run.requests} requests, because a Query returns at most {PAGE_BYTES_MAX:,} bytes. Let it"
            " read less, with a narrower sort key or a limit, or make the items smaller.",
        )
    for kind in sorted(run.kinds - {*pattern.entities}):
        yield wrong(
            "other-items",
            place,
            f"it also finds items of {kind}. Narrow its sort key, or add {kind} to its entities.",
        )
    discarded = run.scanned_count - run.item_count
    if discarded > run.item_count:
        yield advice(
            "discarded",
            place,
            f"of what its sample has read ({run.scanned_count}), the filter has left out {discarded}. A key of an index"
            " would read only the items that are wanted.",
        )

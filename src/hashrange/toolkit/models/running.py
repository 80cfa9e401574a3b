"""What do a document's tables answer? Creates the tables at an endpoint, writes the sample data, runs each access
pattern that has a sample, and deletes the tables that it has created, unless they are kept.
"""

import binascii
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Any, NamedTuple

import msgspec

from hashrange.templates.requests import table_requests
from hashrange.templates.wanted import WantedTable
from hashrange.toolkit.failures import ToolkitFailure, UsageFault
from hashrange.toolkit.models.document import AccessPattern, ModelTable, SchemaDocument
from hashrange.toolkit.models.pattern_requests import PatternRequest, pattern_request
from hashrange.toolkit.models.sample_items import Attributes, SampleItem, key_attribute_names, table_items
from hashrange.toolkit.patience import pauses
from hashrange.toolkit.sending import Sender, UnseenProgress
from hashrange.toolkit.target import Target

LATER_TRIES = 12
"""Times that a pattern is run before its items count as missing: at AWS, reads see what has just been written later."""
REFUSED = "ValidationException"
"""The code with which requests are refused that can never be served, or searches of a vector index too early."""


class PatternRun(NamedTuple):
    """What an access pattern has found."""

    pattern: AccessPattern
    item_count: int
    kinds: frozenset[str]
    """Names of the entities of which items were found, if the document has an `entityTypeAttribute`."""
    scanned_count: int
    """Items that were read, of which a filter may have left some out."""
    read_units: float
    requests: int
    """Pages."""
    vector_bytes: float = 0.0
    """What a search of a vector index has consumed, instead of units."""
    refusal: str = ""
    """Why the service does not take the request; empty if it does."""


class ModelRun(NamedTuple):
    """What the sample data has cost, and the access patterns have found."""

    item_count: int
    write_units: float
    patterns: list[PatternRun]


def run_model(target: Target, document: SchemaDocument, *, is_kept: bool, waits: bool) -> ModelRun:
    """Create the tables, write the samples, run the patterns. Raises ToolkitFailure; the tables are deleted then, too.

    `is_kept`: the tables stay. `waits`: reads may see items later, so a pattern that finds another number of items than
    its sample says is run again.
    """
    with _tables(target, document, is_kept=is_kept):
        number, units = 0, 0.0
        for item in chain.from_iterable(table_items(document, one) for one in document.tables):
            units += _write(target, document, item)
            number += 1
        runnable = [one for one in document.access_patterns if one.sample is not None]
        return ModelRun(number, units, [_run_pattern(target, document, one, waits=waits) for one in runnable])


# --- tables ------------------------------------------------------------------------------------------


@contextmanager
def _tables(target: Target, document: SchemaDocument, *, is_kept: bool) -> Iterator[None]:
    """Within the block, the document's tables are there and active."""
    sender, created, is_done = Sender(target, UnseenProgress()), list[str](), False
    try:
        for table in document.tables:
            for request in table_requests(_wanted(document, table, is_kept=is_kept), None, None, {}):
                before = sender.sent
                try:
                    sender.carry_out(request)
                finally:
                    if request.operation == "CreateTable" and sender.sent > before:
                        created.append(table.table_name)
        yield
        is_done = True
    finally:
        if not (is_kept and is_done):
            _delete(target, created)


def _wanted(document: SchemaDocument, table: ModelTable, *, is_kept: bool) -> WantedTable:
    """The table as a template would want it, with time to live if entities of it have one."""
    creation = msgspec.to_builtins(table) | {"BillingMode": table.billing_mode}
    if not is_kept:
        creation.pop("DeletionProtectionEnabled", None)
    expiry = document.time_to_live
    has_expiry = expiry is not None and table in [document.table_of(document.entity(one)) for one in expiry.entities]
    return WantedTable(
        place=table.table_name,
        name=table.table_name,
        creation=creation,
        time_to_live=expiry.attribute if expiry is not None and has_expiry else None,
        recovery=None,
    )


def _delete(target: Target, names: list[str]) -> None:
    """Delete tables. Raises ToolkitFailure that names those that are left."""
    left = []
    for name in names:
        try:
            target.ask("dynamodb", "delete_table", TableName=name)
        except ToolkitFailure as failure:
            left.append(f"{name} ({str(failure).rstrip('.')})")
    if left:
        raise ToolkitFailure(f"these tables are left, and have to be deleted by hand: {', '.join(left)}.")


# --- items -------------------------------------------------------------------------------------------


def _write(target: Target, document: SchemaDocument, item: SampleItem) -> float:
    """Write an item; returns the write units that it has consumed. Raises ToolkitFailure, which names the item."""
    table = document.table_of(item.entity)
    try:
        attributes = for_boto3(item.attributes)
        reply = target.ask(
            "dynamodb",
            "put_item",
            TableName=table.table_name,
            Item=attributes,
            ConditionExpression="attribute_not_exists(#k)",
            ExpressionAttributeNames={"#k": key_attribute_names(table)[0]},
            ReturnConsumedCapacity="TOTAL",
        )
    except ToolkitFailure as failure:
        raise _of_item(failure, item, table) from failure
    return float(reply.get("ConsumedCapacity", {}).get("CapacityUnits", 0))


def _of_item(failure: ToolkitFailure, item: SampleItem, table: ModelTable) -> ToolkitFailure:
    """The failure of an item's write, with the place of the item."""
    if failure.code == "ConditionalCheckFailedException":
        key = {name: item.attributes[name] for name in key_attribute_names(table)}
        return UsageFault(
            f"{item.place} has the key of an item before it, {msgspec.json.encode(key).decode()}. Give its attributes"
            " other values, or the key one more attribute."
        )
    return ToolkitFailure(f"{item.place}: {failure}", failure.code)


def for_boto3(value: Any) -> Any:
    """A value of DynamoDB JSON as boto3 takes it: binary values are bytes, not base64. Raises UsageFault."""
    match value:
        case {"B": str() as text, **others} if not others:
            return {"B": _bytes(text)}
        case {"BS": list() as texts, **others} if not others:
            return {"BS": [_bytes(text) for text in texts]}
        case dict():
            return {name: for_boto3(one) for name, one in value.items()}
        case list():
            return [for_boto3(one) for one in value]
    return value


def _bytes(text: str) -> bytes:
    try:
        return binascii.a2b_base64(text, strict_mode=True)
    except (ValueError, TypeError):
        raise UsageFault(f'the binary value "{text[:40]}" is no base64. Mend it.') from None


# --- access patterns ---------------------------------------------------------------------------------


def _run_pattern(target: Target, document: SchemaDocument, pattern: AccessPattern, *, waits: bool) -> PatternRun:
    """What a pattern finds. Raises ToolkitFailure, which names the pattern, except for requests that are refused."""
    assert pattern.sample is not None
    request = pattern_request(document, pattern)
    is_search = pattern.operation == "SearchVectors"  # vector indexes take items a little later here, too
    tries = LATER_TRIES if waits or is_search else 1
    for number, _ in enumerate(pauses(), 1):
        try:
            run = _sent(target, document, pattern, request)
        except ToolkitFailure as failure:
            if failure.code != REFUSED:
                raise ToolkitFailure(f"the access pattern {pattern.name}: {failure}", failure.code) from failure
            run = PatternRun(pattern, 0, frozenset(), 0, 0.0, 1, refusal=str(failure))
        is_right = not run.refusal and run.item_count == pattern.sample.item_count
        if is_right or (run.refusal and not is_search) or number >= tries:
            return run
    raise AssertionError("pauses never end")


def _sent(target: Target, document: SchemaDocument, pattern: AccessPattern, request: PatternRequest) -> PatternRun:
    """The answer to a request, page after page; a pattern with a limit is one page."""
    kinds: set[str] = set()
    number, scanned, units, vector_bytes, requests = 0, 0, 0.0, 0.0, 0
    members, attribute = for_boto3(request.members), document.entity_type_attribute
    while True:
        reply = target.ask("dynamodb", request.method, **members)
        requests += 1
        found = _items_in(reply)
        number += len(found)
        kinds |= {item[attribute].get("S", "") for item in found if attribute in item}
        scanned += reply.get("ScannedCount", len(found))
        consumed = reply.get("ConsumedCapacity", {})
        units += consumed.get("CapacityUnits", 0.0)
        vector_bytes += consumed.get("VectorSearchRequestBytes", 0.0)
        last = reply.get("LastEvaluatedKey")
        if last is None or pattern.limit is not None:
            return PatternRun(pattern, number, frozenset(kinds), scanned, units, requests, vector_bytes)
        members = members | {"ExclusiveStartKey": last}


def _items_in(reply: dict[str, Any]) -> list[Attributes]:
    if "SearchResults" in reply:
        return [one["Item"] for one in reply["SearchResults"]]
    if "Items" in reply:
        found: list[Attributes] = reply["Items"]
        return found
    return [reply["Item"]] if "Item" in reply else []

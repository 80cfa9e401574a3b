"""Which CreateTable request makes the table that a reply of DescribeTable describes?
The description without what cannot be asked for.

Left out are states, times, counts, ARNs, replicas, encryption with keys of the account, and warm throughput.
"""

from typing import Any

import msgspec

COPIED = (
    "AttributeDefinitions",
    "TableName",
    "KeySchema",
    "OnDemandThroughput",
    "DeletionProtectionEnabled",
)
INDEX_COPIED = ("IndexName", "KeySchema", "Projection", "OnDemandThroughput")
INDEX_KINDS = ("LocalSecondaryIndexes", "GlobalSecondaryIndexes")
ON_DEMAND = "PAY_PER_REQUEST"


def creation_of(description: bytes) -> bytes:
    """The body of a CreateTable request, from a JSON object with the members of a TableDescription,
    which is well-formed JSON.
    """
    table: dict[str, Any] = msgspec.json.decode(description)
    request = _copied(table, COPIED)
    billing = _member(table, "BillingModeSummary", "BillingMode") or "PROVISIONED"
    request["BillingMode"] = billing
    is_on_demand = billing == ON_DEMAND
    if not is_on_demand:
        request |= _units(table)
    for kind in INDEX_KINDS:
        indexes = table.get(kind)
        if isinstance(indexes, list) and indexes:
            has_units = kind == "GlobalSecondaryIndexes" and not is_on_demand
            request[kind] = [_index(index, has_units=has_units) for index in indexes]
    stream = table.get("StreamSpecification")
    if isinstance(stream, dict) and stream.get("StreamEnabled"):
        request["StreamSpecification"] = stream
    if table_class := _member(table, "TableClassSummary", "TableClass"):
        request["TableClass"] = table_class
    return msgspec.json.encode(request)


def _index(index: Any, *, has_units: bool) -> Any:
    if not isinstance(index, dict):
        return index  # CreateTable says what is wrong with it
    return _copied(index, INDEX_COPIED) | (_units(index) if has_units else {})


def _units(subject: dict[str, Any]) -> dict[str, Any]:
    throughput = subject.get("ProvisionedThroughput")
    if not isinstance(throughput, dict):
        return {}
    return {"ProvisionedThroughput": _copied(throughput, ("ReadCapacityUnits", "WriteCapacityUnits"))}


def _copied(members: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: members[name] for name in names if members.get(name) is not None}


def _member(members: dict[str, Any], outer: str, inner: str) -> Any:
    found = members.get(outer)
    return found.get(inner) if isinstance(found, dict) else None

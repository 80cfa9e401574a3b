"""Every request struct agrees with the service's own model: names, types, required members, bounds, enumerations.

`tests/data/api/dynamodb.json` is the interface from which SDKs are generated (November 2026). Where the service differs
from its model, DIFFERENCES has the difference with its reason; an entry that no longer applies fails too.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hashrange.operations.pending import PENDING
from hashrange.operations.registry import ALL_OPERATIONS, OPERATIONS
from hashrange.wire.shape import Shape, structure_of

API = Path(__file__).parents[1] / "data" / "api"
MODEL: dict[str, Any] = json.loads((API / "dynamodb.json").read_text())
STREAMS_MODEL: dict[str, Any] = json.loads((API / "dynamodbstreams.json").read_text())
SHAPES: dict[str, Any] = STREAMS_MODEL["shapes"] | MODEL["shapes"]
INPUTS = {name: each["input"] for model in (MODEL, STREAMS_MODEL) for name, each in model["operations"].items()}

KINDS = {
    "string": "String", "boolean": "Boolean", "integer": "Integer", "long": "Long", "double": "Double", "blob": "Blob",
    "list": "List", "map": "Map", "structure": "Structure", "timestamp": "Double",
}  # fmt: skip

NAME_PATTERN = "[a-zA-Z0-9_.-]+"
TABLE_NAME_PATTERN = f"pattern {NAME_PATTERN!r}, model None"
"""The model dropped the pattern when names could be ARNs; the service still applies it to names that are not ARNs."""
TABLE_NAME_LENGTH = "min_length 3, model 1"
"""Minimum length captured from the service, also where the model accepts ARNs."""
ATTRIBUTES_TO_GET = "max_length 255, model None"
"""Captured from the service: at most 255 names."""
CAPTURED_REQUIRED = "required True, model False"
"""Optional in the model since tables can be created from others; the service requires it in all other cases."""
TABLE_KEYS = "max_length 2, model None"
"""Tables and local indexes have at most two key attributes; the model's limit covers global indexes too."""
INDEX_KEYS = "max_length 8, model None"
"""At most four HASH and four RANGE attributes."""

DATA_STREAM_LENGTH = "min_length None, model 37"
"""Captured from the service: an ARN of ten characters is refused for another reason."""
STREAMS_REQUIRED = "required True, model False"
"""The developer guide requires both members of a shard filter."""

DIFFERENCES: set[tuple[str, str]] = {
    ("DescribeStream.Limit", "maximum 100, model None"),
    ("DescribeStream.ShardFilter.ShardId", STREAMS_REQUIRED),
    ("DescribeStream.ShardFilter.Type", STREAMS_REQUIRED),
    ("GetRecords.Limit", "maximum 1000, model None"),
    ("ListStreams.Limit", "maximum 100, model None"),
    ("DeleteItem.TableName", TABLE_NAME_PATTERN),
    ("DeleteTable.TableName", TABLE_NAME_PATTERN),
    ("CreateBackup.TableName", TABLE_NAME_PATTERN),
    ("DescribeContinuousBackups.TableName", TABLE_NAME_PATTERN),
    ("DescribeContributorInsights.TableName", TABLE_NAME_PATTERN),
    ("DescribeKinesisStreamingDestination.TableName", TABLE_NAME_PATTERN),
    ("DescribeTable.TableName", TABLE_NAME_PATTERN),
    ("DisableKinesisStreamingDestination.StreamArn", DATA_STREAM_LENGTH),
    ("DisableKinesisStreamingDestination.TableName", TABLE_NAME_PATTERN),
    ("EnableKinesisStreamingDestination.StreamArn", DATA_STREAM_LENGTH),
    ("EnableKinesisStreamingDestination.TableName", TABLE_NAME_PATTERN),
    ("UpdateKinesisStreamingDestination.StreamArn", DATA_STREAM_LENGTH),
    ("UpdateKinesisStreamingDestination.TableName", TABLE_NAME_PATTERN),
    ("DescribeTableReplicaAutoScaling.TableName", TABLE_NAME_PATTERN),
    ("DescribeTimeToLive.TableName", TABLE_NAME_PATTERN),
    ("UpdateTimeToLive.TableName", TABLE_NAME_PATTERN),
    ("GetItem.TableName", TABLE_NAME_PATTERN),
    ("ListBackups.TableName", TABLE_NAME_PATTERN),
    ("ListContributorInsights.TableName", TABLE_NAME_PATTERN),
    ("PutItem.TableName", TABLE_NAME_PATTERN),
    ("Query.TableName", TABLE_NAME_PATTERN),
    ("Scan.TableName", TABLE_NAME_PATTERN),
    ("SearchVectors.TableName", TABLE_NAME_PATTERN),
    ("SearchVectors.IndexName", f"pattern None, model {NAME_PATTERN!r}"),  # captures know its lengths alone
    ("TransactGetItems.TransactItems.Get.TableName", TABLE_NAME_PATTERN),
    ("TransactWriteItems.TransactItems.ConditionCheck.TableName", TABLE_NAME_PATTERN),
    ("TransactWriteItems.TransactItems.Put.TableName", TABLE_NAME_PATTERN),
    ("TransactWriteItems.TransactItems.Delete.TableName", TABLE_NAME_PATTERN),
    ("TransactWriteItems.TransactItems.Update.TableName", TABLE_NAME_PATTERN),
    ("UpdateContinuousBackups.TableName", TABLE_NAME_PATTERN),
    ("UpdateContributorInsights.TableName", TABLE_NAME_PATTERN),
    ("UpdateItem.TableName", TABLE_NAME_PATTERN),
    ("UpdateTable.TableName", TABLE_NAME_PATTERN),
    ("CreateTable.TableName", TABLE_NAME_PATTERN),
    ("CreateTable.TableName", TABLE_NAME_LENGTH),  # no ARN here: at least three characters (2026 capture)
    ("BatchGetItem.RequestItems", f"keys' {TABLE_NAME_PATTERN}"),
    ("BatchWriteItem.RequestItems", f"keys' {TABLE_NAME_PATTERN}"),
    ("BatchGetItem.RequestItems", f"keys' {TABLE_NAME_LENGTH}"),
    ("BatchWriteItem.RequestItems", f"keys' {TABLE_NAME_LENGTH}"),
    ("BatchGetItem.RequestItems.AttributesToGet", ATTRIBUTES_TO_GET),
    ("GetItem.AttributesToGet", ATTRIBUTES_TO_GET),
    ("Query.AttributesToGet", ATTRIBUTES_TO_GET),
    ("Scan.AttributesToGet", ATTRIBUTES_TO_GET),
    ("CreateTable.AttributeDefinitions", CAPTURED_REQUIRED),
    ("CreateTable.KeySchema", CAPTURED_REQUIRED),
    ("CreateTable.KeySchema", TABLE_KEYS),
    ("CreateTable.LocalSecondaryIndexes.KeySchema", TABLE_KEYS),
    ("CreateTable.GlobalSecondaryIndexes.KeySchema", INDEX_KEYS),
    ("UpdateTable.GlobalSecondaryIndexUpdates.Create.KeySchema", INDEX_KEYS),
    ("RestoreTableFromBackup.GlobalSecondaryIndexOverride.KeySchema", INDEX_KEYS),
    ("RestoreTableFromBackup.LocalSecondaryIndexOverride.KeySchema", TABLE_KEYS),
    ("RestoreTableFromBackup.SSESpecificationOverride.KMSMasterKeyId", "min_length 1, model None"),
    ("RestoreTableToPointInTime.GlobalSecondaryIndexOverride.KeySchema", INDEX_KEYS),
    ("RestoreTableToPointInTime.LocalSecondaryIndexOverride.KeySchema", TABLE_KEYS),
    ("RestoreTableToPointInTime.SSESpecificationOverride.KMSMasterKeyId", "min_length 1, model None"),
    ("ImportTable.TableCreationParameters.KeySchema", TABLE_KEYS),
    ("ImportTable.TableCreationParameters.GlobalSecondaryIndexes.KeySchema", INDEX_KEYS),
    ("ImportTable.TableCreationParameters.SSESpecification.KMSMasterKeyId", "min_length 1, model None"),
    # Captured from the service: an empty key id is too short, and lengths of tags have messages of their own.
    ("CreateTable.SSESpecification.KMSMasterKeyId", "min_length 1, model None"),
    ("CreateTable.Tags.Key", "max_length None, model 128"),
    ("CreateTable.Tags.Key", "min_length None, model 1"),
    ("CreateTable.Tags.Key", "required False, model True"),
    ("CreateTable.Tags.Value", "max_length None, model 256"),
    ("CreateTable.Tags.Value", "required False, model True"),
    ("TagResource.Tags.Key", "max_length None, model 128"),
    ("TagResource.Tags.Key", "min_length None, model 1"),
    ("TagResource.Tags.Key", "required False, model True"),
    ("TagResource.Tags.Value", "max_length None, model 256"),
    ("TagResource.Tags.Value", "required False, model True"),
    ("UntagResource.TagKeys", "max_length None, model 128"),
    ("UntagResource.TagKeys", "min_length None, model 1"),
    ("UpdateTable.SSESpecification.KMSMasterKeyId", "min_length 1, model None"),
}

ENUMERATIONS_IN_ORDER = {
    "ReturnConsumedCapacity": "INDEXES TOTAL NONE",
    "ReturnItemCollectionMetrics": "SIZE NONE",
    "ReturnValues": "ALL_NEW UPDATED_OLD ALL_OLD NONE UPDATED_NEW",
    "ConditionalOperator": "OR AND",
    "ComparisonOperator": "IN NULL BETWEEN LT NOT_CONTAINS EQ GT NOT_NULL NE LE BEGINS_WITH GE CONTAINS",
    "Select": "SPECIFIC_ATTRIBUTES COUNT ALL_ATTRIBUTES ALL_PROJECTED_ATTRIBUTES",
    "AttributeType": "B N S",
    "KeyType": "HASH RANGE",
    "ProjectionType": "ALL INCLUDE KEYS_ONLY",
    "BillingMode": "PROVISIONED PAY_PER_REQUEST",
}
"""Member → the order in which the service lists its values in a fault (captures)."""

MEMBERS_IN_ORDER = {
    "BatchGetItem": "ReturnConsumedCapacity RequestItems",
    "BatchGetItem.RequestItems": "Keys AttributesToGet",
    "BatchWriteItem": "ReturnConsumedCapacity ReturnItemCollectionMetrics RequestItems",
    "BatchWriteItem.RequestItems": "DeleteRequest PutRequest",
    "DeleteItem": (
        "ReturnConsumedCapacity TableName ReturnValues ReturnItemCollectionMetrics Key ConditionalOperator Expected"
    ),
    "GetItem": "ReturnConsumedCapacity AttributesToGet TableName Key",
    "ListTables": "Limit ExclusiveStartTableName",
    "PutItem": (
        "ReturnConsumedCapacity TableName Item ConditionalOperator Expected ReturnValues ReturnItemCollectionMetrics"
    ),
    "Query": (
        "Select IndexName ReturnConsumedCapacity QueryFilter TableName ConditionalOperator AttributesToGet Limit "
        "KeyConditions"
    ),
    "Scan": (
        "Select IndexName TotalSegments ReturnConsumedCapacity TableName ConditionalOperator ScanFilter Segment Limit "
        "AttributesToGet"
    ),
    "TransactWriteItems": "ReturnConsumedCapacity ReturnItemCollectionMetrics",
    "UpdateItem": (
        "ReturnConsumedCapacity TableName ReturnItemCollectionMetrics ReturnValues ConditionalOperator Key Expected"
    ),
    "CreateTable": (
        "AttributeDefinitions TableName BillingMode ProvisionedThroughput KeySchema GlobalSecondaryIndexes "
        "LocalSecondaryIndexes"
    ),
    "CreateTable.AttributeDefinitions": "AttributeName AttributeType",
    "CreateTable.ProvisionedThroughput": "WriteCapacityUnits ReadCapacityUnits",
    "CreateTable.KeySchema": "AttributeName KeyType",
    "CreateTable.LocalSecondaryIndexes": "IndexName KeySchema Projection",
    "CreateTable.LocalSecondaryIndexes.Projection": "ProjectionType NonKeyAttributes",
    "CreateTable.GlobalSecondaryIndexes": "IndexName KeySchema Projection ProvisionedThroughput",
    "UpdateTable": "TableName ProvisionedThroughput BillingMode GlobalSecondaryIndexUpdates",
    "UpdateTable.GlobalSecondaryIndexUpdates": "Update Create Delete",
    "UpdateTable.GlobalSecondaryIndexUpdates.Create": "Projection IndexName ProvisionedThroughput KeySchema",
}
"""Structure → its first members in the order in which their faults are reported (captures)."""

RANGES: dict[str, tuple[int, int]] = {"Integer": (-(2**31), 2**31 - 1), "Long": (-(2**63), 2**63 - 1)}
"""Ranges of the Java number types."""


def differences(shape: Shape, model_name: str, path: str) -> set[tuple[str, str]]:
    """The differences between a declared shape and the model's, as (path, difference)."""
    model = SHAPES[model_name]
    if shape.kind == "AttributeValue":
        return set() if model_name == "AttributeValue" else {(path, f"AttributeValue, model {model_name}")}
    found: set[tuple[str, str]] = set()

    def compare(what: str, ours: object, theirs: object) -> None:
        if ours != theirs:
            found.add((path, f"{what} {ours!r}, model {theirs!r}"))

    compare("kind", shape.kind, KINDS[model["type"]])
    is_number = shape.kind in ("Integer", "Long")
    least, most = model.get("min"), model.get("max")
    compare("min_length", shape.bounds.min_length or None, None if is_number else least or None)
    compare("max_length", shape.bounds.max_length, None if is_number else most)
    range_min, range_max = RANGES.get(shape.kind, (None, None))  # needed by the fast decoder, implied by the model
    compare(
        "minimum", None if shape.bounds.minimum == range_min else shape.bounds.minimum, least if is_number else None
    )
    compare("maximum", None if shape.bounds.maximum == range_max else shape.bounds.maximum, most if is_number else None)
    compare("pattern", shape.bounds.pattern, model.get("pattern"))
    if shape.keys is not None:
        key_model = SHAPES[model["key"]]
        compare("keys' min_length", shape.keys.min_length, key_model.get("min"))
        compare("keys' max_length", shape.keys.max_length, key_model.get("max"))
        compare("keys' pattern", shape.keys.pattern, key_model.get("pattern"))
    compare("enumeration", sorted(shape.bounds.enumeration), sorted(model.get("enum", [])))
    if found and found & {(path, f"kind {shape.kind!r}, model {KINDS[model['type']]!r}")}:
        return found
    match shape.kind:
        case "Structure":
            found |= structure_differences(shape, model_name, path)
        case "List" | "Map":
            assert shape.member is not None
            found |= differences(shape.member, model["member" if shape.kind == "List" else "value"], path)
    return found


def structure_differences(shape: Shape, model_name: str, path: str) -> set[tuple[str, str]]:
    """The differences between the members of a declared structure and the model's, by name."""
    model = SHAPES[model_name]
    found: set[tuple[str, str]] = set()
    if "." in path and shape.name != model_name:
        found.add((path, f"name {shape.name!r}, model {model_name!r}"))
    ours = {member.name: member for member in shape.members}
    found |= {(f"{path}.{name}", "is not in the model") for name in ours.keys() - model["members"].keys()}
    found |= {(f"{path}.{name}", "is missing") for name in model["members"].keys() - ours.keys()}
    for name in ours.keys() & model["members"].keys():
        is_required = name in model.get("required", ())
        if ours[name].is_required != is_required:
            found.add((f"{path}.{name}", f"required {ours[name].is_required}, model {is_required}"))
        found |= differences(ours[name].shape, model["members"][name], f"{path}.{name}")
    return found


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_requests_are_as_the_model_says(name: str) -> None:
    found = differences(structure_of(OPERATIONS[name].request), INPUTS[name], name)
    expected = {(path, what) for path, what in DIFFERENCES if path.split(".")[0] == name}
    assert sorted(found) == sorted(expected)


def test_differences_name_operations_that_exist() -> None:
    assert {path.split(".")[0] for path, _ in DIFFERENCES} <= OPERATIONS.keys()


def test_every_operation_of_the_api_is_answered() -> None:
    assert ALL_OPERATIONS.keys() == INPUTS.keys()
    services = {
        name for name, operation in ALL_OPERATIONS.items() if operation.wire.service == "DynamoDBStreams_20120810"
    }
    assert services == STREAMS_MODEL["operations"].keys()


def test_what_is_built_is_no_longer_pending() -> None:
    assert not PENDING.keys() & OPERATIONS.keys()


def inner_shapes(shape: Shape, path: str) -> Iterator[tuple[str, Shape]]:
    """The shape and all shapes inside it, with dotted paths; a list and its members share one path."""
    yield path, shape
    if shape.member is not None:
        yield from inner_shapes(shape.member, path)
    for member in shape.members:
        yield from inner_shapes(member.shape, f"{path}.{member.name}")


ALL_SHAPES = [
    pair
    for name, operation in sorted(OPERATIONS.items())
    for pair in inner_shapes(structure_of(operation.request), name)
]


def test_enumerations_stand_in_the_order_of_the_service() -> None:
    seen = set()
    for path, shape in ALL_SHAPES:
        member = path.rpartition(".")[2]
        if shape.bounds.enumeration and member in ENUMERATIONS_IN_ORDER:
            assert " ".join(shape.bounds.enumeration) == ENUMERATIONS_IN_ORDER[member], path
            seen.add(member)
    assert seen == ENUMERATIONS_IN_ORDER.keys()


@pytest.mark.parametrize("path", sorted(MEMBERS_IN_ORDER))
def test_members_stand_in_the_order_of_reported_faults(path: str) -> None:
    expected = MEMBERS_IN_ORDER[path].split()
    (shape,) = (shape for other, shape in ALL_SHAPES if other == path and shape.members)
    assert [member.name for member in shape.members if member.name in expected] == expected

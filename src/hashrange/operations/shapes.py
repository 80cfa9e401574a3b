"""Which shapes do requests share? Enumerations, names, numbers and attribute maps, with their constraints.

The constraints are the API model's (facts of the service model, Nov 2026); `wire.faults` words their violations.
`Meta(extra=…)` holds constraints that msgspec does not check; the slow path reads it (`wire.shape` lists its keys):
`pattern`, `name_min_length` and `name_max_length` (checked where a name is looked up; `arn` exempts ARNs from them),
`enumeration` (words that the operation checks itself), `shape` (the API model's name of a shape: a kind of number, a
legacy map, or attribute values, whose content `items.values` checks) and `values` (the struct of the values of a legacy
map).

Legacy maps (`Expected`, `AttributeUpdates`, `KeyConditions`, `QueryFilter`, `ScanFilter`) reach the operation as raw
dicts, which may hold nulls (absent) and unknown members (ignored). An unknown action, an unknown operator in Expected,
or a member of the wrong JSON type, raises `errors.Malformed` where it is found; `check_legacy` checks a whole map at
once.
"""

from typing import Annotated, Any, Literal, get_args

import msgspec
from msgspec import Meta

from hashrange.errors import Malformed
from hashrange.items.steps import walk
from hashrange.limits import TABLE_NAME_LENGTH_MAX, TABLE_NAME_LENGTH_MIN

NAME_PATTERN = "[a-zA-Z0-9_.-]+"

ClientRequestToken = Annotated[str, Meta(min_length=1, max_length=36)]
_NAME_OR_ARN = {"pattern": NAME_PATTERN, "arn": True, "name_max_length": TABLE_NAME_LENGTH_MAX}
TableName = Annotated[
    str, Meta(min_length=1, max_length=1024, extra=_NAME_OR_ARN | {"name_min_length": TABLE_NAME_LENGTH_MIN})
]
"""A table's name or ARN."""
WholeTableName = Annotated[str, Meta(min_length=TABLE_NAME_LENGTH_MIN, max_length=1024, extra=_NAME_OR_ARN)]
"""A table's name or ARN in CreateTable and as a key of RequestItems, where its minimum length is reported together with
other constraints."""
IndexName = Annotated[str, Meta(min_length=3, max_length=255, extra={"pattern": NAME_PATTERN})]

ResourceArn = Annotated[str, Meta(min_length=1, max_length=1283)]
"""ARN of the table or stream that a resource policy belongs to."""
RevisionId = Annotated[str, Meta(min_length=1, max_length=255)]
"""Revision id of a resource policy."""
StreamArn = Annotated[str, Meta(min_length=37, max_length=1024)]
ShardId = Annotated[str, Meta(min_length=28, max_length=65)]
SequenceNumber = Annotated[str, Meta(min_length=21, max_length=40)]

AttributeValue = Annotated[dict[str, Any], Meta(extra={"shape": "AttributeValue"})]
AttributeMap = Annotated[dict[str, dict[str, Any]], Meta(extra={"shape": "AttributeMap"})]
"""Attribute name (or `:token`) → value in wire form, not yet checked."""
AttributeNameList = Annotated[list[Annotated[str, Meta(max_length=65535)]], Meta(min_length=1, max_length=255)]

ReturnValue = Literal["ALL_NEW", "UPDATED_OLD", "ALL_OLD", "NONE", "UPDATED_NEW"]
ReturnConsumedCapacity = Literal["INDEXES", "TOTAL", "NONE"]
ReturnItemCollectionMetrics = Literal["SIZE", "NONE"]
ReturnValuesOnConditionCheckFailure = Literal["ALL_OLD", "NONE"]
ConditionalOperator = Literal["OR", "AND"]
UncheckedConditionalOperator = Annotated[str, Meta(extra={"enumeration": get_args(ConditionalOperator)})]
"""For operations that check it themselves, after other faults."""
ComparisonOperator = Literal[
    "IN", "NULL", "BETWEEN", "LT", "NOT_CONTAINS", "EQ", "GT", "NOT_NULL", "NE", "LE", "BEGINS_WITH", "GE", "CONTAINS"
]
UncheckedComparisonOperator = Annotated[str, Meta(extra={"enumeration": get_args(ComparisonOperator)})]
"""For KeyConditions, QueryFilter and ScanFilter, whose operators are checked when they are compiled."""
Select = Literal["SPECIFIC_ATTRIBUTES", "COUNT", "ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES"]
UncheckedSelect = Annotated[str, Meta(extra={"enumeration": get_args(Select)})]
"""For operations that check it themselves, after other faults."""

# --- numbers ------------------------------------------------------------------------------------

PositiveInteger = Annotated[int, Meta(ge=1, le=2**31 - 1, extra={"shape": "Integer"})]
"""A Limit without its own maximum: an Integer of Java in the API model, so the fast decoder refuses 2^31 and more."""
TotalSegments = Annotated[int, Meta(ge=1, le=1_000_000, extra={"shape": "Integer"})]
Segment = Annotated[int, Meta(ge=0, le=999_999, extra={"shape": "Integer"})]
PositiveLong = Annotated[int, Meta(ge=1)]
"""Capacity units, and dimensions of vectors: a Long of Java in the API model, like every `int` without a `shape`."""
Long = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
"""A number whose range the operation checks, after other faults: so the fast decoder refuses what is no Long."""

# --- legacy parameters --------------------------------------------------------------------------


class ExpectedAttributeValue(msgspec.Struct, frozen=True, kw_only=True):
    """One legacy condition on an attribute, in Expected."""

    Value: AttributeValue | None = None
    Exists: bool | None = None
    ComparisonOperator: "ComparisonOperator | None" = None
    AttributeValueList: list[AttributeValue] | None = None


class Condition(msgspec.Struct, frozen=True, kw_only=True):
    """One legacy condition on an attribute, in KeyConditions, QueryFilter or ScanFilter."""

    AttributeValueList: list[AttributeValue] | None = None
    ComparisonOperator: UncheckedComparisonOperator


class AttributeValueUpdate(msgspec.Struct, frozen=True, kw_only=True):
    """One legacy update of an attribute, in AttributeUpdates."""

    Value: AttributeValue | None = None
    Action: Literal["ADD", "PUT", "DELETE"] | None = None


ExpectedAttributeMap = Annotated[
    dict[str, dict[str, Any]], Meta(extra={"shape": "ExpectedAttributeMap", "values": ExpectedAttributeValue})
]
FilterConditionMap = Annotated[
    dict[str, dict[str, Any]], Meta(extra={"shape": "FilterConditionMap", "values": Condition})
]
"""Shape of the legacy parameters KeyConditions, QueryFilter and ScanFilter: attribute name → `Condition`."""
AttributeUpdates = Annotated[
    dict[str, dict[str, Any]], Meta(extra={"shape": "AttributeUpdates", "values": AttributeValueUpdate})
]


def check_legacy(raw: dict[str, dict[str, Any]], values: type[msgspec.Struct]) -> None:
    """Raise Malformed unless every value of a legacy map fits the struct `values`.

    The content of attribute values is not checked.
    """
    try:
        for value in walk(raw.values()):
            msgspec.convert(value, values)
    except msgspec.ValidationError:
        raise Malformed from None


# --- names --------------------------------------------------------------------------------------

NameMap = dict[str, Annotated[str, Meta(max_length=65535)]]
"""ExpressionAttributeNames: `#token` → attribute name."""

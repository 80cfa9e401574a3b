"""Which shapes do requests share? Enumerations, names and attribute maps, with their constraints.

The constraints are the API model's (facts of the service model, Nov 2026); `wire.faults` words their violations.
`Meta(extra=…)` carries what msgspec does not check itself: `pattern` (checked where a name is looked up) and
`shape` (attribute values, whose inside is walked by `items.values`).
"""

from typing import Annotated, Any, Literal

from msgspec import Meta

NAME_PATTERN = "[a-zA-Z0-9_.-]+"

TableName = Annotated[str, Meta(min_length=1, max_length=1024, extra={"pattern": NAME_PATTERN})]
"""A table's name or ARN."""
IndexName = Annotated[str, Meta(min_length=3, max_length=255, extra={"pattern": NAME_PATTERN})]

AttributeValue = Annotated[dict[str, Any], Meta(extra={"shape": "AttributeValue"})]
AttributeMap = Annotated[dict[str, dict[str, Any]], Meta(extra={"shape": "AttributeMap"})]
"""Attribute name (or `:token`) → value in wire form, not yet checked."""
AttributeNameList = Annotated[list[str], Meta(min_length=1, max_length=255)]

ReturnValue = Literal["ALL_NEW", "UPDATED_OLD", "ALL_OLD", "NONE", "UPDATED_NEW"]
ReturnConsumedCapacity = Literal["INDEXES", "TOTAL", "NONE"]
ReturnItemCollectionMetrics = Literal["SIZE", "NONE"]
ReturnValuesOnConditionCheckFailure = Literal["ALL_OLD", "NONE"]
ConditionalOperator = Literal["OR", "AND"]
ComparisonOperator = Literal[
    "IN", "NULL", "BETWEEN", "LT", "NOT_CONTAINS", "EQ", "GT", "NOT_NULL", "NE", "LE", "BEGINS_WITH", "GE", "CONTAINS"
]
Select = Literal["SPECIFIC_ATTRIBUTES", "COUNT", "ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES"]

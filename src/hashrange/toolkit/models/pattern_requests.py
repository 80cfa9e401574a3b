"""Which request is an access pattern with these values? The members as boto3 takes them, for GetItem, Query, Scan or
SearchVectors.

Every attribute is named by a placeholder, so reserved words need no thought.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from hashrange.toolkit.models.document import (
    AccessPattern,
    Entity,
    FilterCondition,
    ModelTable,
    SchemaDocument,
    SortCondition,
)
from hashrange.toolkit.models.key_templates import template
from hashrange.toolkit.models.sample_items import partition_names, sort_names, wire_value

SampleValues = Mapping[str, Any]
METHODS = {"GetItem": "get_item", "Query": "query", "Scan": "scan", "SearchVectors": "search_vectors"}


class PatternRequest(NamedTuple):
    """One request. `method`: that of boto3's client."""

    method: str
    members: dict[str, Any]


class Expression:
    """Expressions that are being written, with their names and values."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        self.values: dict[str, Any] = {}

    def name(self, attribute: str) -> str:
        """The placeholder of an attribute."""
        for placeholder, known in self.names.items():
            if known == attribute:
                return placeholder
        placeholder = f"#a{len(self.names)}"
        self.names[placeholder] = attribute
        return placeholder

    def value(self, value: Any) -> str:
        """The placeholder of a value of DynamoDB JSON."""
        placeholder = f":v{len(self.values)}"
        self.values[placeholder] = value
        return placeholder

    def condition(self, attribute: str, word: str, values: list[Any]) -> str:
        """A condition on an attribute."""
        name, placed = self.name(attribute), [self.value(one) for one in values]
        match word:
            case "between":
                return f"{name} BETWEEN {placed[0]} AND {placed[1]}"
            case "begins_with" | "contains":
                return f"{word}({name}, {placed[0]})"
            case "exists":
                return f"attribute_exists({name})"
            case "missing":
                return f"attribute_not_exists({name})"
        return f"{name} {word} {placed[0]}"

    def members(self) -> dict[str, Any]:
        """The members of names and values."""
        named = {"ExpressionAttributeNames": self.names} if self.names else {}
        return named | ({"ExpressionAttributeValues": self.values} if self.values else {})


def pattern_request(document: SchemaDocument, pattern: AccessPattern) -> PatternRequest:
    """The request of a pattern with its sample, of a document without faults."""
    assert pattern.sample is not None
    table, values, writing = document.table_of_pattern(pattern), pattern.sample.values, Expression()
    members: dict[str, Any] = {"TableName": table.table_name, "ReturnConsumedCapacity": "INDEXES"}
    if pattern.index:
        members["IndexName"] = pattern.index
    match pattern.operation:
        case "GetItem":
            members["Key"] = {name: _key_value(table, name, text, values) for name, text in pattern.key.items()}
        case "Query":
            members["KeyConditionExpression"] = _key_condition(table, pattern, values, writing)
            members["ScanIndexForward"] = not pattern.is_newest_first
        case "SearchVectors":
            members |= _search(document, pattern, writing)
    if pattern.filter:
        conditions = [_filter_text(document, pattern, one, values, writing) for one in pattern.filter]
        members["FilterExpression"] = " AND ".join(conditions)
    if pattern.attributes:
        members["ProjectionExpression"] = ", ".join(map(writing.name, pattern.attributes))
    if pattern.is_consistent:
        members["ConsistentRead"] = True
    if pattern.limit is not None:
        members["Limit"] = pattern.limit
    return PatternRequest(METHODS[pattern.operation], members | writing.members())


def _key_value(table: ModelTable, attribute: str, text: str, values: SampleValues) -> dict[str, str]:
    return {table.key_type(attribute): template(text).fill(values)}


def _key_condition(table: ModelTable, pattern: AccessPattern, values: SampleValues, writing: Expression) -> str:
    keys = table.index(pattern.index) or table
    conditions = [SortCondition("=", [text]) for text in pattern.partition_keys()] + pattern.sort_conditions()
    names = partition_names(keys)[: len(pattern.partition_keys())] + sort_names(keys)
    written = [
        writing.condition(name, one.condition, [_key_value(table, name, text, values) for text in one.values])
        for name, one in zip(names, conditions, strict=False)
    ]
    return " AND ".join(written)


def _search(document: SchemaDocument, pattern: AccessPattern, writing: Expression) -> dict[str, Any]:
    assert pattern.sample is not None
    table, values = document.table_of_pattern(pattern), pattern.sample.values
    members: dict[str, Any] = {
        "SearchVector": [{"N": str(one)} for one in pattern.sample.vector],
        "TopK": pattern.top_k,
    }
    conditions = [
        writing.condition(name, "=", [_key_value(table, name, text, values)])
        for name, text in pattern.condition.items()
    ]
    return members | ({"SearchConditionExpression": " AND ".join(conditions)} if conditions else {})


def _filter_text(
    document: SchemaDocument, pattern: AccessPattern, one: FilterCondition, values: SampleValues, writing: Expression
) -> str:
    word = attribute_type([document.entity(name) for name in pattern.entities], one.attribute)
    placed = [wire_value(_filter_value(text, word, values), word) for text in one.values]
    return writing.condition(one.attribute, one.condition, placed)


def _filter_value(text: str, word: str, values: SampleValues) -> Any:
    filled = template(text).fill(values)
    return filled.lower() == "true" if word == "BOOL" else filled


def attribute_type(entities: list[Entity], attribute: str) -> str:
    """The type of an attribute that a filter is on; text if it is one that templates make."""
    types = [one.attributes[attribute].type for one in entities if attribute in one.attributes]
    return types[0] if types and types[0] in {"N", "B", "BOOL"} else "S"

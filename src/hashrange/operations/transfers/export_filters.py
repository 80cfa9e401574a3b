"""Which rows does the FilterSpecification of an export choose, and what does it leave of them? Expressions, compiled as
those of a Query: one value of the partition key, a filter that names no key attributes, a projection.
"""

from typing import NamedTuple

from hashrange.errors import ValidationException
from hashrange.expressions.condition import CompiledCondition, compile_condition, read_checked_condition
from hashrange.expressions.keycondition import compile_key_condition
from hashrange.expressions.parameters import NO_VALUES, TokenUser, check_unused
from hashrange.expressions.projection import CompiledProjection, compile_projection
from hashrange.items.types import Item, Value
from hashrange.items.values import check_values
from hashrange.messages.reads import FILTER_ON_KEY
from hashrange.messages.transfers import FILTER_EMPTY
from hashrange.operations.items.conditions import check_key_paths
from hashrange.operations.items.expression_members import OperationParameters, check_operation_parameters
from hashrange.operations.transfers.export_records import FilterSpecification
from hashrange.tables.open_table import OpenTable, ReadSource
from hashrange.tables.read_spans import KeyTerm, query_span
from hashrange.tables.schema import KeySchema
from hashrange.tables.source_id import make_source_id
from hashrange.tables.span import Span

_PARAMETERS = OperationParameters((), ("ProjectionExpression", "FilterExpression", "KeyConditionExpression"))


class ExportFilter(NamedTuple):
    """A compiled FilterSpecification."""

    terms: list[KeyTerm] | None
    """None: rows of all keys."""
    condition: CompiledCondition | None
    projection: CompiledProjection | None
    values: dict[str, Value]

    def span(self, keys: KeySchema) -> Span | None:
        """The keys of the rows that may be chosen, of a table with these key attributes; None: all. Raises
        ValidationException for terms that do not fit them.
        """
        if self.terms is None:
            return None
        source = ReadSource(make_source_id(0), None, keys, keys.names, keys.names, None)
        return query_span(source, self.terms, is_reverse=False)

    def chooses(self, item: Item) -> bool:
        """True if the filter holds for an item."""
        return self.condition is None or bool(self.condition.test(item, self.values))


def compile_export_filter(specification: FilterSpecification) -> ExportFilter:
    """Compile a specification. Raises ValidationException or Malformed for its first fault."""
    names, raw_values = specification.ExpressionAttributeNames, specification.ExpressionAttributeValues
    texts = (
        specification.KeyConditionExpression,
        specification.FilterExpression,
        specification.ProjectionExpression,
    )
    if texts == (None, None, None) and names is None and raw_values is None:
        raise ValidationException(FILTER_EMPTY)
    check_operation_parameters(specification, _PARAMETERS)
    values = NO_VALUES if raw_values is None else check_values(raw_values)
    users: list[TokenUser | None] = []
    key_condition = None
    if texts[0] is not None:
        parser, root, checks = read_checked_condition("KeyConditionExpression", texts[0], names, values)
        users.append(parser)
    condition = None if texts[1] is None else compile_condition("FilterExpression", texts[1], names, values)
    projection = None if texts[2] is None else compile_projection(texts[2], names)
    check_unused(names, values, condition, projection, *users)
    if texts[0] is not None:
        key_condition = compile_key_condition(root, checks)
    terms = None
    if key_condition is not None:
        terms = [
            KeyTerm(name, operator, tuple([values[token] for token in tokens]))
            for name, operator, tokens in key_condition.terms
        ]
    return ExportFilter(terms, condition, projection, values)


def check_export_filter(table: OpenTable, wanted: ExportFilter) -> None:
    """Raise ValidationException if expressions do not fit the table's keys."""
    wanted.span(table.keys)
    if wanted.condition is None:
        return
    check_key_paths(table, wanted.condition.nested_attributes)
    if wanted.terms is not None:
        for name in table.schema.keys.names:
            if name in wanted.condition.attributes:
                raise ValidationException(FILTER_ON_KEY.format(name=name))

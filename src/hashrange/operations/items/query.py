"""Query: the items of one partition key, in sort key order.

Order of checks: mixing of parameters → QueryFilter and KeyConditions → AttributesToGet repeats → ExclusiveStartKey
values → presence of a key condition → expressions (values, key condition parsed, filter, projection, unused names and
  values, shape of the key condition) → table → index → number of conditions → start key → key conditions → start
  key inside their span → the filter's paths into keys → filter on keys → the projection's paths into keys →
  Select → projection of the index.
Source: service behaviour, captures to 23 October 2026 (observed-2026-11.md 4 and 5).
"""

from typing import NamedTuple

import msgspec

from hashrange.errors import RequestFault, ResourceNotFoundException, ValidationException
from hashrange.expressions.cache import Cache, cache_key
from hashrange.expressions.condition import (
    CompiledCondition,
    compile_condition,
    read_checked_condition,
    run_value_checks,
)
from hashrange.expressions.keycondition import CompiledKeyCondition, compile_key_condition
from hashrange.expressions.legacy import filter_condition, key_conditions
from hashrange.expressions.parameters import NO_VALUES, TokenUser, check_unused
from hashrange.expressions.projection import CompiledProjection
from hashrange.items.types import Item, Value
from hashrange.items.values import check_values
from hashrange.messages import reads as say
from hashrange.operations import shapes
from hashrange.operations.items import constraint_wordings
from hashrange.operations.items.conditions import check_key_paths
from hashrange.operations.items.expression_members import QUERY, check_operation_parameters
from hashrange.operations.items.projections import (
    check_attributes_to_get,
    check_select,
    fetched_projection,
    fetches_items,
    requested_projection,
)
from hashrange.operations.items.read_page import Wanted, check_start_values, read_reply, requested_source
from hashrange.operations.lookup import find_active_table
from hashrange.operations.meter import Meter
from hashrange.operations.naming import reading_operation
from hashrange.operations.operation import Scope
from hashrange.operations.reply import Reply
from hashrange.soon import Soon
from hashrange.tables.open_table import OpenTable, ReadSource
from hashrange.tables.read_spans import KeyTerm, continue_query, query_span, start_key
from hashrange.wire.rules import ON_OTHER_FORMS, RequestRules


class QueryRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The request; members in the order in which their faults are reported."""

    Select: shapes.Select | None = None
    IndexName: shapes.IndexName | None = None
    ReturnConsumedCapacity: shapes.ReturnConsumedCapacity | None = None
    QueryFilter: shapes.FilterConditionMap | None = None
    TableName: shapes.TableName
    ConditionalOperator: shapes.ConditionalOperator | None = None
    AttributesToGet: shapes.AttributeNameList | None = None
    Limit: shapes.PositiveInteger | None = None
    KeyConditions: shapes.FilterConditionMap | None = None
    ConsistentRead: bool | None = None
    ScanIndexForward: bool | None = None
    ExclusiveStartKey: shapes.AttributeMap | None = None
    ProjectionExpression: str | None = None
    FilterExpression: str | None = None
    KeyConditionExpression: str | None = None
    ExpressionAttributeNames: shapes.NameMap | None = None
    ExpressionAttributeValues: shapes.AttributeMap | None = None


_KEY_ATTRIBUTES_MAX = 2


class QueryExpressions(NamedTuple):
    """The expressions of a Query, compiled and checked against each other."""

    key_condition: CompiledKeyCondition
    condition: CompiledCondition | None
    projection: CompiledProjection | None


_KNOWN: Cache[QueryExpressions] = Cache()


_Asked = tuple[list[KeyTerm], CompiledCondition | None, CompiledProjection | None, dict[str, Value], Item | None]
"""The checked parts of a Query request that need no table: terms of the key condition, filter, projection, values of
tokens, and ExclusiveStartKey.
"""


def query(scope: Scope, request: QueryRequest, meter: Meter) -> Soon[Reply]:
    """Return one page of the items that match key condition and filter; raises the first fault."""
    table = find_active_table(scope, request.TableName)
    terms, condition, projection, values, start_item = _compile(request)
    if table is None:
        raise ResourceNotFoundException(say.TABLE_NOT_FOUND)
    consistent = request.ConsistentRead is True
    source = requested_source(table, request.IndexName, consistent=consistent)

    if len(terms) > _KEY_ATTRIBUTES_MAX:
        maximum = max(_KEY_ATTRIBUTES_MAX, len(source.key_names))
        if maximum == _KEY_ATTRIBUTES_MAX and request.KeyConditions is not None:
            _check_legacy_count(terms, maximum)
        if len(terms) > maximum:
            raise RequestFault(say.TOO_MANY_KEY_CONDITIONS.format(count=len(terms), maximum=maximum))

    start = None if start_item is None else start_key(table, source, start_item)
    span = query_span(source, terms, is_reverse=request.ScanIndexForward is False)
    if start is not None and start_item is not None:
        span = continue_query(source, terms, span, start, start_item)
    if condition is not None:
        _check_filter(table, source, condition, is_legacy=request.QueryFilter is not None)
    if projection is not None:
        check_key_paths(table, projection.nested_attributes)
    if request.Select is not None:
        check_select(request)

    is_count = request.Select == "COUNT"
    fetches = fetches_items(request, source, projection, condition)
    returned = fetched_projection(request, source, projection) if fetches else projection
    wanted = Wanted(table, source, consistent, condition, values, returned, is_count, fetches)
    return read_reply(scope, wanted, span, request.Limit, request.TableName, meter)


def _compile(request: QueryRequest) -> _Asked:
    """Check and compile, in order, the parameters that need no table; cached expressions are not compiled again."""
    names = request.ExpressionAttributeNames
    raw_values = request.ExpressionAttributeValues
    texts = (request.KeyConditionExpression, request.FilterExpression, request.ProjectionExpression)
    key = cache_key(texts, names, raw_values)
    known = _KNOWN.entries.get(key)
    if known is None or _has_legacy(request):
        check_operation_parameters(request, QUERY)
        if request.KeyConditionExpression is None:
            return _compile_legacy(request)
        known = None
    start_item = check_start_values(request.ExclusiveStartKey)
    values = NO_VALUES if raw_values is None else check_values(raw_values)
    if known is None:
        # The key condition is parsed first (captures agree). Its shape is checked last, after unused names and values,
        # which are checked for all expressions together. Filter before projection is our choice.
        text = request.KeyConditionExpression or ""
        parser, root, value_checks = read_checked_condition("KeyConditionExpression", text, names, values)
        condition, projection = _compile_expressions(request, values, parser)
        key_condition = compile_key_condition(root, value_checks)
        _KNOWN.add(key, QueryExpressions(key_condition, condition, projection))
    else:
        key_condition, condition, projection = known
        if key_condition.value_checks:
            run_value_checks("KeyConditionExpression", key_condition.value_checks, values)
        if condition is not None and condition.value_checks:
            run_value_checks("FilterExpression", condition.value_checks, values)
    return _terms(key_condition, values), condition, projection, values, start_item


def _has_legacy(request: QueryRequest) -> bool:
    """True if the request has any legacy parameter."""
    return not (
        request.KeyConditions is None
        and request.QueryFilter is None
        and request.AttributesToGet is None
        and request.ConditionalOperator is None
    )


def _compile_expressions(
    request: QueryRequest, values: dict[str, Value], *others: TokenUser
) -> tuple[CompiledCondition | None, CompiledProjection | None]:
    """Compile filter and projection. `others`: the key condition, whose names and values count as used too."""
    names = request.ExpressionAttributeNames
    condition = None
    if request.FilterExpression is not None:
        condition = compile_condition("FilterExpression", request.FilterExpression, names, values)
    projection = requested_projection(request)
    check_unused(names, values, condition, projection, *others)
    return condition, projection


def _compile_legacy(request: QueryRequest) -> _Asked:
    """Check and compile a Query without KeyConditionExpression; filter and projection may be legacy or expressions."""
    legacy_filter = None
    if request.QueryFilter is not None or request.ConditionalOperator is not None:
        shapes.check_legacy(request.QueryFilter or {}, shapes.Condition)
        legacy_filter = filter_condition(request.QueryFilter, request.ConditionalOperator, "QueryFilter")
    key_condition = None
    if request.KeyConditions is not None:
        shapes.check_legacy(request.KeyConditions, shapes.Condition)
        key_condition = key_conditions(request.KeyConditions)
    check_attributes_to_get(request.AttributesToGet)
    start_item = check_start_values(request.ExclusiveStartKey)
    if key_condition is None:
        raise RequestFault(say.NO_KEY_CONDITION)
    raw_values = request.ExpressionAttributeValues
    values = NO_VALUES if raw_values is None else check_values(raw_values)
    condition, projection = _compile_expressions(request, values)
    terms = _terms(*key_condition)
    _check_legacy_count(terms, _KEY_ATTRIBUTES_MAX if request.IndexName is None else len(terms))
    return terms, legacy_filter or condition, projection, values, start_item


def _terms(key_condition: CompiledKeyCondition, values: dict[str, Value]) -> list[KeyTerm]:
    """Terms of the key condition, with values instead of tokens."""
    return [
        KeyTerm(name, operator, tuple(map(values.__getitem__, tokens)))
        for name, operator, tokens in key_condition.terms
    ]


def _check_legacy_count(terms: list[KeyTerm], maximum: int) -> None:
    """Raise RequestFault unless KeyConditions has 1 to `maximum` terms; the message says 1 or 2 for any maximum."""
    if not 1 <= len(terms) <= maximum:
        raise RequestFault(say.LEGACY_KEY_CONDITION_COUNT)


def _check_filter(table: OpenTable, source: ReadSource, condition: CompiledCondition, *, is_legacy: bool) -> None:
    """Raise ValidationException for a path into a key of table or index, then for a filter on keys of `source`."""
    check_key_paths(table, condition.nested_attributes)
    for name in source.keys.partition_names + source.keys.sort_names:
        if name in condition.attributes:
            message = say.QUERY_FILTER_ON_KEY if is_legacy else say.FILTER_ON_KEY
            raise ValidationException(message.format(name=name))


OPERATION = reading_operation(
    "Query",
    query,
    RequestRules(
        wordings={
            **constraint_wordings.TABLE_NAME,
            **constraint_wordings.CONDITIONAL_OPERATOR,
            **constraint_wordings.LIMIT,
            **constraint_wordings.UNKNOWN_OPERATORS,
        },
        falls_back=ON_OTHER_FORMS,
    ),
)

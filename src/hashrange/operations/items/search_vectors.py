"""SearchVectors: the items of a vector index whose vectors are most similar to a given one.

Order of checks: members as the strict decoder reads them → TableName, empty → lengths and TopK below 1 → TableName →
ReturnConsumedCapacity → TopK above 100 → values of the vector → ExpressionAttributeValues → placeholders without use,
empty or malformed → SearchConditionExpression → ProjectionExpression → unused names and values → table → index →
dimensions → attributes of the search condition → its HASH attribute → types of its values → empty HASH.

Table and index are looked at again when the store has read. Results hold what the entry holds, without the vector
unless the projection names it; then it is the index's copy. A search is eventually consistent.
Source: vectors.md 8 to 11 (captures of 11 August to 23 October 2026).
"""

from binascii import a2b_base64
from collections.abc import Sequence
from typing import Annotated, NamedTuple

import msgspec
from msgspec import Meta

from hashrange.aws_services.operation import Operation
from hashrange.errors import IndexNotFound, Malformed, ResourceNotFoundException, ValidationException
from hashrange.expressions.parameters import NO_VALUES, check_search_maps, check_unused
from hashrange.expressions.projection import CompiledProjection, compile_projection
from hashrange.expressions.search_condition import CompiledSearch, compile_search
from hashrange.items.keys import encode_partition_key
from hashrange.items.row_layout import row_json_bytes
from hashrange.items.rows import decode_for, decode_row, part_row
from hashrange.items.steps import batches, walk
from hashrange.items.types import Row, Value
from hashrange.items.values import check_values
from hashrange.limits import SEARCH_BYTES_MIN, SEARCH_RESULTS_MAX_BYTES, TOP_K_MAX, VECTOR_DIMENSIONS_MAX
from hashrange.messages import reads, requests
from hashrange.messages import vectors as say
from hashrange.operations import shapes
from hashrange.operations.items.constraint_wordings import TABLE_AND_CAPACITY
from hashrange.operations.items.search_terms import check_terms_of, hash_value
from hashrange.operations.lookup import find_active_table
from hashrange.operations.meter import Meter, SearchUsage
from hashrange.operations.naming import by_table_name
from hashrange.operations.operation import JsonWire, Scope
from hashrange.operations.reply import Items, Reply, Structure
from hashrange.soon import Soon, then
from hashrange.tables.open_table import OpenTable, ReadSource
from hashrange.tables.states import is_allocating, vector_index_status
from hashrange.vectors.floats import FLOAT_BYTES, float_texts, pack_floats
from hashrange.vectors.search import FoundEntries, VectorQuery
from hashrange.wire.rules import Constraint, ConstraintWording, RequestRules
from hashrange.wire.strict_json import INTERNAL_TYPE_NAMES


class SearchVectorsRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The request; members in the order in which missing ones are told."""

    ExpressionAttributeNames: shapes.NameMap | None = None
    ExpressionAttributeValues: shapes.AttributeMap | None = None
    IndexName: Annotated[str, Meta(min_length=3, max_length=255)]
    ProjectionExpression: str | None = None
    ReturnConsumedCapacity: shapes.ReturnConsumedCapacity | None = None
    SearchConditionExpression: str | None = None
    SearchVector: Annotated[list[shapes.AttributeValue], Meta(min_length=1, max_length=VECTOR_DIMENSIONS_MAX)]
    TableName: shapes.TableName
    TopK: shapes.PositiveInteger


class _AskedSearch(NamedTuple):
    """The checked parts of a request that need no table, with expressions compiled."""

    vector: bytes
    search: CompiledSearch | None
    projection: CompiledProjection | None
    values: dict[str, Value]


def search_vectors(scope: Scope, request: SearchVectorsRequest, meter: Meter) -> Soon[Reply]:
    """Return the most similar items of a vector index; raises the first fault."""
    table = find_active_table(scope, request.TableName)
    asked = _check(request)
    if table is None:
        raise ResourceNotFoundException(reads.TABLE_NOT_FOUND)
    source = _searched_source(scope, table, request.IndexName)
    query = _query(source, asked, request.TopK)
    if query is None:
        return _reply(table, source, asked.projection, request.TableName, meter, FoundEntries([], 0))
    found = scope.store.search_vectors(table, source, query, meter)

    def reply(entries: FoundEntries) -> Reply:
        _require_index(scope, request, source)
        return _reply(table, source, asked.projection, request.TableName, meter, entries)

    return reply(found) if isinstance(found, FoundEntries) else then(found, reply)


def _require_index(scope: Scope, request: SearchVectorsRequest, source: ReadSource) -> None:
    """Raise the refusal of a search that begins now, if table or index have been deleted while this one was reading:
    then it may not have found all.
    """
    table = find_active_table(scope, request.TableName)
    if table is None:
        raise ResourceNotFoundException(reads.TABLE_NOT_FOUND)
    present = table.vector_source(request.IndexName)
    if present is None or present.source_id != source.source_id:
        raise IndexNotFound(reads.INDEX_NOT_FOUND.format(name=request.IndexName))


# --- checks that need no table ------------------------------------------------------------------


def _check(request: SearchVectorsRequest) -> _AskedSearch:
    """Check, in order, what needs no table."""
    if request.TopK > TOP_K_MAX:
        raise ValidationException(say.TOP_K_RANGE.format(value=request.TopK, most=TOP_K_MAX))
    vector = _packed(request.SearchVector)
    names, raw_values = request.ExpressionAttributeNames, request.ExpressionAttributeValues
    values = NO_VALUES if raw_values is None else _checked_values(raw_values)
    condition, projected = request.SearchConditionExpression, request.ProjectionExpression
    expressions = (("SearchConditionExpression", condition), ("ProjectionExpression", projected))
    check_search_maps(expressions, names, raw_values)
    search = None if condition is None else compile_search(condition, names, values)
    projection = None if projected is None else compile_projection(projected, names)
    check_unused(names, values, search, projection)
    return _AskedSearch(vector, search, projection, values)


def _packed(elements: Sequence[Value]) -> bytes:
    """The vector as 32-bit floats. Raises ValidationException unless every element is a number that such a float holds.

    Faults of an element's JSON types precede this one: the slow path finds them.
    """
    texts: list[object] = []
    sizes: set[int] = set()
    for some in batches(elements):
        texts += [element.get("N") for element in some]
        sizes.update(map(len, some))
    vector = None
    if sizes == {1} and set(map(type, texts)) == {str}:
        vector = pack_floats(texts)  # type: ignore[arg-type]  # see the line above
    if vector is None:
        raise ValidationException(say.VECTOR_VALUES)
    return vector


def _checked_values(values: dict[str, Value]) -> dict[str, Value]:
    """The canonical values. A type that only the search endpoint has is told before other faults."""
    try:
        return check_values(values)
    except (Malformed, ValidationException):
        if any(_has_internal_type(value) for value in walk(values.values())):
            raise ValidationException(say.INTERNAL_TYPE) from None
        raise


def _has_internal_type(value: Value) -> bool:
    """True if the value, or one inside it, is of a type that only the search endpoint has."""
    pending = [value]
    while pending:
        for name, content in pending.pop().items():
            if name in INTERNAL_TYPE_NAMES:
                return True
            inner = content.values() if name == "M" and isinstance(content, dict) else content if name == "L" else ()
            pending.extend([one for one in walk(list(inner)) if isinstance(one, dict)])
    return False


# --- checks that need the table -----------------------------------------------------------------


def _searched_source(scope: Scope, table: OpenTable, index_name: str) -> ReadSource:
    """The source of the index. Raises ValidationException if there is no such vector index, or it cannot be searched
    yet.
    """
    source = table.vector_source(index_name)
    now_seconds = scope.clock.service_time()
    if source is None or source.vectors is None or is_allocating(source.vectors.index, now_seconds):
        raise IndexNotFound(reads.INDEX_NOT_FOUND.format(name=index_name))
    if vector_index_status(source.vectors.index, "ACTIVE", now_seconds) != "ACTIVE":
        raise ValidationException(say.INDEX_BACKFILLING.format(name=index_name))
    return source


def _query(source: ReadSource, asked: _AskedSearch, top_k: int) -> VectorQuery | None:
    """What the store is asked for; None if no entry can have the wanted HASH value. Raises the first fault of the
    vector's length and of the search condition.
    """
    vectors = source.vectors
    assert vectors is not None
    given, declared = len(asked.vector) // FLOAT_BYTES, vectors.index.dimensions
    if given != declared:
        raise ValidationException(say.DIMENSIONS_DIFFER.format(given=given, declared=declared))
    search, values = asked.search, asked.values
    check_terms_of(search, values, vectors)
    prefix = None
    if vectors.hash_type is not None:
        scalar = hash_value(search, values, vectors)
        if scalar is None:
            return None
        prefix = encode_partition_key(vectors.hash_type, scalar)
    if search is None or (prefix is not None and search.is_one_equality):
        return VectorQuery(prefix, asked.vector, top_k)
    test = search.test
    return VectorQuery(prefix, asked.vector, top_k, lambda item: test(item, values), search.attributes)


# --- the reply ----------------------------------------------------------------------------------


def _reply(
    table: OpenTable,
    source: ReadSource,
    projection: CompiledProjection | None,
    table_name: str,
    meter: Meter,
    found: FoundEntries,
) -> Reply:
    """The reply, with the usage recorded. `table_name`: name or ARN, as in the request."""
    assert source.vectors is not None
    index = source.vectors.index
    results = Items()
    left_bytes = SEARCH_RESULTS_MAX_BYTES
    for row, score in found.entries:
        shown = _shown_row(row, index.attribute, projection)
        left_bytes -= row_json_bytes(shown)
        if left_bytes < 0:
            raise ValidationException(say.RESULT_TOO_LARGE.format(most=SEARCH_RESULTS_MAX_BYTES))
        results.append(Structure({"Item": shown, "Score": score}))
    search_bytes = max(SEARCH_BYTES_MIN, found.read_bytes)
    meter.append(SearchUsage(table, table_name, 0.0, search_bytes=search_bytes, index_name=index.name))
    return {"SearchResults": results}


def _shown_row(row: Row, attribute: str, projection: CompiledProjection | None) -> Row:
    """The part of an entry that a reply shows; `attribute` is the vector's, which entries hold as a Binary."""
    if projection is None:
        item = decode_row(row)
        del item[attribute]
        return part_row(item)
    item = decode_for(row, projection.attributes)
    if attribute in projection.attributes:
        item = {**item, attribute: _vector_value(item[attribute])}
    return part_row(projection.project(item))


def _vector_value(stored: Value) -> Value:
    """A vector as a list of numbers."""
    return {"L": [{"N": text} for text in float_texts(a2b_base64(stored["B"]))]}


# --- the record ---------------------------------------------------------------------------------


def _without_value(member: str, constraint: str, bound: int) -> ConstraintWording:
    words = constraint.format(bound=bound)
    return ConstraintWording(say.VIOLATION_WITHOUT_VALUE.format(member=member, constraint=words))


_TABLE_NAME_EMPTY: tuple[str, Constraint] = ("tableName", "min_length")
_MEMBERS: dict[tuple[str, Constraint], ConstraintWording] = {
    ("indexName", "min_length"): _without_value("IndexName", requests.LENGTH_AT_LEAST, 3),
    ("indexName", "max_length"): _without_value("IndexName", requests.LENGTH_AT_MOST, 255),
    ("searchVector", "min_length"): _without_value("SearchVector", requests.LENGTH_AT_LEAST, 1),
    ("searchVector", "max_length"): _without_value("SearchVector", requests.LENGTH_AT_MOST, VECTOR_DIMENSIONS_MAX),
    ("topK", "minimum"): _without_value("TopK", requests.VALUE_AT_LEAST, 1),
}
OPERATION = Operation(
    "SearchVectors",
    SearchVectorsRequest,
    search_vectors,
    JsonWire(
        rules=RequestRules(
            wordings={
                _TABLE_NAME_EMPTY: _without_value("TableName", requests.LENGTH_AT_LEAST, 1),
                **_MEMBERS,
                **dict.fromkeys(TABLE_AND_CAPACITY, ConstraintWording(is_bare=True)),
            },
            stages=((_TABLE_NAME_EMPTY,), tuple(_MEMBERS), *[(one,) for one in TABLE_AND_CAPACITY]),
            is_strict=True,
        )
    ),
    capacity="search",
    tables=by_table_name,
    is_eventual=lambda _request: True,
)

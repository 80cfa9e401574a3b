"""Does UpdateTable allow the requested creation or deletion of a vector index?
The checks of the request, then those against the table.

Of the request: index names → one action in each update → of a creation what CreateTable checks too. Against the table:
billing mode → one creation or deletion at a time (`update_table_checks`) → the name is free, or the index is there →
numbers of indexes and of projected attributes → attributes that the table has already. Source: service behaviour,
captures from August to October 2026.
"""

from collections.abc import Iterator

from hashrange import limits
from hashrange.errors import (
    LimitExceededException,
    ResourceInUseException,
    ResourceNotFoundException,
    ValidationException,
)
from hashrange.items.steps import walk
from hashrange.messages import tables, vector_indexes
from hashrange.operations.tables.create_table_checks import check_index_names, check_projection
from hashrange.operations.tables.index_members import (
    CreateVectorIndexAction,
    DeleteVectorIndexAction,
    VectorIndexUpdate,
)
from hashrange.operations.tables.requests import UpdateTableRequest
from hashrange.operations.tables.vector_index_checks import (
    check_dimensions,
    check_projected_names,
    check_redefined,
    check_search_schema,
    check_vector_limits,
    check_vectors_together,
    require_on_demand,
)
from hashrange.tables.schema import Index, Table, VectorIndex
from hashrange.tables.states import is_allocating, vector_index_status


def created_vector_indexes(request: UpdateTableRequest) -> list[CreateVectorIndexAction]:
    """The vector indexes that the request creates; in a valid request at most one."""
    return [update.Create for update in walk(request.VectorIndexUpdates or []) if update.Create is not None]


def check_vector_names(request: UpdateTableRequest) -> None:
    """Raise Malformed for an index name with invalid characters, which the fast decoder does not check."""
    updates = request.VectorIndexUpdates or []
    check_index_names(action.IndexName for update in walk(updates) for action in _actions(update))


def _actions(update: VectorIndexUpdate) -> Iterator[CreateVectorIndexAction | DeleteVectorIndexAction]:
    if update.Create is not None:
        yield update.Create
    if update.Delete is not None:
        yield update.Delete


def check_vector_updates(request: UpdateTableRequest) -> None:
    """Require one action in each update, and that what is created can be an index. Raises ValidationException."""
    definitions = request.AttributeDefinitions or []
    defined = dict.fromkeys(definition.AttributeName for definition in walk(definitions))
    for update in walk(request.VectorIndexUpdates or []):
        actions = list(_actions(update))
        if not actions:
            raise ValidationException(vector_indexes.VECTOR_UPDATE_EMPTY)
        if len(actions) > 1:
            raise ValidationException(vector_indexes.VECTOR_UPDATE_SEVERAL)
        if update.Create is not None:
            check_dimensions(update.Create)
            check_projection(update.Create.Projection)
            check_projected_names(update.Create)
            check_search_schema(update.Create, defined)
            check_vector_limits(update.Create)


def check_vector_mode(request: UpdateTableRequest, table: Table) -> None:
    """Refuse a vector index for a table that is not on demand, and the switch of a table with vector indexes to
    provisioned throughput, even if the request deletes the last of them. Raises ValidationException.
    """
    if table.vector_indexes and request.BillingMode == "PROVISIONED":
        raise ValidationException(vector_indexes.SWITCH_WITH_VECTOR_INDEXES)
    if created_vector_indexes(request):
        require_on_demand(request.BillingMode or table.billing_mode)


def check_vectors_against_table(request: UpdateTableRequest, table: Table, now_seconds: float) -> None:
    """Require that a created index fits the table, and that a deleted index is there and past its allocation phase.

    Raises ResourceInUseException, ResourceNotFoundException, LimitExceededException or ValidationException.
    """
    indexes = {index.name: index for index in table.vector_indexes}
    for update in walk(request.VectorIndexUpdates or []):
        if update.Create is not None:
            _check_creation(update.Create, request, table, now_seconds)
        elif update.Delete is not None:
            name = update.Delete.IndexName
            if name not in indexes:
                raise ResourceNotFoundException(tables.INDEX_NOT_FOUND.format(index=name, table=table.name))
            if is_allocating(indexes[name], now_seconds):
                raise ResourceInUseException(tables.INDEX_ALLOCATING.format(name=table.name, index=name))


def _check_creation(
    created: CreateVectorIndexAction, request: UpdateTableRequest, table: Table, now_seconds: float
) -> None:
    present: list[Index | VectorIndex] = [*table.indexes, *table.vector_indexes]
    named = next((index for index in present if index.name == created.IndexName), None)
    if named is not None:
        state: str = named.state
        if isinstance(named, VectorIndex):
            state = vector_index_status(named, "ACTIVE", now_seconds)
        if state == "CREATING":
            raise ResourceInUseException(
                vector_indexes.VECTOR_INDEX_BEING_CREATED.format(name=table.name, index=named.name)
            )
        raise ValidationException(tables.INDEX_EXISTS)
    if len(table.vector_indexes) >= limits.VECTOR_INDEXES_MAX:
        raise LimitExceededException(
            vector_indexes.TOO_MANY_ADDED_VECTOR_INDEXES.format(limit=limits.VECTOR_INDEXES_MAX)
        )
    if table.next_index_id > limits.INDEX_CREATIONS_MAX:
        raise LimitExceededException(
            tables.INDEX_IDS_USED_UP.format(limit=f"{limits.INDEX_CREATIONS_MAX:,}", table=table.name)
        )
    types = {one.AttributeName: one.AttributeType for one in walk(request.AttributeDefinitions or [])}
    check_vectors_together([created], types, table.vector_indexes)
    check_redefined(created, types, table)

"""What does Select ask for, and does a read fetch items for a local index?
Select, the projection (`expressions/projection.py`) and the filter decide.

Source: service behaviour, captures to Oct 2026.
"""

from typing import Protocol

from hashrange.errors import RequestFault, ValidationException
from hashrange.expressions.condition import CompiledCondition
from hashrange.expressions.projection import CompiledProjection, compile_projection, project_attributes
from hashrange.items.rows import decode_for, part_row
from hashrange.items.types import Row
from hashrange.messages import reads as say
from hashrange.messages.requests import ONE_ERROR, SELECT_UNKNOWN
from hashrange.tables.open_table import ReadSource

_KNOWN_SELECTS = ("SPECIFIC_ATTRIBUTES", *say.SELECT_CHOICES)


class ProjectedRequest(Protocol):
    """The members of a read that choose attributes."""

    @property
    def AttributesToGet(self) -> list[str] | None: ...  # noqa: N802
    @property
    def ProjectionExpression(self) -> str | None: ...  # noqa: N802
    @property
    def ExpressionAttributeNames(self) -> dict[str, str] | None: ...  # noqa: N802


class SelectingRequest(ProjectedRequest, Protocol):
    """The members of a Query or Scan that choose attributes."""

    @property
    def IndexName(self) -> str | None: ...  # noqa: N802
    @property
    def Select(self) -> str | None: ...  # noqa: N802


def check_attributes_to_get(names: list[str] | None) -> None:
    """Raise RequestFault if AttributesToGet repeats a name."""
    if names is not None and len(set(names)) < len(names):
        repeated = next(name for position, name in enumerate(names) if name in names[:position])
        raise RequestFault(say.DUPLICATE_ATTRIBUTE.format(name=repeated))


def requested_projection(request: ProjectedRequest) -> CompiledProjection | None:
    """The request's projection, compiled from an expression or from names; None for whole items."""
    if request.ProjectionExpression is not None:
        return compile_projection(request.ProjectionExpression, request.ExpressionAttributeNames)
    if request.AttributesToGet is not None:
        return project_attributes(request.AttributesToGet)
    return None


def project_row(projection: CompiledProjection, row: Row) -> Row:
    """The projected part of a row, as a row for replies: a decoded item would take many times the memory."""
    return part_row(projection.project(decode_for(row, projection.attributes)))


def fetches_items(
    request: SelectingRequest,
    source: ReadSource,
    projection: CompiledProjection | None,
    condition: CompiledCondition | None,
) -> bool:
    """True if a local index's entries lack attributes that the reply or the filter needs, so that items are fetched.

    Raises ValidationException if a global index's entries lack attributes that the reply would return.
    """
    index, projected = source.index, source.projected_names
    if index is None or projected is None:
        return False
    if index.is_global:
        if request.Select == "ALL_ATTRIBUTES":
            raise ValidationException(say.ALL_ATTRIBUTES_NOT_PROJECTED.format(index=index.name))
        if projection is not None and not projection.attributes <= projected:
            missing = ", ".join(sorted(projection.attributes - projected))
            raise ValidationException(say.NOT_PROJECTED.format(index=index.name, names=missing))
        return False
    wanted = frozenset() if projection is None else projection.attributes
    if condition is not None:
        wanted |= condition.attributes
    return request.Select == "ALL_ATTRIBUTES" or not wanted <= projected


def fetched_projection(
    request: SelectingRequest, source: ReadSource, projection: CompiledProjection | None
) -> CompiledProjection | None:
    """Projection for the reply if items are fetched; None for whole rows.

    If they are fetched only for the filter, the reply still has just the attributes that the local index projects.
    """
    if projection is not None or request.Select == "ALL_ATTRIBUTES":
        return projection
    assert source.projected_names is not None
    return project_attributes(sorted(source.projected_names))


def check_select(request: SelectingRequest) -> None:
    """Raise ValidationException if Select is unknown, contradicts ProjectionExpression or AttributesToGet, or requests
    ALL_PROJECTED_ATTRIBUTES without an index.
    """
    select = request.Select
    if select is None:
        return
    if select not in _KNOWN_SELECTS:
        raise ValidationException(ONE_ERROR.format(errors=SELECT_UNKNOWN.format(value=select)))
    has_projection = request.ProjectionExpression is not None or request.AttributesToGet is not None
    if select == "SPECIFIC_ATTRIBUTES":
        if not has_projection:
            raise ValidationException(ONE_ERROR.format(errors=say.SELECT_SPECIFIC))
        return
    if has_projection:
        parameter = "AttributesToGet" if request.ProjectionExpression is None else "ProjectionExpression"
        message = say.SELECT_WITH_PROJECTION.format(parameter=parameter, chosen=say.SELECT_CHOICES[select])
        raise ValidationException(ONE_ERROR.format(errors=message))
    if select == "ALL_PROJECTED_ATTRIBUTES" and request.IndexName is None:
        raise ValidationException(ONE_ERROR.format(errors=say.SELECT_PROJECTED))

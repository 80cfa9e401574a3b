"""Which members and checks do the operations share? The place of a target, pages, times,
and how faults of members are worded.
"""

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, NoReturn, TypeVar

import msgspec

from hashrange.autoscaling.auto_scaling import AutoScaling
from hashrange.autoscaling.enumerations import SCALABLE_DIMENSIONS, SERVICE_NAMESPACES
from hashrange.autoscaling.limits import (
    SCALING_DESCRIBED_MAX,
    SCALING_NAME_LENGTH_MAX,
    SCALING_RESOURCE_LENGTH_MAX,
    SCALING_TAG_KEY_LENGTH_MAX,
    SCALING_TAG_VALUE_LENGTH_MAX,
)
from hashrange.autoscaling.records import (
    DIMENSIONS,
    SERVICE_NAMESPACE,
    ScalableDimension,
    ScalableTarget,
    ScalingPolicy,
    ScheduledAction,
    TargetPlace,
)
from hashrange.aws_services.operation import Caller, ErrorShape, MemberFault, ServiceError
from hashrange.aws_services.paging import part_from, place_of_token
from hashrange.aws_services.tagging import is_reserved_tag
from hashrange.items.steps import walk
from hashrange.messages import autoscaling as sentences

DescribedT = TypeVar("DescribedT")
NamedT = TypeVar("NamedT", ScalingPolicy, ScheduledAction)
_bound = re.compile(r"Expected `int` (>=|<=) (-?\d+)$").match
ERRORS = MappingProxyType({"InternalServiceException": ErrorShape(500, "InternalServiceException")})


def word_scaling_fault(fault: MemberFault) -> ServiceError:
    """The error for a request whose members are wrong."""
    path = _path(fault.path)
    if fault.kind == "missing":
        return scaling_invalid(sentences.NULL.format(path=path))
    if fault.kind == "type" or not path:
        return ServiceError("SerializationException", sentences.MALFORMED.format(detail=fault.detail))
    return scaling_invalid(
        sentences.CONSTRAINT.format(value=fault.value, path=path, constraint=_constraint(fault.detail))
    )


def _constraint(detail: str) -> str:
    """The bound of a number in the service's words."""
    bound = _bound(detail)
    if bound is None:
        return detail
    text = sentences.TOO_SMALL if bound[1] == ">=" else sentences.TOO_GREAT
    return text.format(least=bound[2], most=bound[2])


def _path(path: str) -> str:
    """`StepAdjustments.1.Name` → `stepAdjustments.1.name`."""
    return ".".join(part[:1].lower() + part[1:] for part in path.split("."))


def scaling_invalid(message: str) -> ServiceError:
    """ValidationException with this message."""
    return ServiceError("ValidationException", message)


def refuse_scaling(message: str) -> NoReturn:
    """Raise ValidationException with this message."""
    raise scaling_invalid(message)


def check_scaling_length(path: str, text: str | None, most: int, least: int = 1) -> None:
    """Raise ServiceError unless the text, if there is one, has a length in these bounds."""
    if text is not None and not least <= len(text) <= most:
        is_long = len(text) > most
        constraint = sentences.TOO_LONG.format(most=most) if is_long else sentences.TOO_SHORT.format(least=least)
        refuse_scaling(sentences.CONSTRAINT.format(value=text[:100], path=_path(path), constraint=constraint))


def check_scaling_name(path: str, name: str, pattern: str) -> None:
    """Raise ServiceError unless the name has a length of 1 to 256 and the pattern."""
    check_scaling_length(path, name, SCALING_NAME_LENGTH_MAX)
    if re.fullmatch(pattern, name) is None:
        constraint = sentences.NOT_MATCHING.format(pattern=pattern)
        refuse_scaling(sentences.CONSTRAINT.format(value=name, path=_path(path), constraint=constraint))


def check_scaling_value(path: str, value: str | None, allowed: Sequence[str]) -> None:
    """Raise ServiceError unless the value, if there is one, is one of these."""
    if value is not None and value not in allowed:
        refuse_scaling(sentences.FAULT.format(faults=_enumeration_fault(path, value, allowed)))


def _enumeration_fault(path: str, value: str, allowed: Sequence[str]) -> str:
    constraint = sentences.NOT_ONE_OF.format(values=", ".join(allowed))
    return sentences.MEMBER_FAULT.format(value=value[:100], path=_path(path), constraint=constraint)


def check_scaling_names(
    path: str, names: Sequence[str], most: int, length_max: int = SCALING_RESOURCE_LENGTH_MAX
) -> None:
    """Raise ServiceError if there are too many names, or one has not a length of 1 to `length_max`."""
    if len(names) > most:
        constraint = sentences.TOO_LONG.format(most=most)
        refuse_scaling(
            sentences.CONSTRAINT.format(value=str(list(names))[:100], path=_path(path), constraint=constraint)
        )
    for place, name in enumerate(names, 1):
        check_scaling_length(f"{path}.{place}.member", name, length_max)


def check_space(namespace: str, dimension: str | None = None) -> ScalableDimension | None:
    """The dimension, which is one of DynamoDB; None: there is none.
    Raises ServiceError, with all values that the API does not have.
    """
    members = ("ServiceNamespace", namespace, SERVICE_NAMESPACES), ("ScalableDimension", dimension, SCALABLE_DIMENSIONS)
    faults = [
        _enumeration_fault(path, value, allowed)
        for path, value, allowed in members
        if value is not None and value not in allowed
    ]
    if faults:
        text = sentences.FAULTS if len(faults) > 1 else sentences.FAULT
        refuse_scaling(text.format(count=len(faults), faults="; ".join(faults)))
    if namespace != SERVICE_NAMESPACE:
        refuse_scaling(sentences.NAMESPACE.format(namespace=namespace))
    known = next((one for one in DIMENSIONS if one == dimension), None)
    if dimension is not None and known is None:
        refuse_scaling(sentences.UNSUPPORTED)
    return known


def target_place(caller: Caller, namespace: str, resource_id: str, dimension: str) -> TargetPlace:
    """The place that a request names. Raises ServiceError."""
    known = check_space(namespace, dimension)
    check_scaling_length("ResourceId", resource_id, SCALING_RESOURCE_LENGTH_MAX)
    parts = resource_id.split("/")
    is_table = len(parts) == 2 and parts[0] == "table"
    is_index = len(parts) == 4 and (parts[0], parts[2]) == ("table", "index")
    fits = known is not None and all(parts) and known.split(":")[1] == ("table" if is_table else "index")
    if known is None or not fits or not (is_table or is_index):
        refuse_scaling(sentences.UNSUPPORTED)
    return TargetPlace(caller.account, caller.region, resource_id, known)


def registered(scaling: AutoScaling, place: TargetPlace, message: str = sentences.NO_TARGET) -> ScalableTarget:
    """The target at this place. Raises ServiceError if it is not registered."""
    target = scaling.target(place)
    if target is None:
        raise not_found(message, place)
    return target


def not_found(message: str, place: TargetPlace, name: str = "") -> ServiceError:
    """ObjectNotFoundException that names the place."""
    text = message.format(resource=place.resource_id, dimension=place.dimension, name=name)
    return ServiceError("ObjectNotFoundException", text)


def place_members(place: TargetPlace) -> dict[str, Any]:
    """The members with which replies name the place."""
    return {
        "ServiceNamespace": SERVICE_NAMESPACE,
        "ResourceId": place.resource_id,
        "ScalableDimension": place.dimension,
    }


class DescribingRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The members that requests for pages of records share."""

    ServiceNamespace: str
    ScalableDimension: str | None = None
    MaxResults: int | None = None
    NextToken: str | None = None


class DescribingResourceRequest(DescribingRequest, frozen=True, kw_only=True):
    """The members of requests for the records of one resource, or of all."""

    ResourceId: str | None = None

    @property
    def resource_ids(self) -> Sequence[str] | None:
        """As of a request that names several resources."""
        return None if self.ResourceId is None else [self.ResourceId]


def filtered(
    request: DescribingRequest,
    resource_ids: Sequence[str] | None,
    records: Sequence[DescribedT],
    place_in: Callable[[DescribedT], TargetPlace],
) -> list[DescribedT]:
    """The records of these resources, None: of all, and of the request's dimension. May give way.
    Raises ServiceError.
    """
    dimension = request.ScalableDimension
    check_scaling_names("ResourceIds", resource_ids or (), SCALING_DESCRIBED_MAX)
    if dimension is not None and not resource_ids:
        refuse_scaling(sentences.DIMENSION_NEEDS_RESOURCE)
    return [
        one
        for one in walk(records)
        if (resource_ids is None or place_in(one).resource_id in resource_ids)
        and dimension in (None, place_in(one).dimension)
    ]


def described_named(
    request: DescribingResourceRequest, records: Sequence[NamedT], names: Sequence[str] | None
) -> Sequence[NamedT]:
    """The records of the request's resource and dimension, and with these names; None, or no names: of all.
    May give way. Raises ServiceError.
    """
    found = filtered(request, request.resource_ids, records, lambda one: one.place)
    return [one for one in walk(found) if one.name in names] if names else found


def described_part(
    request: DescribingRequest, records: Sequence[DescribedT]
) -> tuple[Sequence[DescribedT], str | None]:
    """The page of the records that the request asks for, and the token of the next one. Raises ServiceError."""
    begin = place_of_token(request.NextToken)
    most = SCALING_DESCRIBED_MAX if request.MaxResults is None else request.MaxResults
    if begin is None:
        raise ServiceError("InvalidNextTokenException", sentences.NEXT_TOKEN)
    if not 1 <= most <= SCALING_DESCRIBED_MAX:
        constraint = sentences.TOO_GREAT if most > 1 else sentences.TOO_SMALL
        text = constraint.format(most=SCALING_DESCRIBED_MAX, least=1)
        refuse_scaling(sentences.CONSTRAINT.format(value=most, path="maxResults", constraint=text))
    return part_from(records, begin, most)


def check_target_tags(given: dict[str, str]) -> None:
    """Raise ServiceError for tags that are too long, have a reserved key or a blank value."""
    for key, value in given.items():
        check_scaling_length("Tags", key, SCALING_TAG_KEY_LENGTH_MAX)
        check_scaling_length("Tags", value, SCALING_TAG_VALUE_LENGTH_MAX, 0)
        if not value.strip():
            refuse_scaling(sentences.BLANK_TAG)
        if is_reserved_tag(key):
            refuse_scaling(sentences.RESERVED_TAG.format(key=key))


def time_of(at_seconds: float | None) -> datetime | None:
    """The time as replies have it."""
    return None if at_seconds is None else datetime.fromtimestamp(at_seconds, UTC)

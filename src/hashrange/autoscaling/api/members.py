"""Which members and checks do the operations share? The place of a target, pages, times,
and how faults of members are worded.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, NoReturn, TypeVar

import msgspec

from hashrange.autoscaling import limits
from hashrange.autoscaling.auto_scaling import AutoScaling
from hashrange.autoscaling.enumerations import SCALABLE_DIMENSIONS, SERVICE_NAMESPACES
from hashrange.autoscaling.records import (
    DIMENSIONS,
    SERVICE_NAMESPACE,
    ScalableDimension,
    ScalableTarget,
    ScalingPolicy,
    ScheduledAction,
    TargetPlace,
)
from hashrange.aws_services.constraints import MemberChecks, lower_path, out_of_bounds
from hashrange.aws_services.operation import Caller, ErrorShape, MemberFault, ServiceError
from hashrange.aws_services.paging import part_from, place_of_token
from hashrange.aws_services.tagging import is_reserved_tag
from hashrange.items.steps import sort, walk
from hashrange.messages import autoscaling as sentences
from hashrange.messages.constraints import MATCHING

DescribedT = TypeVar("DescribedT")
NamedT = TypeVar("NamedT", ScalingPolicy, ScheduledAction)
ERRORS = MappingProxyType({"InternalServiceException": ErrorShape(500, "InternalServiceException")})


SCALING_MEMBERS = MemberChecks("ValidationException", lower_path, shown_max=100)


def word_scaling_fault(fault: MemberFault) -> ServiceError:
    """The error for a request whose members are wrong."""
    if fault.kind == "type" or not fault.path:
        return ServiceError("SerializationException", sentences.MALFORMED.format(detail=fault.detail))
    worded = SCALING_MEMBERS.worded(fault)
    return worded or SCALING_MEMBERS.refusal(SCALING_MEMBERS.fault(fault.path, fault.value, fault.detail))


def scaling_invalid(message: str) -> ServiceError:
    """ValidationException with this message."""
    return ServiceError("ValidationException", message)


def refuse_scaling(message: str) -> NoReturn:
    """Raise ValidationException with this message."""
    raise scaling_invalid(message)


def check_scaling_name(path: str, name: str, pattern: str) -> None:
    """Raise ServiceError unless the name has a length of 1 to 256 and the pattern."""
    SCALING_MEMBERS.check_length(path, name, limits.SCALING_NAME_LENGTH_MAX)
    if re.fullmatch(pattern, name) is None:
        raise SCALING_MEMBERS.refusal(SCALING_MEMBERS.fault(path, name, MATCHING.format(pattern=pattern)))


def check_scaling_names(
    path: str, names: Sequence[str], most: int, length_max: int = limits.SCALING_RESOURCE_LENGTH_MAX
) -> None:
    """Raise ServiceError if there are too many names, or one has not a length of 1 to `length_max`."""
    SCALING_MEMBERS.check_count(path, names, most)
    for place, name in enumerate(names, 1):
        SCALING_MEMBERS.check_length(f"{path}.{place}.member", name, length_max)


def check_space(namespace: str, dimension: str | None = None) -> ScalableDimension | None:
    """The dimension, which is one of DynamoDB; None: there is none.
    Raises ServiceError, with all values that the API does not have.
    """
    found = (
        SCALING_MEMBERS.choice_fault("ServiceNamespace", namespace, SERVICE_NAMESPACES),
        SCALING_MEMBERS.choice_fault("ScalableDimension", dimension, SCALABLE_DIMENSIONS),
    )
    if faults := [fault for fault in found if fault is not None]:
        raise SCALING_MEMBERS.refusal(*faults)
    if namespace != SERVICE_NAMESPACE:
        refuse_scaling(sentences.NAMESPACE.format(namespace=namespace))
    known = next((one for one in DIMENSIONS if one == dimension), None)
    if dimension is not None and known is None:
        refuse_scaling(sentences.UNSUPPORTED)
    return known


def target_place(caller: Caller, namespace: str, resource_id: str, dimension: str) -> TargetPlace:
    """The place that a request names. Raises ServiceError."""
    known = check_space(namespace, dimension)
    SCALING_MEMBERS.check_length("ResourceId", resource_id, limits.SCALING_RESOURCE_LENGTH_MAX)
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


class TargetMembers(msgspec.Struct, frozen=True, kw_only=True):
    """The members with which requests name a target."""

    ServiceNamespace: str
    ResourceId: str
    ScalableDimension: str

    def place(self, caller: Caller) -> TargetPlace:
        """The place that they name. Raises ServiceError."""
        return target_place(caller, self.ServiceNamespace, self.ResourceId, self.ScalableDimension)


# --- pages ----------------------------------------------------------------------------------------


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


def described_named(
    request: DescribingResourceRequest,
    path: str,
    records: Mapping[str, NamedT],
    key: str,
    show: Callable[[NamedT], dict[str, Any]],
) -> dict[str, Any]:
    """As `described_records`, of the records with the names at `path` of the request; without any, of all: in the order
    of their places and names.
    """
    names = getattr(request, path) or ()
    check_scaling_names(path, names, limits.SCALING_DESCRIBED_MAX)
    every = sort(records.values(), key=lambda one: (one.place, one.name))
    named = [one for one in walk(every) if one.name in names] if names else every
    return described_records(request, request.resource_ids, named, lambda one: one.place, key, show)


def described_records(
    request: DescribingRequest,
    resource_ids: Sequence[str] | None,
    records: Sequence[DescribedT],
    place_in: Callable[[DescribedT], TargetPlace],
    key: str,
    show: Callable[[DescribedT], dict[str, Any]],
) -> dict[str, Any]:
    """The reply with the page that a request asks for, of the records of these resources, None: of all, and of the
    request's dimension. `key`: the member that has them. May give way. Raises ServiceError.
    """
    dimension = request.ScalableDimension
    check_scaling_names("ResourceIds", resource_ids or (), limits.SCALING_DESCRIBED_MAX)
    if dimension is not None and not resource_ids:
        refuse_scaling(sentences.DIMENSION_NEEDS_RESOURCE)
    found = [
        one
        for one in walk(records)
        if (resource_ids is None or place_in(one).resource_id in resource_ids)
        and dimension in (None, place_in(one).dimension)
    ]
    begin = place_of_token(request.NextToken)
    most = limits.SCALING_DESCRIBED_MAX if request.MaxResults is None else request.MaxResults
    if begin is None:
        raise ServiceError("InvalidNextTokenException", sentences.NEXT_TOKEN)
    if constraint := out_of_bounds(most, 1, limits.SCALING_DESCRIBED_MAX):
        raise SCALING_MEMBERS.refusal(SCALING_MEMBERS.fault("MaxResults", most, constraint))
    page, token = part_from(found, begin, most)
    return {key: [show(one) for one in page], "NextToken": token}


# --- tags and times -------------------------------------------------------------------------------


def check_target_tags(given: dict[str, str]) -> None:
    """Raise ServiceError for tags that are too long, have a reserved key or a blank value; may give way."""
    for key, value in walk(given.items()):
        SCALING_MEMBERS.check_length("Tags", key, limits.SCALING_TAG_KEY_LENGTH_MAX)
        SCALING_MEMBERS.check_length("Tags", value, limits.SCALING_TAG_VALUE_LENGTH_MAX, 0)
        if not value.strip():
            refuse_scaling(sentences.BLANK_TAG)
        if is_reserved_tag(key):
            refuse_scaling(sentences.RESERVED_TAG.format(key=key))


def time_of(at_seconds: float | None) -> datetime | None:
    """The time as replies have it."""
    return None if at_seconds is None else datetime.fromtimestamp(at_seconds, UTC)

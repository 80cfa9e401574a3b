"""The operations on scalable targets: RegisterScalableTarget, DeregisterScalableTarget, DescribeScalableTargets,
DescribeScalingActivities, and those on their tags: TagResource, UntagResource, ListTagsForResource.
"""

import uuid
from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from hashrange.autoscaling import limits
from hashrange.autoscaling.api import members
from hashrange.autoscaling.auto_scaling import AutoScaling
from hashrange.autoscaling.capacity import current_capacity, names_of
from hashrange.autoscaling.records import Activity, ScalableTarget, Suspended, TargetPlace
from hashrange.aws_services.operation import FORM, Caller, Operation, ServiceError
from hashrange.aws_services.tagging import TaggedArnRequest, Tagging, TagSet, UntagArnRequest, kept_by
from hashrange.items.steps import sort, walk
from hashrange.messages import autoscaling as sentences

ROLE_ARN = (
    "arn:aws:iam::{account}:role/aws-service-role/dynamodb.application-autoscaling.amazonaws.com"
    "/AWSServiceRoleForApplicationAutoScaling_DynamoDBTable"
)


class SuspendedStateMember(msgspec.Struct, frozen=True):
    """Which scaling is suspended."""

    DynamicScalingInSuspended: bool | None = None
    DynamicScalingOutSuspended: bool | None = None
    ScheduledScalingSuspended: bool | None = None


class RegisterScalableTargetRequest(members.TargetMembers, frozen=True, kw_only=True):
    """Request of RegisterScalableTarget. Capacities in units."""

    MinCapacity: Annotated[int, Meta(ge=1, le=limits.SCALING_INTEGER_MAX)] | None = None
    MaxCapacity: Annotated[int, Meta(ge=1, le=limits.SCALING_INTEGER_MAX)] | None = None
    RoleARN: str | None = None
    SuspendedState: SuspendedStateMember | None = None
    Tags: dict[str, str] | None = None


async def register_scalable_target(
    scaling: AutoScaling, caller: Caller, request: RegisterScalableTargetRequest
) -> Mapping[str, Any]:
    """RegisterScalableTarget: lets the reads or writes of a table or index be scaled within bounds,
    or changes the bounds.

    Creates or changes the target; capacity outside of its bounds is changed at once.
    Raises ServiceError and StorageError.
    """
    place = request.place(caller)
    members.SCALING_MEMBERS.check_length("RoleARN", request.RoleARN, limits.SCALING_RESOURCE_LENGTH_MAX)
    before = scaling.target(place)
    _check_resource(scaling, place, is_new=before is None)
    if before is not None and request.Tags:
        members.refuse_scaling(sentences.TARGET_EXISTS)
    members.check_target_tags(request.Tags or {})
    if len(request.Tags or {}) > limits.SCALING_TAGS_MAX:
        members.refuse_scaling(sentences.TOO_MANY_TAGS.format(most=limits.SCALING_TAGS_MAX))
    target = _new(scaling, place, request) if before is None else _changed(before, request)
    if target.minimum > target.maximum:
        members.refuse_scaling(sentences.BOUNDS_CROSSED)
    await scaling.keep_target(target)
    await scaling.settle(target)
    return {"ScalableTargetARN": target.arn}


def _new(scaling: AutoScaling, place: TargetPlace, request: RegisterScalableTargetRequest) -> ScalableTarget:
    if request.MinCapacity is None or request.MaxCapacity is None:
        raise members.scaling_invalid(sentences.BOUNDS_MISSING)
    if len(scaling.targets.among(place[:2])) >= limits.SCALING_TARGETS_MAX:
        message = sentences.TOO_MANY.format(most=limits.SCALING_TARGETS_MAX, what="scalable targets")
        raise ServiceError("LimitExceededException", message)
    return ScalableTarget(
        place,
        uuid.uuid4().hex,
        request.MinCapacity,
        request.MaxCapacity,
        request.RoleARN or ROLE_ARN.format(account=place.account),
        scaling.now_seconds(),
        _suspended(Suspended(), request.SuspendedState),
        request.Tags or {},
    )


def _changed(before: ScalableTarget, request: RegisterScalableTargetRequest) -> ScalableTarget:
    return msgspec.structs.replace(
        before,
        minimum=request.MinCapacity or before.minimum,
        maximum=request.MaxCapacity or before.maximum,
        role_arn=request.RoleARN or before.role_arn,
        suspended=_suspended(before.suspended, request.SuspendedState),
    )


def _suspended(before: Suspended, given: SuspendedStateMember | None) -> Suspended:
    if given is None:
        return before
    return Suspended(
        before.scaling_in if given.DynamicScalingInSuspended is None else given.DynamicScalingInSuspended,
        before.scaling_out if given.DynamicScalingOutSuspended is None else given.DynamicScalingOutSuspended,
        before.scheduled if given.ScheduledScalingSuspended is None else given.ScheduledScalingSuspended,
    )


def _check_resource(scaling: AutoScaling, place: TargetPlace, *, is_new: bool) -> None:
    """Raise ServiceError unless the table, or its index, exists; with provisioned capacity if the target is new."""
    scope = scaling.scope(place)
    table_name, index_name = names_of(place)
    table = scope.tables.get(table_name)
    names = set() if table is None else {one.name for one in table.schema.indexes if one.is_global}
    if table is None or (index_name is not None and index_name not in names):
        members.refuse_scaling(sentences.NO_RESOURCE.format(resource=place.resource_id))
    if is_new and current_capacity(scope, place) is None:
        members.refuse_scaling(sentences.ON_DEMAND.format(resource=place.resource_id))


async def deregister_scalable_target(scaling: AutoScaling, caller: Caller, request: members.TargetMembers) -> None:
    """DeregisterScalableTarget: ends the scaling of a target, and deletes its policies,
    their alarms and its scheduled actions.

    The capacity stays as it is. Raises ServiceError and StorageError.
    """
    await scaling.remove_target(members.registered(scaling, request.place(caller), sentences.NO_TARGET_FOUND))


class DescribeScalableTargetsRequest(members.DescribingRequest, frozen=True, kw_only=True):
    """Request of DescribeScalableTargets."""

    ResourceIds: list[str] | None = None


async def describe_scalable_targets(
    scaling: AutoScaling, caller: Caller, request: DescribeScalableTargetsRequest
) -> Mapping[str, Any]:
    """DescribeScalableTargets: the targets of an account and Region.

    Returns a page of targets. Raises ServiceError.
    """
    members.check_space(request.ServiceNamespace, request.ScalableDimension)
    every = sort(scaling.targets.among(caller).values(), key=lambda one: one.place)
    return members.described_records(
        request, request.ResourceIds, every, lambda one: one.place, "ScalableTargets", _described_target
    )


def _described_target(target: ScalableTarget) -> dict[str, Any]:
    return {
        **members.place_members(target.place),
        "MinCapacity": target.minimum,
        "MaxCapacity": target.maximum,
        "RoleARN": target.role_arn,
        "CreationTime": members.time_of(target.created_seconds),
        "SuspendedState": {
            "DynamicScalingInSuspended": target.suspended.scaling_in,
            "DynamicScalingOutSuspended": target.suspended.scaling_out,
            "ScheduledScalingSuspended": target.suspended.scheduled,
        },
        "ScalableTargetARN": target.arn,
    }


# --- what has been scaled -------------------------------------------------------------------------


class DescribeScalingActivitiesRequest(members.DescribingResourceRequest, frozen=True, kw_only=True):
    """Request of DescribeScalingActivities."""

    IncludeNotScaledActivities: bool | None = None


async def describe_scaling_activities(
    scaling: AutoScaling, caller: Caller, request: DescribeScalingActivitiesRequest
) -> Mapping[str, Any]:
    """DescribeScalingActivities: what has been scaled in the last six weeks and why, newest first; also why something
    was not, if asked.

    Returns a page of activities. Raises ServiceError and StorageError.
    """
    members.check_space(request.ServiceNamespace, request.ScalableDimension)
    every = scaling.activities(caller.account, caller.region)
    if not request.IncludeNotScaledActivities:
        every = [one for one in walk(every) if one[1].not_scaled is None]

    def show(one: tuple[TargetPlace, Activity]) -> dict[str, Any]:
        return _described_activity(scaling, *one)

    return members.described_records(
        request, request.resource_ids, every, lambda one: one[0], "ScalingActivities", show
    )


def _described_activity(scaling: AutoScaling, place: TargetPlace, activity: Activity) -> dict[str, Any]:
    reasons = None
    if activity.not_scaled is not None:
        target = scaling.target(place)
        bounds = {} if target is None else {"MaxCapacity": target.maximum, "MinCapacity": target.minimum}
        reasons = [{"Code": activity.not_scaled, **bounds, "CurrentCapacity": activity.current}]
    return {
        "ActivityId": activity.id,
        **members.place_members(place),
        "Description": activity.description,
        "Cause": activity.cause,
        "StartTime": members.time_of(activity.begin_seconds),
        "EndTime": members.time_of(activity.end_seconds),
        "StatusCode": activity.status,
        "StatusMessage": activity.message,
        "NotScaledReasons": reasons,
    }


# --- tags ----------------------------------------------------------------------------------------


class TagTargetRequest(TaggedArnRequest, frozen=True):
    """Request of TagResource."""

    Tags: dict[str, str]


def _find(scaling: AutoScaling, caller: Caller, request: TaggedArnRequest) -> ScalableTarget:
    """The target of the ARN; keys to remove are checked before. Raises ServiceError."""
    if isinstance(request, UntagArnRequest):
        members.check_scaling_names(
            "TagKeys", request.TagKeys, limits.SCALING_TAG_KEYS_MAX, limits.SCALING_TAG_KEY_LENGTH_MAX
        )
    arn = request.ResourceARN
    target = next((one for one in scaling.targets.among(caller).values() if one.arn == arn), None)
    if target is None:
        message = sentences.NO_TAGGED.format(arn=arn[:1011])
        raise ServiceError("ResourceNotFoundException", message, ResourceName=arn[:1011])
    return target


def _added(target: ScalableTarget, present: TagSet, given: dict[str, str]) -> dict[str, str]:
    members.check_target_tags(given)
    tags = {**present, **given}
    if len(tags) > limits.SCALING_TAGS_MAX:
        message = sentences.TOO_MANY_TAGS.format(most=limits.SCALING_TAGS_MAX)
        raise ServiceError("TooManyTagsException", message, ResourceName=target.arn)
    return tags


_TAGGING = Tagging(_find, _added, kept_by(AutoScaling.keep_target))
OPERATIONS = (
    Operation("RegisterScalableTarget", RegisterScalableTargetRequest, register_scalable_target, FORM),
    Operation("DeregisterScalableTarget", members.TargetMembers, deregister_scalable_target, FORM),
    Operation("DescribeScalableTargets", DescribeScalableTargetsRequest, describe_scalable_targets, FORM),
    Operation("DescribeScalingActivities", DescribeScalingActivitiesRequest, describe_scaling_activities, FORM),
    Operation("TagResource", TagTargetRequest, _TAGGING.tag, FORM),
    Operation("UntagResource", UntagArnRequest, _TAGGING.untag, FORM),
    Operation("ListTagsForResource", TaggedArnRequest, _TAGGING.list_tags, FORM),
)

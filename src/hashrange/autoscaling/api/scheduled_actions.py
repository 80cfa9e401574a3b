"""The operations on scheduled actions: PutScheduledAction, DeleteScheduledAction, DescribeScheduledActions."""

import uuid
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from hashrange.autoscaling.api import members
from hashrange.autoscaling.auto_scaling import AutoScaling, next_time
from hashrange.autoscaling.limits import SCALING_INTEGER_MAX, SCALING_RESOURCE_LENGTH_MAX, SCHEDULED_ACTIONS_MAX
from hashrange.autoscaling.records import ScheduledAction
from hashrange.autoscaling.schedule import ScheduleError, check_schedule
from hashrange.aws_services.operation import FORM, Caller, Operation, ServiceError
from hashrange.messages import autoscaling as sentences

ACTION_NAME = r"(?!((^[ ]+.*)|(.*([\u0000-\u001f]|[\u007f-\u009f]|[:/|])+.*)|(.*[ ]+$))).+"
"""Names of scheduled actions. Source: the service model."""
BoundUnits = Annotated[int, Meta(ge=1, le=SCALING_INTEGER_MAX)]


class ScalableTargetActionMember(msgspec.Struct, frozen=True):
    """New bounds."""

    MinCapacity: BoundUnits | None = None
    MaxCapacity: BoundUnits | None = None


class DeleteScheduledActionRequest(msgspec.Struct, frozen=True):
    """Request of DeleteScheduledAction."""

    ServiceNamespace: str
    ScheduledActionName: str
    ResourceId: str
    ScalableDimension: str


class PutScheduledActionRequest(DeleteScheduledActionRequest, frozen=True):
    """Request of PutScheduledAction. In an action that exists, members that are not given keep their
    value, except for the two times.
    """

    Schedule: str | None = None
    Timezone: str | None = None
    StartTime: datetime | None = None
    EndTime: datetime | None = None
    ScalableTargetAction: ScalableTargetActionMember | None = None


async def put_scheduled_action(scaling: AutoScaling, caller: Caller, request: PutScheduledActionRequest) -> None:
    """PutScheduledAction: gives a target new bounds at the times of a schedule, or changes such an action.

    Creates or changes the action. Raises ServiceError and StorageError.
    """
    members.check_scaling_name("ScheduledActionName", request.ScheduledActionName, ACTION_NAME)
    place = members.target_place(caller, request.ServiceNamespace, request.ResourceId, request.ScalableDimension)
    for path, text in (("Schedule", request.Schedule), ("Timezone", request.Timezone)):
        members.SCALING_MEMBERS.check_length(path, text, SCALING_RESOURCE_LENGTH_MAX)
    members.registered(scaling, place)
    now_seconds = scaling.now_seconds()
    before = scaling.scheduled_action(place, request.ScheduledActionName)
    if before is None:
        if request.Schedule is None:
            raise members.scaling_invalid(sentences.SCHEDULE_MISSING)
        if len(scaling.scheduled.among(place)) >= SCHEDULED_ACTIONS_MAX:
            message = sentences.TOO_MANY.format(
                most=SCHEDULED_ACTIONS_MAX, what="scheduled actions of a scalable target"
            )
            raise ServiceError("LimitExceededException", message)
        before = ScheduledAction(place, request.ScheduledActionName, str(uuid.uuid4()), now_seconds, request.Schedule)
    await scaling.keep_scheduled(_changed(before, request, now_seconds))


def _changed(before: ScheduledAction, request: PutScheduledActionRequest, now_seconds: float) -> ScheduledAction:
    bounds = request.ScalableTargetAction
    action = msgspec.structs.replace(
        before,
        schedule=request.Schedule or before.schedule,
        timezone=request.Timezone or before.timezone,
        begin_seconds=None if request.StartTime is None else request.StartTime.timestamp(),
        end_seconds=None if request.EndTime is None else request.EndTime.timestamp(),
        minimum=before.minimum if bounds is None else bounds.MinCapacity,
        maximum=before.maximum if bounds is None else bounds.MaxCapacity,
    )
    if action.minimum is None and action.maximum is None:
        members.refuse_scaling(sentences.ACTION_MISSING)
    if action.minimum is not None and action.maximum is not None and action.minimum > action.maximum:
        members.refuse_scaling(sentences.BOUNDS_CROSSED)
    if (
        action.begin_seconds is not None
        and action.end_seconds is not None
        and action.begin_seconds >= action.end_seconds
    ):
        members.refuse_scaling(sentences.START_AFTER_END)
    try:
        if request.Schedule is not None:
            check_schedule(request.Schedule)
        due_seconds = next_time(action, now_seconds)
    except ScheduleError as error:
        raise members.scaling_invalid(str(error)) from None
    if due_seconds is None:
        members.refuse_scaling(sentences.SCHEDULE_PAST.format(schedule=action.schedule))
    return msgspec.structs.replace(action, due_seconds=due_seconds)


async def delete_scheduled_action(scaling: AutoScaling, caller: Caller, request: DeleteScheduledActionRequest) -> None:
    """DeleteScheduledAction: deletes a scheduled action.

    The target's bounds stay as they are. Raises ServiceError and StorageError.
    """
    place = members.target_place(caller, request.ServiceNamespace, request.ResourceId, request.ScalableDimension)
    action = scaling.scheduled_action(place, request.ScheduledActionName)
    if action is None:
        raise members.not_found(sentences.NO_SCHEDULED_ACTION, place, request.ScheduledActionName[:256])
    await scaling.remove_scheduled(action)


class DescribeScheduledActionsRequest(members.DescribingResourceRequest, frozen=True, kw_only=True):
    """Request of DescribeScheduledActions."""

    ScheduledActionNames: list[str] | None = None


async def describe_scheduled_actions(
    scaling: AutoScaling, caller: Caller, request: DescribeScheduledActionsRequest
) -> Mapping[str, Any]:
    """DescribeScheduledActions: the scheduled actions of an account and Region.

    Returns a page of scheduled actions. Raises ServiceError.
    """
    members.check_space(request.ServiceNamespace, request.ScalableDimension)
    every = scaling.scheduled.among(caller)
    return members.described_named(request, "ScheduledActionNames", every, "ScheduledActions", _described_action)


def _described_action(action: ScheduledAction) -> dict[str, Any]:
    return {
        "ScheduledActionName": action.name,
        "ScheduledActionARN": action.arn,
        **members.place_members(action.place),
        "Schedule": action.schedule,
        "Timezone": action.timezone,
        "StartTime": members.time_of(action.begin_seconds),
        "EndTime": members.time_of(action.end_seconds),
        "ScalableTargetAction": {"MinCapacity": action.minimum, "MaxCapacity": action.maximum},
        "CreationTime": members.time_of(action.created_seconds),
    }


OPERATIONS = (
    Operation("PutScheduledAction", PutScheduledActionRequest, put_scheduled_action, FORM),
    Operation("DeleteScheduledAction", DeleteScheduledActionRequest, delete_scheduled_action, FORM),
    Operation("DescribeScheduledActions", DescribeScheduledActionsRequest, describe_scheduled_actions, FORM),
)

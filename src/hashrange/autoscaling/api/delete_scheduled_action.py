"""DeleteScheduledAction: deletes a scheduled action."""

import msgspec

from hashrange.autoscaling.api.members import not_found, target_place
from hashrange.autoscaling.auto_scaling import AutoScaling
from hashrange.aws_services.operation import FORM, Caller, Operation
from hashrange.messages import autoscaling as sentences


class DeleteScheduledActionRequest(msgspec.Struct, frozen=True):
    """Request of DeleteScheduledAction."""

    ServiceNamespace: str
    ScheduledActionName: str
    ResourceId: str
    ScalableDimension: str


async def delete_scheduled_action(scaling: AutoScaling, caller: Caller, request: DeleteScheduledActionRequest) -> None:
    """The target's bounds stay as they are. Raises ServiceError and StorageError."""
    place = target_place(caller, request.ServiceNamespace, request.ResourceId, request.ScalableDimension)
    action = scaling.scheduled_action(place, request.ScheduledActionName)
    if action is None:
        raise not_found(sentences.NO_SCHEDULED_ACTION, place, request.ScheduledActionName[:256])
    await scaling.remove_scheduled(action)


OPERATION = Operation("DeleteScheduledAction", DeleteScheduledActionRequest, delete_scheduled_action, FORM)

"""DeregisterScalableTarget: ends the scaling of a target, and deletes its policies,
their alarms and its scheduled actions.
"""

import msgspec

from hashrange.autoscaling.api.members import registered, target_place
from hashrange.autoscaling.auto_scaling import AutoScaling
from hashrange.aws_services.operation import FORM, Caller, Operation
from hashrange.messages import autoscaling as sentences


class DeregisterScalableTargetRequest(msgspec.Struct, frozen=True):
    """Request of DeregisterScalableTarget."""

    ServiceNamespace: str
    ResourceId: str
    ScalableDimension: str


async def deregister_scalable_target(
    scaling: AutoScaling, caller: Caller, request: DeregisterScalableTargetRequest
) -> None:
    """The capacity stays as it is. Raises ServiceError and StorageError."""
    place = target_place(caller, request.ServiceNamespace, request.ResourceId, request.ScalableDimension)
    await scaling.remove_target(registered(scaling, place, sentences.NO_TARGET_FOUND))


OPERATION = Operation("DeregisterScalableTarget", DeregisterScalableTargetRequest, deregister_scalable_target, FORM)

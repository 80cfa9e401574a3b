"""DeleteScalingPolicy: deletes a policy and its alarms."""

import msgspec

from hashrange.autoscaling.api.members import not_found, target_place
from hashrange.autoscaling.auto_scaling import AutoScaling
from hashrange.aws_services.operation import FORM, Caller, Operation
from hashrange.messages import autoscaling as sentences


class DeleteScalingPolicyRequest(msgspec.Struct, frozen=True):
    """Request of DeleteScalingPolicy."""

    PolicyName: str
    ServiceNamespace: str
    ResourceId: str
    ScalableDimension: str


async def delete_scaling_policy(scaling: AutoScaling, caller: Caller, request: DeleteScalingPolicyRequest) -> None:
    """The capacity stays as it is. Raises ServiceError and StorageError."""
    place = target_place(caller, request.ServiceNamespace, request.ResourceId, request.ScalableDimension)
    policy = scaling.policy(place, request.PolicyName)
    if policy is None:
        raise not_found(sentences.NO_POLICY, place, request.PolicyName[:256])
    await scaling.remove_policy(policy)


OPERATION = Operation("DeleteScalingPolicy", DeleteScalingPolicyRequest, delete_scaling_policy, FORM)

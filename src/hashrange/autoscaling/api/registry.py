"""Which operations of Application Auto Scaling are served? All fourteen."""

from hashrange.autoscaling.api import (
    delete_scaling_policy,
    delete_scheduled_action,
    deregister_scalable_target,
    describe_scalable_targets,
    describe_scaling_activities,
    describe_scaling_policies,
    describe_scheduled_actions,
    get_predictive_scaling_forecast,
    put_scaling_policy,
    put_scheduled_action,
    register_scalable_target,
    tags,
)
from hashrange.autoscaling.api.members import ERRORS, word_scaling_fault
from hashrange.autoscaling.auto_scaling import AutoScaling
from hashrange.aws_services.operation import ServiceApi, bound

SCALING_OPERATIONS = (
    delete_scaling_policy.OPERATION,
    delete_scheduled_action.OPERATION,
    deregister_scalable_target.OPERATION,
    describe_scalable_targets.OPERATION,
    describe_scaling_activities.OPERATION,
    describe_scaling_policies.OPERATION,
    describe_scheduled_actions.OPERATION,
    get_predictive_scaling_forecast.OPERATION,
    put_scaling_policy.OPERATION,
    put_scheduled_action.OPERATION,
    register_scalable_target.OPERATION,
    *tags.OPERATIONS,
)


def autoscaling_api(scaling: AutoScaling) -> ServiceApi:
    """The API over this auto scaling."""
    return ServiceApi(
        name="Application Auto Scaling",
        signing_name="application-autoscaling",
        target_prefix="AnyScaleFrontendService",
        json_version="1.1",
        version="2016-02-06",
        operations=bound(SCALING_OPERATIONS, scaling),
        unserved=frozenset(),
        word=word_scaling_fault,
        errors=ERRORS,
        internal_error="InternalServiceException",
    )

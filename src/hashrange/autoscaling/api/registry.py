"""Which operations of Application Auto Scaling are served? All fourteen."""

from hashrange.autoscaling.api import scalable_targets, scaling_policies, scheduled_actions
from hashrange.autoscaling.api.members import ERRORS, word_scaling_fault
from hashrange.autoscaling.auto_scaling import AutoScaling
from hashrange.aws_services.operation import ServiceApi, bound

SCALING_OPERATIONS = (
    *scalable_targets.OPERATIONS,
    *scaling_policies.OPERATIONS,
    *scheduled_actions.OPERATIONS,
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
        word=word_scaling_fault,
        errors=ERRORS,
        internal_error="InternalServiceException",
    )

"""GetPredictiveScalingForecast: refused, because predictive scaling does not exist for DynamoDB."""

from datetime import datetime

import msgspec

from hashrange.autoscaling.api.members import refuse_scaling, target_place
from hashrange.autoscaling.auto_scaling import AutoScaling
from hashrange.aws_services.operation import FORM, Caller, Operation
from hashrange.messages import autoscaling as sentences


class GetPredictiveScalingForecastRequest(msgspec.Struct, frozen=True):
    """Request of GetPredictiveScalingForecast."""

    ServiceNamespace: str
    ResourceId: str
    ScalableDimension: str
    PolicyName: str
    StartTime: datetime
    EndTime: datetime


async def get_predictive_scaling_forecast(
    scaling: AutoScaling, caller: Caller, request: GetPredictiveScalingForecastRequest
) -> None:
    """Raises ServiceError."""
    target_place(caller, request.ServiceNamespace, request.ResourceId, request.ScalableDimension)
    refuse_scaling(sentences.NO_FORECAST)


OPERATION = Operation(
    "GetPredictiveScalingForecast", GetPredictiveScalingForecastRequest, get_predictive_scaling_forecast, FORM
)

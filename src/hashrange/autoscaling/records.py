"""What does Application Auto Scaling keep? Scalable targets, scaling policies, scheduled actions,
and activities. Times are seconds of service time.
"""

from typing import Any, Literal, NamedTuple, get_args

import msgspec

ScalableDimension = Literal[
    "dynamodb:table:ReadCapacityUnits",
    "dynamodb:table:WriteCapacityUnits",
    "dynamodb:index:ReadCapacityUnits",
    "dynamodb:index:WriteCapacityUnits",
]
DIMENSIONS: tuple[ScalableDimension, ...] = get_args(ScalableDimension)
SERVICE_NAMESPACE = "dynamodb"


class TargetPlace(NamedTuple):
    """What identifies a scalable target."""

    account: str
    region: str
    resource_id: str
    """`table/NAME` or `table/NAME/index/INDEX`."""
    dimension: ScalableDimension


class Suspended(msgspec.Struct, frozen=True, omit_defaults=True):
    """Which scaling of a target is suspended."""

    scaling_in: bool = False
    scaling_out: bool = False
    scheduled: bool = False


class ScalableTarget(msgspec.Struct, omit_defaults=True):
    """A table's or index's reads or writes, with the bounds of their capacity."""

    place: TargetPlace
    id: str
    """Last part of the ARN."""
    minimum: int
    maximum: int
    role_arn: str
    created_seconds: float
    suspended: Suspended = Suspended()
    tags: dict[str, str] = {}
    scaled_out_seconds: float | None = None
    """When a policy last raised the capacity; None: never."""
    raised_from: int | None = None
    """Units before that; of several increases within a cooldown, before the first."""
    scaled_in_seconds: float | None = None
    """When a policy last lowered the capacity; None: never."""

    @property
    def arn(self) -> str:
        """The target's ARN."""
        return f"arn:aws:application-autoscaling:{self.place.region}:{self.place.account}:scalable-target/{self.id}"


def _arn(place: TargetPlace, kind_and_id: str, named: str) -> str:
    """The ARN of what a target has: `scalingPolicy:ID` and `policyName/NAME`, for example."""
    resource = f"resource/{SERVICE_NAMESPACE}/{place.resource_id}"
    return f"arn:aws:autoscaling:{place.region}:{place.account}:{kind_and_id}:{resource}:{named}"


class Tracking(msgspec.Struct, frozen=True, omit_defaults=True):
    """Target tracking: the value that a metric is to have."""

    target_value: float
    predefined: str | None = None
    """Type of the predefined metric; None: `customized` is given."""
    customized: dict[str, Any] | None = None
    """Members CustomizedMetricSpecification of the API."""
    out_cooldown_seconds: int | None = None
    in_cooldown_seconds: int | None = None
    never_scales_in: bool = False
    resource_label: str | None = None


class ScalingPolicy(msgspec.Struct, omit_defaults=True):
    """A policy of one target."""

    place: TargetPlace
    name: str
    id: str
    created_seconds: float
    tracking: Tracking
    alarms: dict[str, str] = {}
    """Purpose (`AlarmHigh`, …) → name of the alarm."""

    @property
    def arn(self) -> str:
        """The policy's ARN, which its alarms have as action."""
        return _arn(self.place, f"scalingPolicy:{self.id}", f"policyName/{self.name}")


class ScheduledAction(msgspec.Struct, omit_defaults=True):
    """New bounds of a target, at times of a schedule."""

    place: TargetPlace
    name: str
    id: str
    created_seconds: float
    schedule: str
    timezone: str | None = None
    begin_seconds: float | None = None
    end_seconds: float | None = None
    minimum: int | None = None
    maximum: int | None = None
    due_seconds: float | None = None
    """Next time; None: never again."""

    @property
    def arn(self) -> str:
        """The action's ARN."""
        return _arn(self.place, f"scheduledAction:{self.id}", f"scheduledActionName/{self.name}")


ActivityStatus = Literal["Successful", "Failed", "Unfulfilled"]


class Activity(msgspec.Struct, frozen=True, omit_defaults=True):
    """One change of capacity, or the reason why there was none."""

    id: str
    begin_seconds: float
    end_seconds: float | None
    """None: no capacity was changed, only bounds."""
    description: str
    cause: str
    status: ActivityStatus
    message: str
    not_scaled: str | None = None
    """Code of the reason why nothing was changed; None: something was, or was tried."""
    current: int | None = None

"""What is an alarm? Its definition, and the state that it is in."""

import operator
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Literal

import msgspec

from hashrange.cloudwatch.metric_id import Dimensions, MetricId

StateValue = Literal["OK", "ALARM", "INSUFFICIENT_DATA"]
STATES: tuple[StateValue, ...] = ("OK", "ALARM", "INSUFFICIENT_DATA")
COMPARISONS: Mapping[str, tuple[str, Callable[[float, float], bool]]] = {
    "GreaterThanThreshold": ("greater than", operator.gt),
    "GreaterThanOrEqualToThreshold": ("greater than or equal to", operator.ge),
    "LessThanThreshold": ("less than", operator.lt),
    "LessThanOrEqualToThreshold": ("less than or equal to", operator.le),
}
"""Comparison operator → its words in reasons, and a function of value and threshold."""
MISSING_DATA = ("breaching", "notBreaching", "ignore", "missing")


class AlarmActions(msgspec.Struct, frozen=True, omit_defaults=True):
    """ARNs, or URLs, of what is told of each state."""

    ok: Sequence[str] = ()
    alarm: Sequence[str] = ()
    insufficient_data: Sequence[str] = ()
    are_enabled: bool = True

    def of(self, state: StateValue) -> Sequence[str]:
        """The actions that an alarm executes when it enters this state; none if they are not enabled."""
        actions = {"OK": self.ok, "ALARM": self.alarm, "INSUFFICIENT_DATA": self.insufficient_data}
        return actions[state] if self.are_enabled else ()


class WatchedMetric(msgspec.Struct, frozen=True, omit_defaults=True):
    """The one metric that an alarm watches."""

    namespace: str
    name: str
    statistic: str
    """Simple or extended."""
    period_seconds: int
    dimensions: Dimensions = ()
    unit: str | None = None

    def metric_id(self, account: str, region: str) -> MetricId:
        """The metric, in the alarm's account and Region."""
        return MetricId(account, region, self.namespace, self.name, self.dimensions)


class Threshold(msgspec.Struct, frozen=True, omit_defaults=True):
    """When datapoints mean an alarm."""

    comparison: str
    value: float
    evaluation_periods: int
    datapoints_to_alarm: int | None = None
    missing_data: str | None = None
    """One of MISSING_DATA; None: not given, which means `missing`."""
    low_samples: str | None = None
    """EvaluateLowSampleCountPercentile."""

    @property
    def breaches_needed(self) -> int:
        """M of M out of N."""
        return self.datapoints_to_alarm or self.evaluation_periods


class Suppressor(msgspec.Struct, frozen=True):
    """What keeps a composite alarm from its actions."""

    alarm: str
    """Name or ARN."""
    wait_seconds: int
    extension_seconds: int


class TagsPropagation(msgspec.Struct, frozen=True, omit_defaults=True):
    """Which of the alarm's tags its actions tell, by the API's members. Without keys: all tags."""

    Enabled: bool
    IncludedTagKeys: Sequence[str] | None = None
    ExcludedTagKeys: Sequence[str] | None = None


class ActionConfiguration(msgspec.Struct, frozen=True, omit_defaults=True):
    """What actions tell beside the state, by the API's members."""

    AlarmTagsPropagation: TagsPropagation | None = None


class AlarmDefinition(msgspec.Struct, frozen=True, omit_defaults=True):
    """One alarm as it was put. It has a threshold and either a metric or queries; a composite alarm has a rule."""

    name: str
    description: str | None = None
    actions: AlarmActions = AlarmActions()
    threshold: Threshold | None = None
    metric: WatchedMetric | None = None
    queries: Sequence[dict[str, object]] | None = None
    """Members MetricDataQuery of the API."""
    rule: str | None = None
    suppressor: Suppressor | None = None
    action_configuration: ActionConfiguration | None = None

    @property
    def is_composite(self) -> bool:
        """True if its state follows from those of other alarms."""
        return self.rule is not None


AlarmPlace = tuple[str, str, str]
"""Account, Region and name."""


class Alarm(msgspec.Struct, omit_defaults=True):
    """An alarm and its state. Times are seconds of service time."""

    account: str
    region: str
    definition: AlarmDefinition
    configured_seconds: float
    state: StateValue = "INSUFFICIENT_DATA"
    reason: str = ""
    reason_data: str | None = None
    updated_seconds: float = 0.0
    """When state or reason changed last."""
    transitioned_seconds: float = 0.0
    """When the state changed last."""
    tags: dict[str, str] = {}
    is_partial: bool = False
    """True if the last evaluation did not see all data."""
    suppressed_by: str | None = None
    suppressed_reason: str | None = None
    suppressed_until_seconds: float | None = None

    @property
    def name(self) -> str:
        """Unique in the account and Region."""
        return self.definition.name

    @property
    def place(self) -> AlarmPlace:
        """What identifies the alarm."""
        return (self.account, self.region, self.definition.name)

    @property
    def told_tags(self) -> dict[str, str] | None:
        """The tags that topics and functions are told with the state; None: they are told of no tags."""
        configuration = self.definition.action_configuration
        propagation = None if configuration is None else configuration.AlarmTagsPropagation
        if propagation is None or not propagation.Enabled:
            return None
        included, excluded = propagation.IncludedTagKeys, propagation.ExcludedTagKeys or ()
        return {
            key: value
            for key, value in self.tags.items()
            if (included is None or key in included) and key not in excluded
        }

    @property
    def arn(self) -> str:
        """The alarm's ARN."""
        return arn_of(self.account, self.region, self.name)


def arn_of(account: str, region: str, name: str) -> str:
    """The ARN of an alarm of this name."""
    return f"arn:aws:cloudwatch:{region}:{account}:alarm:{name}"


def stamp_of(at_seconds: float) -> str:
    """A time as notifications and reasons of states have it, in UTC with milliseconds."""
    time = datetime.fromtimestamp(at_seconds, UTC)
    return f"{time:%Y-%m-%dT%H:%M:%S}.{time.microsecond // 1000:03d}+0000"


def name_in(arn_or_name: str, account: str, region: str) -> str:
    """The name of an alarm of this account and Region that is given by its name or ARN.
    An ARN of others is returned as it is, which names no alarm.
    """
    parts = arn_or_name.split(":", 6)
    if parts[0] == "arn" and parts[2:6] == ["cloudwatch", region, account, "alarm"]:
        return parts[-1]
    return arn_or_name

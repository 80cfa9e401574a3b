"""Who executes actions of alarms? Scaling policies, functions, topics of the SNS that a setting names, and URLs.

What happens when an alarm of a policy is in ALARM: the capacity becomes that at which use would be the target, within
the target's bounds. If a target has several policies, each of them may raise the capacity. It is lowered only if all
would lower it, to the greatest capacity that one of them wants; policies with DisableScaleIn are not asked. Source:
Application Auto Scaling user guide, *Target tracking scaling policies*.
"""

import uuid
from functools import partial

import msgspec

from hashrange.autoscaling.auto_scaling import AutoScaling
from hashrange.autoscaling.capacity import current_capacity, is_active
from hashrange.autoscaling.records import Activity, ScalableTarget, ScalingPolicy, TargetPlace
from hashrange.autoscaling.tracking import wanted_capacity
from hashrange.aws_services.operation import Caller
from hashrange.cloudwatch.alarms.alarms import AlarmAction, Alarms
from hashrange.cloudwatch.alarms.deliveries import deliver_to_url, publish_to_topic
from hashrange.cloudwatch.alarms.notification import lambda_event
from hashrange.features.features import Features
from hashrange.functions.api.operation import LambdaError
from hashrange.functions.feature import FUNCTIONS
from hashrange.functions.http_client import read_setting
from hashrange.messages import autoscaling as sentences
from hashrange.messages.alarms import NO_FUNCTIONS, NO_SNS
from hashrange.store.records import again_if_changed

SCALING_ACTIONS = "arn:aws:autoscaling:"
FUNCTION_ACTIONS = "arn:aws:lambda:"
TOPIC_ACTIONS = "arn:aws:sns:"


def follow_actions(alarms: Alarms, scaling: AutoScaling, features: Features) -> None:
    """Let these alarms have their actions executed. Raises SettingUnusable."""
    settings = features.settings
    alarms.on_action(SCALING_ACTIONS, PolicyActions(scaling).deliver, is_scaling=True)
    alarms.on_action(FUNCTION_ACTIONS, partial(_invoke, features))
    alarms.on_action("http", deliver_to_url)
    if settings.sns_endpoint is None:
        alarms.on_action(TOPIC_ACTIONS, _no_topic)
        return
    endpoint = read_setting("--sns-endpoint", settings.sns_endpoint)
    alarms.on_action(TOPIC_ACTIONS, partial(publish_to_topic, endpoint))


async def _no_topic(told: AlarmAction) -> str | None:
    return NO_SNS


async def _invoke(features: Features, told: AlarmAction) -> str | None:
    """Queue an invocation of the function that the action is. Returns None, or what went wrong."""
    functions = features.loaded(FUNCTIONS)
    if functions is None:
        return NO_FUNCTIONS
    caller = Caller(told.alarm.account, told.alarm.region)
    try:
        description = functions.find(told.action, caller)
        functions.require_invocable(description)
        await functions.events.put(description.key, msgspec.json.encode(lambda_event(told)), str(uuid.uuid4()), None)
    except LambdaError as error:
        return error.message
    return None


# --- policies -----------------------------------------------------------------------------------------


class PolicyActions:
    """Executes the actions of alarms whose ARN is a policy."""

    def __init__(self, auto_scaling: AutoScaling) -> None:
        self._auto_scaling = auto_scaling
        self._low: dict[str, float] = {}
        """By id, the policies whose alarms have told in the last evaluation that there is too little use,
        with what was observed."""
        self._low_at_seconds = float("-inf")
        """When that was."""

    async def deliver(self, told: AlarmAction) -> str | None:
        """Scale. Returns None, or what went wrong. Raises StorageError."""
        scaling = self._auto_scaling
        policy = scaling.policy_of_arn(told.action)
        if policy is not None and policy.place[:2] != told.alarm.place[:2]:
            policy = None  # nobody scales what another account has
        target = None if policy is None else scaling.target(policy.place)
        if policy is None or target is None:
            return sentences.POLICY_GONE.format(arn=told.action)
        if told.alarm.state != "ALARM":
            return None
        purpose = next((one for one, name in policy.alarms.items() if name == told.alarm.name), None)
        if purpose in {"AlarmHigh", "AlarmLow"}:
            await self._scale(policy, target, told, is_out=purpose == "AlarmHigh")
        await scaling.put_alarms(policy)
        return None

    async def _scale(self, policy: ScalingPolicy, target: ScalableTarget, told: AlarmAction, *, is_out: bool) -> None:
        scaling, place = self._auto_scaling, policy.place
        scope = scaling.scope(place)
        capacity = current_capacity(scope, place)
        is_suspended = target.suspended.scaling_out if is_out else target.suspended.scaling_in
        if capacity is None or not is_active(scope, place) or is_suspended:
            return
        observed = _observed(told, is_out=is_out)
        if observed is None:
            return
        if not is_out and capacity > target.minimum:
            deciding = self._deciding(policy, told.at_seconds, capacity, observed)
            if deciding is None:
                return
            policy, observed = deciding
        now_seconds = told.at_seconds
        is_cooling = _is_cooling(policy, target, now_seconds, is_out=is_out)
        raised_from = target.raised_from if is_out and is_cooling and target.raised_from is not None else capacity
        wanted = wanted_capacity(policy.tracking, raised_from, observed)
        wanted = min(max(wanted, target.minimum), target.maximum)
        is_change = wanted > capacity if is_out else wanted < capacity
        is_at_bound = capacity >= target.maximum if is_out else capacity <= target.minimum
        if is_cooling and not is_at_bound and not (is_out and is_change):
            return
        alarm_name = policy.alarms["AlarmHigh" if is_out else "AlarmLow"]
        cause = sentences.ALARM_CAUSE.format(alarm=alarm_name, policy=policy.name)
        if not is_change:
            bound_reason = "AlreadyAtMaxCapacity" if is_out else "AlreadyAtMinCapacity"
            reason = bound_reason if is_at_bound else "AutoScalingAnticipatedFlapping"
            await self._note_none(place, now_seconds, cause, reason, capacity)
            return
        if await scaling.scale(place, wanted, cause):
            await self._note_scaled(place, now_seconds, raised_from if is_out else None)

    @again_if_changed
    async def _note_scaled(self, place: TargetPlace, now_seconds: float, raised_from: int | None) -> None:
        """Note when the target was scaled, for cooldowns. `raised_from`: None if its capacity was lowered."""
        scaling = self._auto_scaling
        present = scaling.target(place)  # may have been registered again, or deregistered, in between
        if present is not None and raised_from is not None:
            changed = msgspec.structs.replace(present, scaled_out_seconds=now_seconds, raised_from=raised_from)
            await scaling.keep_target(changed)
        elif present is not None:
            await scaling.keep_target(msgspec.structs.replace(present, scaled_in_seconds=now_seconds))

    def _deciding(
        self, policy: ScalingPolicy, at_seconds: float, capacity: int, observed: float
    ) -> tuple[ScalingPolicy, float] | None:
        """The policy that decides to which capacity that of its target is lowered, and what its alarm has observed.

        `policy` has told in the evaluation at this moment that there is too little use.
        Returns None unless all that may lower have told.
        """
        if at_seconds != self._low_at_seconds:
            self._low, self._low_at_seconds = {}, at_seconds
        low = self._low
        low[policy.id] = observed
        policies = self._auto_scaling.policies.among(policy.place).values()
        lowering = [one for one in policies if not one.tracking.never_scales_in]
        if not all(one.id in low for one in lowering):
            return None
        wanted = [(wanted_capacity(one.tracking, capacity, low[one.id]), one) for one in lowering]
        _, deciding = max(wanted, key=lambda one: one[0], default=(0, policy))
        return deciding, low[deciding.id]

    async def _note_none(self, place: TargetPlace, now_seconds: float, cause: str, reason: str, capacity: int) -> None:
        """Note why nothing is changed."""
        activity = Activity(
            str(uuid.uuid4()),
            now_seconds,
            now_seconds,
            sentences.UNCHANGED,
            cause,
            "Unfulfilled",
            sentences.UNCHANGED,
            reason,
            capacity,
        )
        await self._auto_scaling.note(place, activity)


def _is_cooling(policy: ScalingPolicy, target: ScalableTarget, now_seconds: float, *, is_out: bool) -> bool:
    """True if a cooldown has not ended. Lowering waits for the end of both, of which raising ends that of lowering.

    While raising waits, only more than the last increase is added.
    Source: Application Auto Scaling user guide, *Define cooldown periods*.
    """
    tracking, out_seconds, in_seconds = policy.tracking, target.scaled_out_seconds, target.scaled_in_seconds
    if out_seconds is not None and now_seconds < out_seconds + (tracking.out_cooldown_seconds or 0):
        return True
    if is_out or in_seconds is None or (out_seconds is not None and out_seconds > in_seconds):
        return False
    return now_seconds < in_seconds + (tracking.in_cooldown_seconds or 0)


def _observed(told: AlarmAction, *, is_out: bool) -> float | None:
    """The value that decides: the newest one to raise, the greatest one to lower."""
    values = [value for value in told.values if value is not None]
    if not values:
        return None
    return values[0] if is_out else max(values)

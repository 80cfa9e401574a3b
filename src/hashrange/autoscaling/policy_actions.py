"""What happens when an alarm of a policy is in ALARM? The capacity becomes that at which use would be the target, within the target's bounds."""

import uuid

import msgspec

from hashrange.autoscaling.auto_scaling import AutoScaling
from hashrange.autoscaling.capacity import current_capacity, is_active
from hashrange.autoscaling.records import Activity, ScalableTarget, ScalingPolicy
from hashrange.autoscaling.tracking import wanted_capacity
from hashrange.cloudwatch.alarms.alarms import AlarmAction
from hashrange.messages import autoscaling as sentences


class PolicyActions:
    """Executes the actions of alarms whose ARN is a policy."""

    def __init__(self, auto_scaling: AutoScaling) -> None:
        self._auto_scaling = auto_scaling

    async def deliver(self, told: AlarmAction) -> str | None:
        """Scale. Returns None, or what went wrong. Raises StorageError."""
        scaling = self._auto_scaling
        policy = scaling.policy_of_arn(told.action)
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
        if capacity is None or not is_active(scope, place) or _is_suspended(target, is_out=is_out):
            return
        observed = _observed(told, is_out=is_out)
        if observed is None:
            return
        wanted = wanted_capacity(policy.tracking, capacity, observed)
        wanted = min(max(wanted, target.minimum), target.maximum)
        if is_out != (wanted > capacity) or wanted == capacity:
            await self._note_none(policy, target, told, capacity, is_out=is_out)
            return
        now_seconds = told.at_seconds
        if _is_cooling(policy, target, now_seconds, is_out=is_out):
            return
        cause = sentences.ALARM_CAUSE.format(alarm=told.alarm.name, policy=policy.name)
        if await scaling.scale(place, wanted, cause):
            times = {"scaled_out_seconds" if is_out else "scaled_in_seconds": now_seconds}
            present = scaling.target(place)  # may have been registered again, or deregistered, in between
            if present is not None:
                await scaling.keep_target(msgspec.structs.replace(present, **times))

    async def _note_none(
        self, policy: ScalingPolicy, target: ScalableTarget, told: AlarmAction, capacity: int, *, is_out: bool
    ) -> None:
        """Note why nothing is changed."""
        reason = "AutoScalingAnticipatedFlapping"
        if is_out and capacity >= target.maximum:
            reason = "AlreadyAtMaxCapacity"
        elif not is_out and capacity <= target.minimum:
            reason = "AlreadyAtMinCapacity"
        cause = sentences.ALARM_CAUSE.format(alarm=told.alarm.name, policy=policy.name)
        activity = Activity(
            str(uuid.uuid4()),
            told.at_seconds,
            told.at_seconds,
            sentences.UNCHANGED,
            cause,
            "Unfulfilled",
            sentences.UNCHANGED,
            reason,
            capacity,
        )
        await self._auto_scaling.note(policy.place, activity)


def _is_suspended(target: ScalableTarget, *, is_out: bool) -> bool:
    return target.suspended.scaling_out if is_out else target.suspended.scaling_in


def _is_cooling(policy: ScalingPolicy, target: ScalableTarget, now_seconds: float, *, is_out: bool) -> bool:
    """True if a cooldown has not ended. Lowering waits for the end of both; raising is not held up by lowering."""
    tracking = policy.tracking
    waits = [(target.scaled_out_seconds, tracking.out_cooldown_seconds)]
    if not is_out:
        waits.append((target.scaled_in_seconds, tracking.in_cooldown_seconds))
    return any(
        since_seconds is not None and now_seconds < since_seconds + (cooldown_seconds or 0)
        for since_seconds, cooldown_seconds in waits
    )


def _observed(told: AlarmAction, *, is_out: bool) -> float | None:
    """The value that decides: the newest one to raise, the greatest one to lower."""
    values = [value for value in told.values if value is not None]
    if not values:
        return None
    return values[0] if is_out else max(values)

"""When are scheduled actions executed, and capacities brought within their bounds?
When they are due, by service time.
"""

import uuid
from math import inf

import msgspec

from hashrange.autoscaling.auto_scaling import AutoScaling, next_time
from hashrange.autoscaling.records import Activity, ScalableTarget, ScheduledAction
from hashrange.items.steps import walk
from hashrange.jobs.job import AT_ONCE
from hashrange.messages import autoscaling as sentences


class ScalingJob:
    """The job of Application Auto Scaling."""

    def __init__(self, auto_scaling: AutoScaling) -> None:
        self._auto_scaling = auto_scaling

    async def run_slice(self) -> float:
        """Execute one scheduled action that is due, or settle targets and forget old activities; returns the seconds
        until there is more to do. Raises StorageError.
        """
        scaling = self._auto_scaling
        now_seconds = scaling.now_seconds()
        actions = walk(list(scaling.scheduled.by_path().values())[::-1])
        by_time = {one.due_seconds: one for one in actions if one.due_seconds is not None}
        first_seconds = min(walk(by_time), default=inf)
        if first_seconds <= now_seconds:
            await self._execute(by_time[first_seconds], now_seconds)
            return AT_ONCE
        unsettled = walk(list(scaling.unsettled.items()))
        for place in walk([place for place, at_seconds in unsettled if at_seconds <= now_seconds]):
            target = scaling.target(place)
            if target is None:
                scaling.unsettled.pop(place, None)
            else:
                await scaling.settle(target)
        if scaling.look_seconds <= now_seconds:
            await scaling.forget_activities()
        due_seconds = min(first_seconds, scaling.look_seconds, *scaling.unsettled.values())
        return max(due_seconds - now_seconds, 0.0)

    async def _execute(self, action: ScheduledAction, now_seconds: float) -> None:
        """Give the target its new bounds, and the action its next time."""
        scaling = self._auto_scaling
        target = scaling.target(action.place)
        if target is not None and not target.suspended.scheduled:
            await self._set_bounds(target, action, now_seconds)
        due_seconds = next_time(action, now_seconds)
        if due_seconds is None:
            await scaling.remove_scheduled(action)
        else:
            await scaling.keep_scheduled(msgspec.structs.replace(action, due_seconds=due_seconds))

    async def _set_bounds(self, target: ScalableTarget, action: ScheduledAction, now_seconds: float) -> None:
        """Give the target the bounds of an action, and bring its capacity within them.
        An action that would cross the bounds changes nothing.

        The activity says which, unless the bounds are already so.
        Source: Application Auto Scaling user guide, *Scheduled scaling*.
        """
        scaling = self._auto_scaling
        minimum = target.minimum if action.minimum is None else action.minimum
        maximum = target.maximum if action.maximum is None else action.maximum
        is_crossed = minimum > maximum
        bounds = {"minimum": minimum, "maximum": maximum}
        message = sentences.BOUNDS_SET.format(**bounds)
        if is_crossed:
            message = sentences.BOUNDS_NOT_SET.format(**bounds, reason=sentences.BOUNDS_CROSSED)
        if (minimum, maximum) != (target.minimum, target.maximum):
            activity = Activity(
                str(uuid.uuid4()),
                now_seconds,
                None,
                sentences.SETTING_BOUNDS.format(**bounds),
                sentences.SCHEDULED_CAUSE.format(name=action.name),
                "Failed" if is_crossed else "Successful",
                message,
            )
            await scaling.note(target.place, activity)
        if not is_crossed:
            target = msgspec.structs.replace(target, minimum=minimum, maximum=maximum)
            await scaling.keep_target(target)
            await scaling.settle(target)

"""What is scaled? `AutoScaling` has the scalable targets of all accounts with their policies and scheduled actions,
kept as documents, and changes capacity.
"""

import uuid
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import msgspec

from hashrange.autoscaling.capacity import change_capacity, current_capacity, is_active, is_read
from hashrange.autoscaling.limits import SCALING_ACTIVITIES_MAX, SCALING_ACTIVITY_SECONDS
from hashrange.autoscaling.records import (
    Activity,
    ActivityStatus,
    ScalableTarget,
    ScalingPolicy,
    ScheduledAction,
    TargetPlace,
)
from hashrange.autoscaling.schedule import read_schedule, zone_of
from hashrange.autoscaling.tracking import alarm_definitions
from hashrange.clock import Clock
from hashrange.cloudwatch.alarms.alarms import Alarms
from hashrange.errors import ApiError
from hashrange.items.steps import sort, spend_decoding, walk
from hashrange.messages import autoscaling as sentences
from hashrange.operations.operation import Scope
from hashrange.store.documents import Documents

TARGET_PREFIX = "scalable-target/"
POLICY_PREFIX = "scaling-policy/"
SCHEDULED_PREFIX = "scheduled-action/"
ACTIVITY_PREFIX = "scaling-activity/"
BUSY_SECONDS = 1.0
"""Service time after which capacity outside of its bounds is looked at again if the table was busy."""
REFUSED_SECONDS = 60.0
"""The same if UpdateTable has refused the change: decreases are allowed again each hour,
and alarms try each minute too."""
_encode = msgspec.json.encode
_read_target = msgspec.json.Decoder(ScalableTarget).decode
_read_policy = msgspec.json.Decoder(ScalingPolicy).decode
_read_scheduled = msgspec.json.Decoder(ScheduledAction).decode
_read_activities = msgspec.json.Decoder(list[Activity]).decode

SeeAccount = Callable[[str, str], Scope]
OwnedT = TypeVar("OwnedT", ScalingPolicy, ScheduledAction)


class AutoScaling:
    """Application Auto Scaling of one store."""

    def __init__(
        self,
        documents: Documents,
        clock: Clock,
        alarms: Alarms,
        scope_of: SeeAccount,
        wake: Callable[[], None] = lambda: None,
    ) -> None:
        """`wake` is called when the job has work."""
        self._documents = documents
        self._clock = clock
        self._scope_of = scope_of
        self.alarms = alarms
        self._generation = -1
        self._targets: dict[TargetPlace, ScalableTarget] = {}
        self._policies: dict[tuple[TargetPlace, str], ScalingPolicy] = {}
        self._scheduled: dict[tuple[TargetPlace, str], ScheduledAction] = {}
        self.unsettled: dict[TargetPlace, float] = {}
        """Targets whose capacity is, or may be, outside of their bounds,
        and the service time at which to look at each."""
        self.wake = wake

    def now_seconds(self) -> float:
        """Service time."""
        return self._clock.service_time()

    def scope(self, place: TargetPlace) -> Scope:
        """The scope in which the target's table is found."""
        return self._scope_of(place.account, place.region)

    # --- what there is ---------------------------------------------------------------------------

    def targets(self, account: str, region: str) -> Sequence[ScalableTarget]:
        """The targets of one account and Region."""
        self._see_content()
        return [self._targets[place] for place in sorted(self._targets) if place[:2] == (account, region)]

    def target(self, place: TargetPlace) -> ScalableTarget | None:
        """The target; None if it is not registered."""
        self._see_content()
        return self._targets.get(place)

    def policies(self, account: str, region: str) -> Sequence[ScalingPolicy]:
        """The policies of one account and Region."""
        self._see_content()
        return _of(self._policies.values(), account, region)

    def policies_of(self, place: TargetPlace) -> Sequence[ScalingPolicy]:
        """The policies of one target."""
        self._see_content()
        return [one for one in self._policies.values() if one.place == place]

    def policy(self, place: TargetPlace, name: str) -> ScalingPolicy | None:
        """A target's policy of this name; None if there is none."""
        self._see_content()
        return self._policies.get((place, name))

    def policy_of_arn(self, arn: str) -> ScalingPolicy | None:
        """The policy with this ARN; None if there is none. 0.1 ms with 2,000 policies."""
        self._see_content()
        policy_id = arn.partition(":scalingPolicy:")[2].partition(":")[0]
        found = next((one for one in self._policies.values() if one.id == policy_id), None)
        return found if found is not None and found.arn == arn else None

    def scheduled_actions(self, account: str, region: str) -> Sequence[ScheduledAction]:
        """The scheduled actions of one account and Region."""
        self._see_content()
        return _of(self._scheduled.values(), account, region)

    def scheduled_action(self, place: TargetPlace, name: str) -> ScheduledAction | None:
        """A target's scheduled action of this name; None if there is none."""
        self._see_content()
        return self._scheduled.get((place, name))

    def all_scheduled(self) -> Sequence[ScheduledAction]:
        """The scheduled actions of all accounts."""
        self._see_content()
        return list(self._scheduled.values())

    def activities(self, account: str, region: str) -> Sequence[tuple[TargetPlace, Activity]]:
        """The activities of the last six weeks, newest first, those of former targets too;
        may give way. Raises StorageError.
        """
        prefix = f"{ACTIVITY_PREFIX}{account}/{region}/"
        oldest_seconds = self.now_seconds() - SCALING_ACTIVITY_SECONDS
        found = []
        for name, value in self._documents.below(prefix):
            dimension, _, resource_id = name.removeprefix(prefix).partition("/")
            place = TargetPlace(account, region, resource_id, dimension)  # type: ignore[arg-type]
            spend_decoding(len(value))
            found += [(place, one) for one in walk(_read_activities(value)) if one.begin_seconds >= oldest_seconds]
        ordered = sort([(one.begin_seconds, number) for number, (_, one) in enumerate(walk(found))])
        return [found[number] for _, number in walk(ordered)][::-1]

    # --- changes ---------------------------------------------------------------------------------

    async def keep_target(self, target: ScalableTarget) -> None:
        """Create or replace a target. Raises StorageError."""
        if await self._write({_document(TARGET_PREFIX, target.place): _encode(target)}):
            self._targets[target.place] = target

    async def remove_target(self, target: ScalableTarget) -> None:
        """Deregister a target, with its policies, their alarms, and scheduled actions. Raises StorageError."""
        place = target.place
        policies = self.policies_of(place)
        scheduled = [one for one in self._scheduled.values() if one.place == place]
        for policy in policies:
            await self._delete_alarms(place, policy.alarms.values())
        changes: dict[str, bytes | None] = {_document(TARGET_PREFIX, place): None}
        changes |= {POLICY_PREFIX + policy.id: None for policy in policies}
        changes |= {SCHEDULED_PREFIX + one.id: None for one in scheduled}
        if not await self._write(changes):
            return
        self._targets.pop(place, None)
        self.unsettled.pop(place, None)
        for policy in policies:
            self._policies.pop((place, policy.name), None)
        for one in scheduled:
            self._scheduled.pop((place, one.name), None)

    async def keep_policy(self, policy: ScalingPolicy) -> None:
        """Create or replace a policy; alarms that it has no longer are deleted. Raises StorageError."""
        before = self.policy(policy.place, policy.name)
        if not await self._write({POLICY_PREFIX + policy.id: _encode(policy)}):
            return
        self._policies[policy.place, policy.name] = policy
        if before is not None:
            await self._delete_alarms(policy.place, set(before.alarms.values()) - set(policy.alarms.values()))
        await self.put_alarms(policy)

    async def put_alarms(self, policy: ScalingPolicy) -> None:
        """Let the thresholds of the policy's alarms follow from the present capacity. Raises StorageError."""
        capacity = current_capacity(self.scope(policy.place), policy.place)
        for definition in alarm_definitions(policy, capacity or 1):
            alarm = self.alarms.get(policy.place.account, policy.place.region, definition.name)
            if alarm is None or alarm.definition != definition:
                await self.alarms.put(policy.place.account, policy.place.region, definition)

    async def remove_policy(self, policy: ScalingPolicy) -> None:
        """Delete a policy and its alarms. Raises StorageError."""
        await self._delete_alarms(policy.place, policy.alarms.values())
        if await self._write({POLICY_PREFIX + policy.id: None}):
            self._policies.pop((policy.place, policy.name), None)

    async def _delete_alarms(self, place: TargetPlace, names: Iterable[str]) -> None:
        await self.alarms.delete(place.account, place.region, names)

    async def keep_scheduled(self, action: ScheduledAction) -> None:
        """Create or replace a scheduled action. Raises StorageError."""
        if await self._write({SCHEDULED_PREFIX + action.id: _encode(action)}):
            self._scheduled[action.place, action.name] = action
            self.wake()

    async def remove_scheduled(self, action: ScheduledAction) -> None:
        """Delete a scheduled action. Raises StorageError."""
        if await self._write({SCHEDULED_PREFIX + action.id: None}):
            self._scheduled.pop((action.place, action.name), None)

    # --- capacity --------------------------------------------------------------------------------

    async def settle(self, target: ScalableTarget) -> None:
        """Bring the capacity of a target within its bounds, now or as soon as the table allows it.
        Raises StorageError.
        """
        scope, place = self.scope(target.place), target.place
        capacity = current_capacity(scope, place)
        again_seconds = None
        if capacity is not None and not target.minimum <= capacity <= target.maximum:
            units, cause = target.maximum, sentences.MAXIMUM_CAUSE.format(maximum=target.maximum)
            if capacity < target.minimum:
                units, cause = target.minimum, sentences.MINIMUM_CAUSE.format(minimum=target.minimum)
            if not is_active(scope, place):
                again_seconds = BUSY_SECONDS
            elif not await self.scale(place, units, cause):
                again_seconds = REFUSED_SECONDS
        if again_seconds is None:
            self.unsettled.pop(place, None)
        else:
            self.unsettled[place] = self.now_seconds() + again_seconds
            self.wake()

    async def scale(self, place: TargetPlace, units: int, cause: str) -> bool:
        """Change the capacity of a target by UpdateTable, and note the activity.
        Returns True if it was changed. Raises StorageError.
        """
        begin_seconds = self.now_seconds()
        kind = "read" if is_read(place) else "write"
        status: ActivityStatus = "Successful"
        message = sentences.SCALED.format(kind=kind, units=units)
        try:
            await change_capacity(self.scope(place), place, units)
        except ApiError as error:
            status = "Failed"
            message = sentences.NOT_SCALED.format(kind=kind, units=units, reason=error.message or error.code)
        description = sentences.SETTING.format(kind=kind, units=units)
        activity = Activity(str(uuid.uuid4()), begin_seconds, self.now_seconds(), description, cause, status, message)
        await self.note(place, activity)
        if status == "Successful":
            for policy in self.policies_of(place):
                await self.put_alarms(policy)
        return status == "Successful"

    async def note(self, place: TargetPlace, activity: Activity) -> None:
        """Keep an activity; the oldest ones are forgotten. One that only repeats why the newest one had no effect
        is not kept. Raises StorageError.
        """
        name = _document(ACTIVITY_PREFIX, place)
        stored = self._documents.get(name)
        oldest_seconds = activity.begin_seconds - SCALING_ACTIVITY_SECONDS
        before = [] if stored is None else _read_activities(stored)
        if before and activity.status != "Successful" and _outcome(before[-1]) == _outcome(activity):
            return
        kept = [one for one in before if one.begin_seconds >= oldest_seconds]
        await self._write({name: _encode([*kept[-SCALING_ACTIVITIES_MAX + 1 :], activity])})

    # --- documents -------------------------------------------------------------------------------

    async def _write(self, changes: dict[str, bytes | None]) -> bool:
        """Returns False if the store's content has been replaced meanwhile:
        nothing was written, and nothing is to be remembered.
        """
        self._see_content()
        return await self._documents.write(changes, self._generation)

    def _see_content(self) -> None:
        """Read everything, the first time and after the store's content has been replaced."""
        if self._generation == (generation := self._documents.generation):
            return
        self._generation = generation
        below = self._documents.below
        targets = [_read_target(value) for _, value in below(TARGET_PREFIX)]
        policies = [_read_policy(value) for _, value in below(POLICY_PREFIX)]
        scheduled = [_read_scheduled(value) for _, value in below(SCHEDULED_PREFIX)]
        self._targets = {one.place: one for one in targets}
        self._policies = {(one.place, one.name): one for one in policies}
        self._scheduled = {(one.place, one.name): one for one in scheduled}
        self.unsettled = dict.fromkeys(self._targets, 0.0)


def next_time(action: ScheduledAction, after_seconds: float) -> float | None:
    """When a scheduled action is due next, after a moment; None: never again. Raises ScheduleError.

    One that recurs is due at its StartTime, and then as its schedule says. Source: Application Auto Scaling user guide,
    *Schedule recurring scaling actions using cron expressions*.
    """
    begin_seconds, end_seconds = action.begin_seconds, action.end_seconds
    counted_from_seconds = action.created_seconds if begin_seconds is None else begin_seconds
    schedule = read_schedule(action.schedule, zone_of(action.timezone), counted_from_seconds)
    if begin_seconds is not None and after_seconds < begin_seconds:
        due_seconds = begin_seconds if schedule.recurs else schedule.next_after(begin_seconds - 0.001)
    else:
        due_seconds = schedule.next_after(after_seconds)
    is_over = due_seconds is not None and end_seconds is not None and due_seconds >= end_seconds
    return None if is_over else due_seconds


def _of(records: Iterable[OwnedT], account: str, region: str) -> list[OwnedT]:
    found = [one for one in records if one.place[:2] == (account, region)]
    return sorted(found, key=lambda one: (one.place, one.name))


def _document(prefix: str, place: TargetPlace) -> str:
    return f"{prefix}{place.account}/{place.region}/{place.dimension}/{place.resource_id}"


def _outcome(activity: Activity) -> tuple[object, ...]:
    return (activity.description, activity.cause, activity.status, activity.message, activity.not_scaled)

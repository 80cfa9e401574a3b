"""What is scaled? `AutoScaling` has the scalable targets of all accounts with their policies and scheduled actions,
kept as documents, and changes capacity.
"""

import asyncio
import uuid
from collections.abc import Callable, Hashable, Sequence

from hashrange.autoscaling.capacity import change_capacity, current_capacity, is_active, is_read
from hashrange.autoscaling.limits import SCALING_ACTIVITIES_MAX, SCALING_ACTIVITY_SECONDS, SCALING_LOOK_SECONDS
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
from hashrange.items.steps import look, sort, walk
from hashrange.messages import autoscaling as sentences
from hashrange.operations.operation import Scope
from hashrange.store.documents import Documents
from hashrange.store.records import KeptRecords, RecordChange, RememberedRecords, WasRead, again_if_changed

TARGET_PREFIX = "scalable-target/"
POLICY_PREFIX = "scaling-policy/"
SCHEDULED_PREFIX = "scheduled-action/"
ACTIVITY_PREFIX = "scaling-activity/"
BUSY_SECONDS = 1.0
"""Service time after which capacity outside of its bounds is looked at again if the table was busy."""
REFUSED_SECONDS = 60.0
"""Service time after which capacity outside of its bounds is looked at again if UpdateTable has refused the change:
decreases are allowed again each hour, and alarms try each minute too."""


class AutoScaling:
    """Application Auto Scaling of one store.

    `targets`, `policies` and `scheduled` have all records. Each is found among those of its account and Region,
    policies and scheduled actions also among those of their target.
    """

    def __init__(
        self,
        documents: Documents,
        clock: Clock,
        alarms: Alarms,
        scope_of: Callable[[str, str], Scope],
        wake: Callable[[], None] = lambda: None,
    ) -> None:
        """`wake` is called when the job has work."""
        targets = KeptRecords(documents, TARGET_PREFIX, ScalableTarget, "scalable target")
        self.targets = RememberedRecords(
            targets,
            lambda one: _path(one.place),
            groups_of=lambda one: (one.place[:2],),
            correct=self._note_unsettled,
            when_read=self._begin_look,
        )
        policies = KeptRecords(documents, POLICY_PREFIX, ScalingPolicy, "scaling policy")
        self.policies = RememberedRecords(policies, lambda one: (one.id,), groups_of=_groups_of)
        scheduled = KeptRecords(documents, SCHEDULED_PREFIX, ScheduledAction, "scheduled action")
        self.scheduled = RememberedRecords(scheduled, lambda one: (one.id,), groups_of=_groups_of)
        self._activities = KeptRecords(documents, ACTIVITY_PREFIX, list[Activity], "list of scaling activities")
        self._noting = asyncio.Lock()
        """A lock that is held while an activity is noted, from reading those of its target to writing them."""
        self._clock = clock
        self._scope_of = scope_of
        self.alarms = alarms
        self._unsettled: dict[TargetPlace, float] = {}
        self.look_seconds = 0.0
        """Service time at which to look for activities that are too old."""
        self.wake = wake

    def now_seconds(self) -> float:
        """Service time."""
        return self._clock.service_time()

    def scope(self, place: TargetPlace) -> Scope:
        """The scope in which the target's table is found."""
        return self._scope_of(place.account, place.region)

    # --- what there is ---------------------------------------------------------------------------

    def target(self, place: TargetPlace) -> ScalableTarget | None:
        """The target; None if it is not registered."""
        return self.targets.get(*_path(place))

    @property
    def unsettled(self) -> dict[TargetPlace, float]:
        """Targets whose capacity is, or may be, outside of their bounds,
        and the service time at which to look at each.
        """
        self.targets.by_path()  # of other content, all are looked at
        return self._unsettled

    def policy(self, place: TargetPlace, name: str) -> ScalingPolicy | None:
        """A target's policy of this name; None if there is none."""
        return next(iter(self.policies.among((place, name)).values()), None)

    def policy_of_arn(self, arn: str) -> ScalingPolicy | None:
        """The policy with this ARN; None if there is none."""
        found = self.policies.get(arn.partition(":scalingPolicy:")[2].partition(":")[0])
        return found if found is not None and found.arn == arn else None

    def scheduled_action(self, place: TargetPlace, name: str) -> ScheduledAction | None:
        """A target's scheduled action of this name; None if there is none."""
        return next(iter(self.scheduled.among((place, name)).values()), None)

    def activities(self, account: str, region: str) -> Sequence[tuple[TargetPlace, Activity]]:
        """The activities of the last six weeks, newest first, those of former targets too;
        may give way. Raises StorageError.
        """
        oldest_seconds = self.now_seconds() - SCALING_ACTIVITY_SECONDS
        found = []
        for path, activities in self._activities.walk(account, region):
            dimension, _, resource_id = path.removeprefix(f"{account}/{region}/").partition("/")
            place = TargetPlace(account, region, resource_id, dimension)  # type: ignore[arg-type]
            found += [(place, one) for one in walk(activities) if one.begin_seconds >= oldest_seconds]
        ordered = sort([(one.begin_seconds, number) for number, (_, one) in enumerate(walk(found))])
        return [found[number] for _, number in walk(ordered)][::-1]

    # --- changes ---------------------------------------------------------------------------------

    async def keep_target(self, target: ScalableTarget) -> None:
        """Create or replace a target. Raises StorageError."""
        await self._write(self.targets.change(target))

    async def remove_target(self, target: ScalableTarget) -> None:
        """Deregister a target, with its policies, their alarms, and scheduled actions. Raises StorageError."""
        place = target.place
        policies = list(self.policies.among(place).values())
        scheduled = list(self.scheduled.among(place).values())
        for policy in policies:
            await self.alarms.delete(*place[:2], policy.alarms.values())
        if await self._write(
            self.targets.removal(target),
            *[self.policies.removal(one) for one in policies],
            *[self.scheduled.removal(one) for one in scheduled],
        ):
            self._unsettled.pop(place, None)

    async def keep_policy(self, policy: ScalingPolicy) -> None:
        """Create or replace a policy; alarms that it has no longer are deleted. Raises StorageError."""
        before = self.policy(policy.place, policy.name)
        if not await self._write(self.policies.change(policy)):
            return
        if before is not None:
            gone = set(before.alarms.values()) - set(policy.alarms.values())
            await self.alarms.delete(*policy.place[:2], gone)
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
        await self.alarms.delete(*policy.place[:2], policy.alarms.values())
        await self._write(self.policies.removal(policy))

    async def keep_scheduled(self, action: ScheduledAction) -> None:
        """Create or replace a scheduled action. Raises StorageError."""
        if await self._write(self.scheduled.change(action)):
            self.wake()

    async def remove_scheduled(self, action: ScheduledAction) -> None:
        """Delete a scheduled action. Raises StorageError."""
        await self._write(self.scheduled.removal(action))

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
            self._unsettled.pop(place, None)
        else:
            self._unsettled[place] = self.now_seconds() + again_seconds
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
            for policy in list(self.policies.among(place).values()):
                await self.put_alarms(policy)
        return status == "Successful"

    @again_if_changed
    async def note(self, place: TargetPlace, activity: Activity) -> None:
        """Keep an activity; the oldest ones are forgotten. One that only repeats why the newest one had no effect
        is not kept. Raises StorageError.
        """
        oldest_seconds = activity.begin_seconds - SCALING_ACTIVITY_SECONDS

        def update(before: list[Activity] | None) -> list[Activity] | None:
            if before and activity.status != "Successful" and _outcome(before[-1]) == _outcome(activity):
                return before
            kept = [one for one in before or () if one.begin_seconds >= oldest_seconds]
            return [*kept[-SCALING_ACTIVITIES_MAX + 1 :], activity]

        self.targets.by_path()  # so that what is written is of the present content
        generation = self.targets.generation
        async with self._noting:
            change = await self._activities.updated_in_steps(update, *_path(place))
            if change.read != WasRead(change.document):
                await self._activities.write(change, generation=generation)

    async def forget_activities(self) -> None:
        """Forget the activities that are older than six weeks, those of former targets too; gives way.
        Raises StorageError, and RecordsChanged if another writer came between.
        """
        self.look_seconds = self.now_seconds() + SCALING_LOOK_SECONDS
        oldest_seconds = self.now_seconds() - SCALING_ACTIVITY_SECONDS

        def update(before: list[Activity] | None) -> list[Activity] | None:
            return [one for one in before or () if one.begin_seconds >= oldest_seconds] or None

        for path, activities in self._activities.walk():
            if update(activities) != activities:
                look()
                await self._activities.write(await self._activities.updated_in_steps(update, path))

    async def _write(self, *changes: RecordChange) -> bool:
        """Returns False if the store's content has been replaced meanwhile: nothing was written."""
        self.targets.by_path()  # so that what is written is of the present content
        return await self.targets.write(*changes)

    def _note_unsettled(self, target: ScalableTarget) -> ScalableTarget:
        self._unsettled[target.place] = 0.0
        return target

    def _begin_look(self) -> None:
        self.look_seconds = 0.0
        self.wake()


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


def _groups_of(one: ScalingPolicy | ScheduledAction) -> tuple[Hashable, ...]:
    """What it is found by: account and Region, target, target and name."""
    return (one.place[:2], one.place, (one.place, one.name))


def _path(place: TargetPlace) -> tuple[str, str, str, str]:
    return (place.account, place.region, place.dimension, place.resource_id)


def _outcome(activity: Activity) -> tuple[object, ...]:
    return (activity.description, activity.cause, activity.status, activity.message, activity.not_scaled)

"""Which alarms does a server have, and who is told of their states? `Alarms` keeps them as documents,
changes their states, and passes actions on.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from hashrange.clock import Clock
from hashrange.cloudwatch.alarms import history as events
from hashrange.cloudwatch.alarms.alarm import Alarm, AlarmDefinition, StateValue
from hashrange.cloudwatch.alarms.composite_rules import CompositeRules
from hashrange.cloudwatch.alarms.histories import AlarmHistories
from hashrange.cloudwatch.alarms.history import HistoryItem
from hashrange.cloudwatch.limits import (
    ALARM_ACTIONS_TOGETHER_MAX,
    ALARM_ACTIONS_WAITING_MAX,
    ALARM_HISTORIES_GONE_MAX,
    ALARM_HISTORY_SECONDS,
)
from hashrange.items.steps import sort
from hashrange.messages import alarms as sentences
from hashrange.store.documents import Documents
from hashrange.store.records import KeptRecords, RecordChange, RememberedRecords, again_if_changed

ALARM_PREFIX = "alarm/"
GONE_PREFIX = "alarm-gone/"
"""Of each name with a history and without an alarm: when the alarm was deleted, in seconds of service time as JSON."""
_log = logging.getLogger("hashrange.cloudwatch")


class AlarmAction(NamedTuple):
    """What a deliverer is told. Times are seconds of service time."""

    alarm: Alarm
    """The alarm as it is now."""
    action: str
    """ARN or URL."""
    previous: Alarm
    """The alarm as it was before its state changed."""
    at_seconds: float
    values: Sequence[float | None] = ()
    """What the last evaluation has looked at, newest first."""


ExecuteAction = Callable[[AlarmAction], Coroutine[Any, Any, str | None]]
"""Executes an action. Returns None, or what went wrong."""


class _Deliverer(NamedTuple):
    prefix: str
    deliver: ExecuteAction
    is_scaling: bool


async def _refuse(told: AlarmAction) -> str | None:
    return sentences.NO_DELIVERY.format(action=told.action)


_NOBODY = _Deliverer("", _refuse, is_scaling=False)
"""Stands for whoever would execute actions that nobody executes."""


class WaitingActions:
    """Actions that have not been begun, of each account in their order. However many an account has, others get a part
    of what is left: an account may have no more than what would be free without it.
    """

    def __init__(self) -> None:
        self._by_account: dict[str, deque[AlarmAction]] = {}
        """The account whose turn it is first."""
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, told: AlarmAction) -> bool:
        """Let an action wait; False if there is no room."""
        own = self._by_account.get(told.alarm.account, ())
        if len(own) >= ALARM_ACTIONS_WAITING_MAX - self._count:
            return False
        self._by_account.setdefault(told.alarm.account, deque()).append(told)
        self._count += 1
        return True

    def take(self, running: Mapping[str, int]) -> AlarmAction | None:
        """The next action that may begin, beside as many of each account as `running` says; None: none may."""
        left = ALARM_ACTIONS_TOGETHER_MAX - sum(running.values())
        account = next((one for one in self._by_account if running.get(one, 0) < left), None)
        if account is None:
            return None
        actions = self._by_account.pop(account)
        told = actions.popleft()
        self._count -= 1
        if actions:
            self._by_account[account] = actions  # now the last one
        return told

    def clear(self) -> None:
        """Forget all actions."""
        self._by_account.clear()
        self._count = 0


class Alarms:
    """The alarms of one store, and who executes their actions."""

    def __init__(
        self, documents: Documents, clock: Clock, wake: Callable[[], None] = lambda: None, *, has_regions: bool = True
    ) -> None:
        """`wake` is called when there are alarms or actions to look at. `has_regions` False: all Regions share one
        database, so alarms are not those of the Region that a request is for.
        """
        alarms = KeptRecords(documents, ALARM_PREFIX, Alarm, "alarm")
        self._alarms = RememberedRecords(
            alarms,
            lambda one: one.place,
            groups_of=lambda one: (one.place[:2], one.definition.is_composite),
            when_read=self._begin_anew,
        )
        self.histories = AlarmHistories(documents, self._alarms.order)
        self._gone = KeptRecords(documents, GONE_PREFIX, float, "time of an alarm's deletion")
        self._turn = asyncio.Lock()
        """A lock that is held by requests that change alarms, from reading an alarm to writing it: none overtakes
        another, so each has its turn however many there are.
        """
        self._clock = clock
        self._deliverers: list[_Deliverer] = []
        self.rules = CompositeRules(self.get)
        self.has_regions = has_regions
        self.waiting = WaitingActions()
        """Actions that have not been begun."""
        self.arrived = asyncio.Event()
        """An event that is set when an action has been added to `waiting`."""
        self.wake = wake

    def on_action(self, prefix: str, deliver: ExecuteAction, *, is_scaling: bool = False) -> None:
        """Let `deliver` execute actions that begin with `prefix`.

        `is_scaling`: within the evaluation, and again each minute while the state lasts, as the service does for
        scaling policies; others are executed once, beside everything else.
        """
        self._deliverers.append(_Deliverer(prefix, deliver, is_scaling))

    def _deliverer_of(self, action: str) -> _Deliverer:
        return next((one for one in self._deliverers if action.startswith(one.prefix)), _NOBODY)

    def now_seconds(self) -> float:
        """Service time."""
        return self._clock.service_time()

    # --- the alarms ------------------------------------------------------------------------------

    @property
    def is_empty(self) -> bool:
        """True if there are no alarms."""
        return not self._alarms.by_path()

    def all(self) -> Sequence[Alarm]:
        """All alarms, in order of account, Region and name; may give way."""
        return _sorted(self._alarms.by_path())

    def composites(self) -> Sequence[Alarm]:
        """All composite alarms, in the same order."""
        return _sorted(self._alarms.among(group=True))

    def of(self, account: str, region: str) -> Sequence[Alarm]:
        """The alarms of one account and Region, by name; may give way."""
        return _sorted(self._alarms.among((account, region)))

    def count(self, account: str, region: str) -> int:
        """How many alarms the account has in the Region."""
        return len(self._alarms.among((account, region)))

    def get(self, account: str, region: str, name: str) -> Alarm | None:
        """The alarm of this name; None if there is none."""
        return self._alarms.get(account, region, name)

    @again_if_changed
    async def put(
        self, account: str, region: str, definition: AlarmDefinition, tags: dict[str, str] | None = None
    ) -> Alarm:
        """Create an alarm, or replace the definition of one, which keeps its state and tags. Raises StorageError."""
        async with self._turn:
            return await self._put(account, region, definition, tags)

    async def _put(
        self, account: str, region: str, definition: AlarmDefinition, tags: dict[str, str] | None = None
    ) -> Alarm:
        now_seconds = self.now_seconds()
        before = self.get(account, region, definition.name)
        if before is None:
            alarm = Alarm(
                account,
                region,
                definition,
                now_seconds,
                reason=sentences.INITIAL,
                updated_seconds=now_seconds,
                transitioned_seconds=now_seconds,
                tags=tags or {},
            )
        else:
            alarm = msgspec.structs.replace(before, definition=definition, configured_seconds=now_seconds)
        item = events.configured(alarm, "Create" if before is None else "Update", now_seconds)
        await self.keep(alarm, [item])
        self.wake()
        return alarm

    @again_if_changed
    async def delete(self, account: str, region: str, names: Collection[str]) -> None:
        """Delete the alarms of these names; names without one are passed over. Raises StorageError."""
        async with self._turn:
            now_seconds = self.now_seconds()
            gone = [alarm for name in dict.fromkeys(names) if (alarm := self.get(account, region, name)) is not None]

            async def others() -> Sequence[RecordChange]:
                changes = self._without_old_histories(now_seconds, len(gone))
                for alarm in gone:
                    deleted = [events.configured(alarm, "Delete", now_seconds)]
                    changes.append(await self.histories.extension(alarm, deleted))
                    changes.append(self._gone.change(now_seconds, *alarm.place))
                return changes

            if gone and await self._alarms.write(*map(self._alarms.removal, gone), others=others):
                for alarm in gone:
                    self.rules.forget(alarm.place)

    def _without_old_histories(self, now_seconds: float, more: int) -> list[RecordChange]:
        """Changes that forget the histories of alarms that were deleted too long ago,
        or before too many others; `more` are deleted now.
        """
        gone = sorted((at_seconds, path) for path, at_seconds in self._gone.by_path().items())
        excess = max(0, len(gone) + more - ALARM_HISTORIES_GONE_MAX)
        oldest_seconds = now_seconds - ALARM_HISTORY_SECONDS
        return [
            change
            for number, (at_seconds, path) in enumerate(gone)
            if number < excess or at_seconds < oldest_seconds
            for change in (self._gone.replacement(at_seconds, None, path), self.histories.removal(path))
        ]

    @again_if_changed
    async def enable_actions(self, account: str, region: str, name: str, *, are_enabled: bool) -> None:
        """Let the alarm of this name, if there is one, have its actions executed, or not. Raises StorageError."""
        async with self._turn:
            alarm = self.get(account, region, name)
            if alarm is not None and alarm.definition.actions.are_enabled != are_enabled:
                actions = msgspec.structs.replace(alarm.definition.actions, are_enabled=are_enabled)
                await self._put(account, region, msgspec.structs.replace(alarm.definition, actions=actions))

    # --- states ----------------------------------------------------------------------------------

    async def change_state(
        self,
        alarm: Alarm,
        state: StateValue,
        reason: str,
        reason_data: str | None,
        now_seconds: float,
        *,
        values: Sequence[float | None] = (),
        acts: bool = True,
    ) -> None:
        """Put an alarm into a state, and execute the actions of that state. Raises StorageError, and RecordsChanged
        if it is no longer as it was read.

        `values`: what has been evaluated, newest first. `acts` False: the actions are not executed,
        because a composite alarm's are suppressed.
        """
        after = await self._keep_state(alarm, state, reason, reason_data, now_seconds)
        if acts and alarm.state != state:
            await self.act(after, alarm, now_seconds, values)

    async def set_state(
        self, account: str, region: str, name: str, state: StateValue, reason: str, reason_data: str | None
    ) -> Alarm | None:
        """As `change_state`, of the alarm of this name as it is when its turn comes; None if there is none then."""
        async with self._turn:
            alarm = self.get(account, region, name)
            if alarm is None:
                return None
            now_seconds = self.now_seconds()
            after = await self._keep_state(alarm, state, reason, reason_data, now_seconds)
        if alarm.state != state:
            await self.act(after, alarm, now_seconds)  # its turn is over, as actions may change alarms
        return after

    async def _keep_state(
        self, alarm: Alarm, state: StateValue, reason: str, reason_data: str | None, now_seconds: float
    ) -> Alarm:
        has_changed = alarm.state != state
        after = msgspec.structs.replace(
            alarm,
            state=state,
            reason=reason,
            reason_data=reason_data,
            updated_seconds=now_seconds,
            transitioned_seconds=now_seconds if has_changed else alarm.transitioned_seconds,
        )
        items = [events.changed(after, alarm.state, alarm.reason, now_seconds)] if has_changed else []
        await self.keep(after, items)
        return after

    async def act(self, alarm: Alarm, previous: Alarm, now_seconds: float, values: Sequence[float | None] = ()) -> None:
        """Execute the actions of the alarm's state.
        `previous`: the alarm before it was in this state. Raises StorageError.
        """
        for action in alarm.definition.actions.of(alarm.state):
            told = AlarmAction(alarm, action, previous, now_seconds, values)
            if self._deliverer_of(action).is_scaling:
                await self.deliver(told)
            elif self.waiting.add(told):
                self.arrived.set()
                self.wake()
            else:
                await self._note_action(told, sentences.TOO_MANY_ACTIONS, self._alarms.generation)

    async def repeat_scaling(self, alarm: Alarm, now_seconds: float, values: Sequence[float | None]) -> None:
        """Execute the scaling actions of the alarm's state once more. Raises StorageError."""
        for action in alarm.definition.actions.of(alarm.state):
            deliverer = self._deliverer_of(action)
            if deliverer.is_scaling:
                await deliverer.deliver(AlarmAction(alarm, action, alarm, now_seconds, values))

    async def deliver(self, told: AlarmAction) -> None:
        """Execute one action, and note it in the history, unless the content has been replaced
        meanwhile. Raises StorageError.
        """
        generation = self._alarms.generation
        error = await self._deliverer_of(told.action).deliver(told)
        await self._note_action(told, error, generation)

    async def _note_action(self, told: AlarmAction, error: str | None, generation: int) -> None:
        if error is not None:
            _log.warning("alarm %s: the action %s failed: %s", told.alarm.name, told.action, error)
        await self.histories.note(told.alarm, events.acted(told.action, error, self.now_seconds()), generation)

    # --- what is kept ----------------------------------------------------------------------------

    async def keep(self, alarm: Alarm, items: Sequence[HistoryItem] = ()) -> None:
        """Keep what has changed in an alarm, with these events. Raises StorageError."""

        async def others() -> Sequence[RecordChange]:
            return [await self.histories.extension(alarm, items), self._gone.removal(*alarm.place)] if items else ()

        await self._alarms.write(self._alarms.change(alarm), others=others)

    def _begin_anew(self) -> None:
        """Forget what was begun for other content of the store."""
        self.waiting.clear()
        self.rules.clear()


def _sorted(alarms: Mapping[str, Alarm]) -> list[Alarm]:
    return sort(alarms.values(), key=lambda one: one.place)

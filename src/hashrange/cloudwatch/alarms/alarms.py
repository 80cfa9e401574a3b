"""Which alarms does a server have, and who is told of their states? `Alarms` keeps them as documents,
changes their states, and passes actions on.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from hashrange.clock import Clock
from hashrange.cloudwatch.alarms import history as events
from hashrange.cloudwatch.alarms.alarm import Alarm, AlarmDefinition, StateValue
from hashrange.cloudwatch.alarms.composite_rules import CompositeRules
from hashrange.cloudwatch.alarms.description import describe_alarm
from hashrange.cloudwatch.alarms.history import History, HistoryItem
from hashrange.cloudwatch.limits import ALARM_ACTIONS_WAITING_MAX, ALARM_HISTORIES_GONE_MAX, ALARM_HISTORY_SECONDS
from hashrange.items.steps import spend_decoding, walk
from hashrange.messages import alarms as sentences
from hashrange.store.documents import Documents

ALARM_PREFIX = "alarm/"
HISTORY_PREFIX = "alarm-history/"
GONE_PREFIX = "alarm-gone/"
"""Of each name with a history and without an alarm: when the alarm was deleted, in seconds of service time as JSON."""
_log = logging.getLogger("hashrange.cloudwatch")
_encode = msgspec.json.encode
_read_alarm = msgspec.json.Decoder(Alarm).decode
_read_history = msgspec.json.Decoder(History).decode
_read_seconds = msgspec.json.Decoder(float).decode

AlarmPlace = tuple[str, str, str]
"""Account, Region and name."""


class AlarmAction(NamedTuple):
    """What a deliverer is told. Times are seconds of service time."""

    alarm: Alarm
    """As it is now."""
    action: str
    """ARN or URL."""
    previous: Alarm
    """As it was before its state changed."""
    at_seconds: float
    values: Sequence[float | None] = ()
    """What the last evaluation has looked at, newest first."""


ExecuteAction = Callable[[AlarmAction], Coroutine[Any, Any, str | None]]
"""Executes an action. Returns None, or what went wrong."""


class _Deliverer(NamedTuple):
    prefix: str
    deliver: ExecuteAction
    is_scaling: bool


class Alarms:
    """The alarms of one store, and who executes their actions."""

    def __init__(self, documents: Documents, clock: Clock, wake: Callable[[], None] = lambda: None) -> None:
        """`wake` is called when there are alarms or actions to look at."""
        self._documents = documents
        self._clock = clock
        self._deliverers: list[_Deliverer] = []
        self._alarms: dict[AlarmPlace, Alarm] = {}
        self.rules = CompositeRules(self.get)
        self._generation = -1
        self.has_regions = True
        """Whether alarms are those of the Region that a request is for; not if all Regions share one database."""
        self.waiting: deque[AlarmAction] = deque()
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

    def deliverer_of(self, action: str) -> ExecuteAction | None:
        """Who executes an action; None: nobody."""
        return next((one.deliver for one in self._deliverers if action.startswith(one.prefix)), None)

    def now_seconds(self) -> float:
        """Service time."""
        return self._clock.service_time()

    # --- the alarms ------------------------------------------------------------------------------

    def all(self) -> Sequence[Alarm]:
        """All alarms, in order of account, Region and name."""
        self._see_content()
        return [self._alarms[place] for place in sorted(self._alarms)]

    def of(self, account: str, region: str) -> Sequence[Alarm]:
        """The alarms of one account and Region, by name; may give way."""
        return [alarm for alarm in walk(self.all()) if (alarm.account, alarm.region) == (account, region)]

    def count(self, account: str, region: str) -> int:
        """How many alarms the account has in the Region."""
        self._see_content()
        return sum((one_account, one_region) == (account, region) for one_account, one_region, _ in self._alarms)

    def get(self, account: str, region: str, name: str) -> Alarm | None:
        """The alarm of this name; None if there is none."""
        self._see_content()
        return self._alarms.get((account, region, name))

    async def put(
        self, account: str, region: str, definition: AlarmDefinition, tags: dict[str, str] | None = None
    ) -> Alarm:
        """Create an alarm, or replace the definition of one, which keeps its state and tags. Raises StorageError."""
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
        item = events.configured(alarm, is_new=before is None, described=describe_alarm(alarm), now_seconds=now_seconds)
        await self._keep(alarm, [item])
        self.wake()
        return alarm

    async def delete(self, account: str, region: str, names: Iterable[str]) -> None:
        """Delete the alarms of these names; names without one are passed over. Raises StorageError."""
        changes: dict[str, bytes | None] = {}
        now_seconds = self.now_seconds()
        gone = [alarm for name in dict.fromkeys(names) if (alarm := self.get(account, region, name)) is not None]
        for alarm in gone:
            item = events.deleted(alarm, described=describe_alarm(alarm), now_seconds=now_seconds)
            changes |= self._with_history(alarm, [item])
            changes[_document(ALARM_PREFIX, alarm)] = None
            changes[_document(GONE_PREFIX, alarm)] = _encode(now_seconds)
        if gone:
            changes |= self._without_old_histories(now_seconds, len(gone))
        if changes and await self._documents.write(changes, self._generation):
            for alarm in gone:
                self._alarms.pop(_place(alarm), None)
                self.rules.forget(*_place(alarm))

    def _without_old_histories(self, now_seconds: float, more: int) -> dict[str, bytes | None]:
        """Changes that forget the histories of alarms that were deleted too long ago,
        or before too many others; `more` are deleted now.
        """
        gone = sorted((_read_seconds(value), name) for name, value in self._documents.below(GONE_PREFIX))
        excess = max(0, len(gone) + more - ALARM_HISTORIES_GONE_MAX)
        oldest_seconds = now_seconds - ALARM_HISTORY_SECONDS
        changes: dict[str, bytes | None] = {}
        for place, (at_seconds, name) in enumerate(gone):
            if place < excess or at_seconds < oldest_seconds:
                changes[name] = changes[HISTORY_PREFIX + name.removeprefix(GONE_PREFIX)] = None
        return changes

    async def set_tags(self, alarm: Alarm, tags: dict[str, str]) -> None:
        """Replace the tags of an alarm. Raises StorageError."""
        await self._keep(msgspec.structs.replace(alarm, tags=tags), [])

    async def enable_actions(self, alarm: Alarm, *, are_enabled: bool) -> None:
        """Let an alarm have its actions executed, or not. Raises StorageError."""
        actions = msgspec.structs.replace(alarm.definition.actions, are_enabled=are_enabled)
        definition = msgspec.structs.replace(alarm.definition, actions=actions)
        await self.put(alarm.account, alarm.region, definition)

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
    ) -> Alarm:
        """Put an alarm into a state, and execute the actions of that state.
        Returns the alarm as it is then. Raises StorageError.

        `values`: what has been evaluated, newest first. `acts` False: the actions are not executed,
        because a composite alarm's are suppressed.
        """
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
        await self._keep(after, items)
        if acts and has_changed:
            await self.act(after, alarm, now_seconds, values)
        return after

    async def act(self, alarm: Alarm, previous: Alarm, now_seconds: float, values: Sequence[float | None] = ()) -> None:
        """Execute the actions of the alarm's state.
        `previous`: the alarm before it was in this state. Raises StorageError.
        """
        actions = alarm.definition.actions
        for action in actions.of(alarm.state) if actions.are_enabled else ():
            told = AlarmAction(alarm, action, previous, now_seconds, values)
            deliverer = self._scaling_deliverer(action)
            if deliverer is not None:
                await self.deliver(deliverer, told)
            elif len(self.waiting) >= ALARM_ACTIONS_WAITING_MAX:
                await self._note_action(told, sentences.TOO_MANY_ACTIONS, self._generation)
            else:
                self.waiting.append(told)
                self.arrived.set()
                self.wake()

    async def repeat_scaling(self, alarm: Alarm, now_seconds: float, values: Sequence[float | None]) -> None:
        """Execute the scaling actions of the alarm's state once more. Raises StorageError."""
        actions = alarm.definition.actions
        for action in actions.of(alarm.state) if actions.are_enabled else ():
            deliverer = self._scaling_deliverer(action)
            if deliverer is not None:
                await deliverer(AlarmAction(alarm, action, alarm, now_seconds, values))

    def _scaling_deliverer(self, action: str) -> ExecuteAction | None:
        return next((one.deliver for one in self._deliverers if one.is_scaling and action.startswith(one.prefix)), None)

    async def deliver(self, deliver: ExecuteAction | None, told: AlarmAction) -> None:
        """Execute one action, and note it in the history, unless the content has been replaced
        meanwhile. Raises StorageError.
        """
        generation = self._generation
        if deliver is None:
            error: str | None = sentences.NO_DELIVERY.format(action=told.action)
        else:
            error = await deliver(told)
        await self._note_action(told, error, generation)

    async def _note_action(self, told: AlarmAction, error: str | None, generation: int) -> None:
        if error is not None:
            _log.warning("alarm %s: the action %s failed: %s", told.alarm.name, told.action, error)
        changes = self._with_history(told.alarm, [events.acted(told.action, error, self.now_seconds())])
        await self._documents.write(changes, generation)

    # --- documents -------------------------------------------------------------------------------

    def history(self, account: str, region: str, name: str | None = None) -> Iterator[tuple[str, History]]:
        """The events of one alarm name or, None, of all names of an account and Region, deleted ones too;
        may give way. Raises StorageError.
        """
        prefix = f"{HISTORY_PREFIX}{account}/{region}/"
        if name is None:
            stored = self._documents.below(prefix)
        else:
            value = self._documents.get(prefix + name)
            stored = [] if value is None else [(prefix + name, value)]
        for document, value in stored:
            spend_decoding(len(value))
            yield document.removeprefix(prefix), _read_history(value)

    async def keep(self, alarm: Alarm) -> None:
        """Keep what has changed in an alarm without an event. Raises StorageError."""
        await self._keep(alarm, [])

    async def _keep(self, alarm: Alarm, items: Sequence[HistoryItem]) -> None:
        changes = self._with_history(alarm, items) if items else {}
        changes[_document(ALARM_PREFIX, alarm)] = _encode(alarm)
        if _place(alarm) not in self._alarms:
            changes[_document(GONE_PREFIX, alarm)] = None
        if await self._documents.write(changes, self._generation):
            self._alarms[_place(alarm)] = alarm

    def _with_history(self, alarm: Alarm, items: Sequence[HistoryItem]) -> dict[str, bytes | None]:
        """The document of the alarm's history with these events."""
        name = _document(HISTORY_PREFIX, alarm)
        stored = self._documents.get(name)
        history = History() if stored is None else _read_history(stored)
        history.is_composite = alarm.definition.is_composite
        for item in items:
            history.add(item)
        return {name: _encode(history)}

    def _see_content(self) -> None:
        """Read all alarms, the first time and after the store's content has been replaced."""
        if self._generation != (generation := self._documents.generation):
            self._generation = generation
            alarms = [_read_alarm(value) for _, value in self._documents.below(ALARM_PREFIX)]
            self._alarms = {_place(alarm): alarm for alarm in alarms}
            self.waiting.clear()
            self.rules.clear()


def _place(alarm: Alarm) -> AlarmPlace:
    return (alarm.account, alarm.region, alarm.name)


def _document(prefix: str, alarm: Alarm) -> str:
    return f"{prefix}{alarm.account}/{alarm.region}/{alarm.name}"

"""What has happened to an alarm? Its configuration, its states and its actions, for two weeks."""

from collections.abc import Callable, Iterator
from itertools import takewhile
from typing import Any, Literal, TypeVar

import msgspec

from hashrange.cloudwatch.alarms.alarm import Alarm, StateValue
from hashrange.cloudwatch.alarms.description import describe_alarm
from hashrange.cloudwatch.limits import ALARM_HISTORY_DATA_LENGTH_MAX, ALARM_HISTORY_ITEMS_MAX, ALARM_HISTORY_SECONDS
from hashrange.errors import StorageCorruption
from hashrange.items.steps import spend_decoding
from hashrange.messages import alarms as sentences

ItemT = TypeVar("ItemT")
HistoryKind = Literal["ConfigurationUpdate", "StateUpdate", "Action"]
HISTORY_KINDS: tuple[HistoryKind, ...] = ("ConfigurationUpdate", "StateUpdate", "Action")


class HistoryItem(msgspec.Struct, frozen=True):
    """One event. `data` is JSON, which lacks what would make it longer than ALARM_HISTORY_DATA_LENGTH_MAX."""

    at_seconds: float
    kind: HistoryKind
    summary: str
    data: str


class _ItemTime(msgspec.Struct):
    """The time of an event."""

    at_seconds: float


_decode = msgspec.json.Decoder(HistoryItem).decode
_decode_time = msgspec.json.Decoder(_ItemTime).decode


class History(msgspec.Struct):
    """The events of one alarm name, oldest first; they remain when the alarm is deleted."""

    is_composite: bool = False
    items: list[msgspec.Raw] = []
    """JSON of each `HistoryItem`: a history may have 4 MB, and who adds an event reads none of the others."""

    def add(self, item: HistoryItem) -> None:
        """Add an event, and forget those that are too old or too many. Raises StorageCorruption for a damaged one."""
        oldest_seconds = item.at_seconds - ALARM_HISTORY_SECONDS
        times = (_read(_decode_time, one).at_seconds for one in self.items)
        old = sum(1 for _ in takewhile(lambda at_seconds: at_seconds < oldest_seconds, times))
        kept = self.items[old:]
        self.items = [*kept[-ALARM_HISTORY_ITEMS_MAX + 1 :], msgspec.Raw(msgspec.json.encode(item))]

    def events(self) -> Iterator[HistoryItem]:
        """The events, one after the other; gives way. Raises StorageCorruption for a damaged one."""
        for one in self.items:
            spend_decoding(len(one))
            yield _read(_decode, one)


def _read(decode: Callable[[bytes], ItemT], item: msgspec.Raw) -> ItemT:
    try:
        return decode(item)
    except (msgspec.MsgspecError, ValueError) as error:
        raise StorageCorruption(f"an event in the history of an alarm cannot be read: {error}") from error


_CONFIGURATIONS = {
    "Create": ("createdAlarm", sentences.HISTORY_CREATED),
    "Update": ("updatedAlarm", sentences.HISTORY_UPDATED),
    "Delete": ("deletedAlarm", sentences.HISTORY_DELETED),
}
"""What was done to an alarm → the member that describes the alarm, and the summary."""


def configured(alarm: Alarm, kind: Literal["Create", "Update", "Delete"], now_seconds: float) -> HistoryItem:
    """The alarm has been created, updated or deleted."""
    member, text = _CONFIGURATIONS[kind]
    data = {"version": "1.0", "type": kind}
    told = _first_that_fits(data | {member: describe_alarm(alarm)}, data)
    return HistoryItem(now_seconds, "ConfigurationUpdate", text.format(name=alarm.name), told)


def changed(alarm: Alarm, before: StateValue, before_reason: str, now_seconds: float) -> HistoryItem:
    """The alarm has another state than before."""
    old, new = {"stateValue": before}, {"stateValue": alarm.state}
    reasons = {"stateReason": before_reason}, {"stateReason": alarm.reason}
    reason_data = {} if alarm.reason_data is None else {"stateReasonData": msgspec.Raw(_raw(alarm.reason_data))}
    data = _first_that_fits(
        {"version": "1.0", "oldState": old | reasons[0], "newState": new | reasons[1] | reason_data},
        {"version": "1.0", "oldState": old | reasons[0], "newState": new | reasons[1]},
        {"version": "1.0", "oldState": old, "newState": new},
    )
    return HistoryItem(
        now_seconds, "StateUpdate", sentences.HISTORY_STATE.format(before=before, after=alarm.state), data
    )


def acted(action: str, error: str | None, now_seconds: float) -> HistoryItem:
    """An action has been executed, or has failed."""
    text = sentences.HISTORY_ACTION if error is None else sentences.HISTORY_ACTION_FAILED
    data = {
        "actionState": "Succeeded" if error is None else "Failed",
        "notificationResource": action,
        "stateUpdateTimestamp": int(now_seconds * 1000),
        "error": error,
    }
    summary = text.format(action=action, error=error)[:255]
    return HistoryItem(now_seconds, "Action", summary, _json(data))


def _raw(text: str) -> bytes:
    """The text as JSON: as it is if it is some, else as a string."""
    try:
        msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return _json(text).encode()
    return text.encode()


def _first_that_fits(*candidates: Any) -> str:
    """JSON of the first one that is short enough, or else of the last one."""
    text = ""
    for one in candidates:
        text = _json(one)
        if len(text) <= ALARM_HISTORY_DATA_LENGTH_MAX:
            break
    return text


def _json(data: Any) -> str:
    return msgspec.json.encode(data).decode()

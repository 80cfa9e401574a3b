"""What do the rules of composite alarms look at, are they true, and why is a composite alarm in its state?
Each rule is read once, and what follows from it is kept as long as its alarm.

Source of reasons: CloudWatch user guide, *Alarm events and EventBridge*, and alarms that users quote;
after a change of the rule: (unconfirmed).
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import msgspec

from hashrange.cloudwatch.alarms.alarm import Alarm, AlarmPlace, StateValue, stamp_of
from hashrange.cloudwatch.alarms.rule import RuleNode, read_rule
from hashrange.cloudwatch.limits import ALARM_REASON_DATA_LENGTH_MAX, ALARM_REASON_LENGTH_MAX
from hashrange.items.steps import spend
from hashrange.messages import alarms as sentences

TREES_CHARACTERS_MAX = 1_000_000
"""Characters of the rules whose trees are kept, of which each takes 20 bytes, and at most 40.
Other trees are made again when a state has changed."""
CHARACTERS_PER_STEP = 16
"""Characters of a rule whose tree is walked in one step."""
NAMES_PER_STEP = 16
"""Names of alarms that are compared in one step."""


class _KnownRule(msgspec.Struct, eq=False):
    """What is known of the rule of one alarm."""

    text: str
    names: Sequence[str]
    tree: RuleNode | None
    """None: there is no room for it."""
    states: Sequence[StateValue | None] | None = None
    """States of the alarms when the rule was last asked for; None: it was not."""
    is_true: bool = False
    """Whether the rule was true then."""


class CompositeRules:
    """The rules of one store's composite alarms.
    All methods may give way, and raise RuleError for a rule that cannot be read.
    """

    def __init__(self, find: Callable[[str, str, str], Alarm | None]) -> None:
        """`find` returns the alarm of an account, Region and name."""
        self._find = find
        self._known: dict[AlarmPlace, _KnownRule] = {}
        self._characters = 0
        """Characters of the rules whose trees are kept."""

    def watched_by(self, alarm: Alarm) -> Sequence[str]:
        """Names of the alarms that a composite alarm looks at, each once; at most ALARM_RULE_ALARMS_MAX."""
        names = self._of(alarm).names
        spend(len(names) // NAMES_PER_STEP + 1)
        return names

    def is_true(self, alarm: Alarm) -> bool:
        """True if the states of the alarms that a composite alarm looks at make its rule true."""
        known = self._of(alarm)
        spend(len(known.names) + 1)
        if known.states != self._states(alarm, known.names):
            tree = known.tree or _tree_of(alarm)
            spend(len(known.text) // CHARACTERS_PER_STEP)
            states = self._states(alarm, known.names)  # nothing gives way from here on
            known.is_true = tree.is_true(dict(zip(known.names, states, strict=True)).get)
            known.states = states
        return known.is_true

    def _states(self, alarm: Alarm, names: Sequence[str]) -> Sequence[StateValue | None]:
        found = [self._find(alarm.account, alarm.region, name) for name in names]
        return [None if other is None else other.state for other in found]

    def _of(self, alarm: Alarm) -> _KnownRule:
        known = self._known.get(alarm.place)
        if known is None or known.text != alarm.definition.rule:
            known = self.keep(alarm, _tree_of(alarm))
        return known

    def keep(self, alarm: Alarm, tree: RuleNode) -> _KnownRule:
        """Keep what follows from an alarm's rule, which has been read, unless the alarm has been
        replaced or deleted meanwhile.
        """
        text, place = alarm.definition.rule or "", alarm.place
        spend(len(text) // CHARACTERS_PER_STEP)
        others = {name: self._find(alarm.account, alarm.region, name) for name in tree.alarms()}
        names = tuple(name if other is None else other.name for name, other in others.items())
        present = self._find(*place)
        if present is None or present.definition.rule != text:
            return _KnownRule(text, names, tree)
        self.forget(place)
        has_room = self._characters + len(text) <= TREES_CHARACTERS_MAX
        known = self._known[place] = _KnownRule(text, names, tree if has_room else None)
        if has_room:
            self._characters += len(text)
        return known

    def forget(self, place: AlarmPlace) -> None:
        """Forget the rule of an alarm that has been replaced or deleted."""
        known = self._known.pop(place, None)
        if known is not None and known.tree is not None:
            self._characters -= len(known.text)

    def clear(self) -> None:
        """Forget all rules."""
        self._known.clear()
        self._characters = 0


def _tree_of(alarm: Alarm) -> RuleNode:
    return read_rule(alarm.definition.rule or "", alarm.account, alarm.region)


# --- reasons --------------------------------------------------------------------------------------


_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)


def composite_reason(alarm: Alarm, state: StateValue, watched: Sequence[Alarm]) -> tuple[str, str]:
    """The reason of a composite alarm that goes into a state, and JSON: the alarm that changed last,
    or all if the composite alarm itself did.
    """
    last = max(watched, key=lambda one: one.transitioned_seconds, default=None)
    if alarm.state == "INSUFFICIENT_DATA":
        reason = sentences.COMPOSITE_CREATED.format(arn=alarm.arn, state=state)
    elif last is None or last.transitioned_seconds < alarm.configured_seconds:
        reason = sentences.COMPOSITE_UPDATED.format(arn=alarm.arn, state=state)
    else:
        watched = [last]
        time = datetime.fromtimestamp(last.transitioned_seconds, UTC)
        day = f"{_WEEKDAYS[time.weekday()]} {time:%d} {_MONTHS[time.month - 1]}, {time:%Y %H:%M:%S} UTC"
        reason = sentences.COMPOSITE_CHANGED.format(arn=last.arn, state=last.state, time=day)
    return reason[:ALARM_REASON_LENGTH_MAX], _reason_data(watched)


def _reason_data(watched: Sequence[Alarm]) -> str:
    """The alarms and their states, as many as there is room for."""
    found, length = [], len('{"triggeringAlarms":[]}')
    for one in watched:
        stamp = stamp_of(one.transitioned_seconds)
        text = msgspec.json.encode({"arn": one.arn, "state": {"value": one.state, "timestamp": stamp}}).decode()
        length += len(text) + 1
        if length > ALARM_REASON_DATA_LENGTH_MAX:
            break
        found.append(text)
    return f'{{"triggeringAlarms":[{",".join(found)}]}}'

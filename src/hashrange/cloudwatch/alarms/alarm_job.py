"""When are alarms evaluated, and their actions executed? Alarms with each minute of service time that ends, in order;
composite alarms after the others.

Scaling actions are executed within the evaluation. All others wait for a second job, `AlarmDeliveries`, which executes
them side by side, so that an endpoint that hangs holds up nothing.
"""

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from hashrange.clock import Clock
from hashrange.cloudwatch.alarms.alarm import Alarm, AlarmPlace, StateValue, Suppressor, WatchedMetric, name_in
from hashrange.cloudwatch.alarms.alarm_queries import observed_by
from hashrange.cloudwatch.alarms.alarms import Alarms
from hashrange.cloudwatch.alarms.composite_rules import composite_reason
from hashrange.cloudwatch.alarms.evaluation import Observed, judge, looked_at, reason_data, reason_of, samples_needed
from hashrange.cloudwatch.alarms.rule import RuleError
from hashrange.cloudwatch.metric_id import MetricId
from hashrange.cloudwatch.metrics import Metrics
from hashrange.cloudwatch.statistic import statistic_of
from hashrange.jobs.job import AT_ONCE
from hashrange.messages import alarms as sentences
from hashrange.soon import until_one_ends
from hashrange.store.records import again_if_changed

MINUTE_SECONDS = 60
MINUTES_CAUGHT_UP_MAX = 60
"""Minutes that are evaluated one after the other after the server could not; earlier ones are passed over."""
COMPOSITE_LEVELS_MAX = 10
"""How often composite alarms are evaluated in a minute, so that those that look at others see their new states."""
ALARMS_TOGETHER = 20
"""Alarms that one slice evaluates."""
_Question = tuple[MetricId, str, int, str | None]
"""Metric, statistic, period in seconds, and unit."""


class MinuteValues:
    """The values that alarms look at when a minute ends.
    Each question is read once, for the longest stretch that an alarm looks at.
    """

    def __init__(self, metrics: Metrics, alarms: Iterable[Alarm | None], end_seconds: int) -> None:
        """`alarms`: those that are to be evaluated; others can be, too."""
        self._metrics = metrics
        self._end_seconds = end_seconds
        self._begins: dict[_Question, int] = {}
        """Where the longest stretch begins."""
        self._read: dict[_Question, Mapping[int, float | None]] = {}
        for alarm in alarms:
            if alarm is not None and alarm.definition.metric is not None:
                question, begin_seconds = self._asked(alarm, alarm.definition.metric)
                self._begins[question] = min(begin_seconds, self._begins.get(question, begin_seconds))

    def observed(self, alarm: Alarm, metric: WatchedMetric) -> Sequence[Observed]:
        """The values of the periods that the evaluation looks at, oldest first. Raises StorageError."""
        question, begin_seconds = self._asked(alarm, metric)
        if begin_seconds < self._begins.get(question, self._end_seconds):
            self._begins[question] = begin_seconds  # the alarm has been changed since
            self._read.pop(question, None)
        values = self._read.get(question)
        if values is None:
            values = self._read[question] = self._values(question, self._begins[question])
        step_seconds = metric.period_seconds
        return [(float(one), values.get(one)) for one in range(begin_seconds, self._end_seconds, step_seconds)]

    def samples(self, alarm: Alarm, metric: WatchedMetric, periods: int) -> float:
        """How many values were observed in the last `periods`, those that are evaluated. Raises StorageError."""
        begin_seconds = self._end_seconds - periods * metric.period_seconds
        metric_id = metric.metric_id(alarm.account, alarm.region)
        found = self._values((metric_id, "SampleCount", metric.period_seconds, metric.unit), begin_seconds)
        return sum(one or 0.0 for one in found.values())

    def _asked(self, alarm: Alarm, metric: WatchedMetric) -> tuple[_Question, int]:
        threshold = alarm.definition.threshold
        assert threshold is not None, "an alarm of a metric has a threshold"
        metric_id = metric.metric_id(alarm.account, alarm.region)
        begin_seconds = self._end_seconds - looked_at(threshold) * metric.period_seconds
        return (metric_id, metric.statistic, metric.period_seconds, metric.unit), begin_seconds

    def _values(self, question: _Question, begin_seconds: int) -> Mapping[int, float | None]:
        metric, name, period_seconds, unit = question
        statistic = statistic_of(name)
        assert statistic is not None, "alarms are put with statistics that exist"
        return self._metrics.values(metric, begin_seconds, self._end_seconds, period_seconds, statistic, unit)


class AlarmEvaluation:
    """The job that evaluates alarms. It rests while there are none."""

    def __init__(self, alarms: Alarms, metrics: Metrics, clock: Clock) -> None:
        self._alarms = alarms
        self._metrics = metrics
        self._clock = clock
        self._minute: int | None = None
        """Number since 1970 of the last minute whose end has been evaluated; None while there are no alarms."""
        self._left: list[AlarmPlace] = []
        """Alarms that have not been evaluated at the end of `_minute`, in reverse order."""
        self._are_composites_left = False
        """True if composite alarms have not been evaluated at the end of `_minute`."""

    async def run_slice(self) -> float | None:
        """Evaluate some alarms; returns the seconds until the next minute ends. Raises StorageError."""
        if self._alarms.is_empty:
            self._minute = None
            return None
        now_seconds = self._clock.service_time()
        current = int(now_seconds // MINUTE_SECONDS)
        if self._minute is None or self._minute > current:
            self._minute, self._left, self._are_composites_left = current, [], False
        if not self._left and not self._are_composites_left:
            if self._minute >= current:
                return (current + 1) * MINUTE_SECONDS - now_seconds
            self._minute = max(self._minute + 1, current - MINUTES_CAUGHT_UP_MAX)
            self._left = [one.place for one in reversed(self._alarms.all())]
            self._are_composites_left = True
        end_seconds = float(self._minute * MINUTE_SECONDS)
        self._metrics.sources.read()
        some = self._left[-ALARMS_TOGETHER:]
        values = MinuteValues(self._metrics, [self._alarms.get(*place) for place in some], int(end_seconds))
        for _ in some:
            place = self._left.pop()  # before its evaluation, which holds up no other alarm if it fails
            await self._evaluate_minute(place, values, int(end_seconds))
        if self._left:
            return AT_ONCE
        self._are_composites_left = False
        await self._evaluate_composites(end_seconds)
        return AT_ONCE if self._minute < current else (current + 1) * MINUTE_SECONDS - self._clock.service_time()

    @again_if_changed
    async def _evaluate_minute(self, place: AlarmPlace, values: MinuteValues, end_seconds: int) -> None:
        """Evaluate an alarm at the end of a minute or, if its periods are shorter, at the end of each of them."""
        alarm = self._alarms.get(*place)
        if alarm is None or alarm.definition.is_composite:
            return
        definition = alarm.definition
        period_seconds = MINUTE_SECONDS if definition.metric is None else definition.metric.period_seconds
        for at_seconds in range(end_seconds - MINUTE_SECONDS + period_seconds, end_seconds, period_seconds):
            if at_seconds > alarm.configured_seconds:
                await self._evaluate(alarm, MinuteValues(self._metrics, [alarm], at_seconds), float(at_seconds))
                present = self._alarms.get(*alarm.place)
                if present is None or present.definition is not definition:
                    return  # it was changed or deleted by one of its actions
                alarm = present
        await self._evaluate(alarm, values, float(end_seconds))

    async def _evaluate(self, alarm: Alarm, minute: MinuteValues, end_seconds: float) -> None:
        threshold, metric = alarm.definition.threshold, alarm.definition.metric
        assert threshold is not None, "an alarm that is not composite has a threshold"
        if metric is None:
            observed, period_seconds = observed_by(self._metrics, alarm, end_seconds)
            statistic = unit = None
            if self._alarms.get(*alarm.place) is not alarm:
                return  # it was changed or deleted while its queries gave way
        else:
            period_seconds, statistic, unit = metric.period_seconds, metric.statistic, metric.unit
            if metric.namespace == "AWS/DynamoDB" and threshold.missing_data != "ignore":
                threshold = msgspec.structs.replace(threshold, missing_data="ignore")
            if threshold.low_samples == "ignore":
                samples = minute.samples(alarm, metric, threshold.evaluation_periods)
                if 0 < samples < samples_needed(metric.statistic):
                    return  # too few values for the percentile: the alarm stays as it is
            observed = minute.observed(alarm, metric)
        verdict = judge(threshold, observed, alarm.state)
        values = [value for _, value in (verdict.evaluated if verdict is not None else reversed(observed))]
        if verdict is None or verdict.state == alarm.state:
            await self._alarms.repeat_scaling(alarm, end_seconds, values)
            return
        data = reason_data(threshold, verdict, end_seconds, statistic, unit, period_seconds)
        reason = reason_of(threshold, verdict, alarm.state)
        await self._alarms.change_state(alarm, verdict.state, reason, data, end_seconds, values=values)

    # --- composite alarms ------------------------------------------------------------------------

    @again_if_changed
    async def _evaluate_composites(self, end_seconds: float) -> None:
        composites = [one.place for one in self._alarms.composites()]
        for _ in range(COMPOSITE_LEVELS_MAX):
            changed = False
            for place in composites:
                alarm = self._alarms.get(*place)
                if alarm is not None:
                    changed |= await self._evaluate_composite(alarm, end_seconds)
            if not changed:
                break
        for place in composites:
            alarm = self._alarms.get(*place)
            if alarm is not None and alarm.suppressed_by is not None:
                await self._look_at_suppression(alarm, end_seconds)

    async def _evaluate_composite(self, alarm: Alarm, end_seconds: float) -> bool:
        """Returns True if the alarm's state has changed."""
        rules = self._alarms.rules
        try:
            watched = rules.watched_by(alarm)
            is_true = rules.is_true(alarm)  # of the present states: nothing gives way after it
        except RuleError:  # rules are put only if they can be read
            return False
        if self._alarms.get(*alarm.place) is not alarm:
            return False  # it was changed or deleted while its rule was read
        state: StateValue = "ALARM" if is_true else "OK"
        if state == alarm.state:
            return False
        found = (self._alarms.get(alarm.account, alarm.region, name) for name in watched)
        reason, data = composite_reason(alarm, state, [one for one in found if one is not None])
        suppressor = alarm.definition.suppressor
        if suppressor is not None and state != "INSUFFICIENT_DATA" and alarm.state != "INSUFFICIENT_DATA":
            alarm = self._suppressed(alarm, suppressor, end_seconds)
        elif alarm.suppressed_by is not None:
            alarm = _held_back(alarm, None)
        await self._alarms.change_state(alarm, state, reason, data, end_seconds, acts=alarm.suppressed_by is None)
        return True

    def _suppressor_is_on(self, alarm: Alarm, suppressor: Suppressor) -> bool:
        place = alarm.account, alarm.region
        other = self._alarms.get(*place, name_in(suppressor.alarm, *place))
        return other is not None and other.state == "ALARM"

    def _suppressed(self, alarm: Alarm, suppressor: Suppressor, now_seconds: float) -> Alarm:
        """The alarm whose actions wait: for the suppressor's end, or for the suppressor to begin."""
        if self._suppressor_is_on(alarm, suppressor):
            return _held_back(alarm, "Alarm")
        return _held_back(alarm, "WaitPeriod", now_seconds + suppressor.wait_seconds)

    async def _look_at_suppression(self, alarm: Alarm, now_seconds: float) -> None:
        """Execute actions that were held back, if nothing holds them back any more."""
        suppressor = alarm.definition.suppressor
        if suppressor is None:
            await self._alarms.keep(_held_back(alarm, None))
            return
        if self._suppressor_is_on(alarm, suppressor):
            if alarm.suppressed_by != "Alarm":
                await self._alarms.keep(self._suppressed(alarm, suppressor, now_seconds))
            return
        if alarm.suppressed_by == "Alarm":
            alarm = _held_back(alarm, "ExtensionPeriod", now_seconds + suppressor.extension_seconds)
            await self._alarms.keep(alarm)
        if alarm.suppressed_until_seconds is not None and alarm.suppressed_until_seconds <= now_seconds:
            alarm = _held_back(alarm, None)
            await self._alarms.keep(alarm)
            await self._alarms.act(alarm, alarm, now_seconds)


def _held_back(alarm: Alarm, by: str | None, until_seconds: float | None = None) -> Alarm:
    """The alarm whose actions wait for something; None: for nothing any more."""
    reason = None if by is None else sentences.SUPPRESSED[by]
    return msgspec.structs.replace(
        alarm, suppressed_by=by, suppressed_reason=reason, suppressed_until_seconds=until_seconds
    )


# --- actions that may take long -------------------------------------------------------------------


class AlarmDeliveries:
    """The job that executes actions which may take long."""

    def __init__(self, alarms: Alarms) -> None:
        self._alarms = alarms
        self._running: dict[asyncio.Task[None], str] = {}
        """Each delivery → the alarm's account."""

    async def run_slice(self) -> float | None:
        """Execute all actions that wait, and those that come meanwhile;
        ends when none is executed. Raises StorageError.
        """
        alarms = self._alarms
        while True:
            alarms.arrived.clear()
            running = Counter(self._running.values())
            while (told := alarms.waiting.take(running)) is not None:
                running[told.alarm.account] += 1
                self._running[asyncio.ensure_future(alarms.deliver(told))] = told.alarm.account
            if not self._running:
                return None
            await until_one_ends(self._running, alarms.arrived)
            self._take_ended()

    def _take_ended(self) -> None:
        """Forget the actions that have ended; raises what one of them raised, while the others go on."""
        for task in [one for one in self._running if one.done()]:
            del self._running[task]
            if not task.cancelled() and (error := task.exception()) is not None:
                raise error

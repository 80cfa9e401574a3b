"""What do the alarms of one slice see of their metrics?
Alarms of the same metric and statistic share one look at it.
"""

from collections.abc import Iterable, Mapping, Sequence

from hashrange.cloudwatch.alarms.alarm import Alarm, WatchedMetric
from hashrange.cloudwatch.alarms.evaluation import Observed, looked_at
from hashrange.cloudwatch.metric_id import MetricId
from hashrange.cloudwatch.metrics import Metrics
from hashrange.cloudwatch.statistic import statistic_of

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
            values = self._read[question] = self._values(question)
        step_seconds = metric.period_seconds
        return [(float(one), values.get(one)) for one in range(begin_seconds, self._end_seconds, step_seconds)]

    def samples(self, alarm: Alarm, metric: WatchedMetric) -> float:
        """How many values were observed in the periods that are evaluated. Raises StorageError."""
        count, threshold = statistic_of("SampleCount"), alarm.definition.threshold
        assert count is not None, "there is such a statistic"
        assert threshold is not None, "an alarm of a metric has a threshold"
        begin_seconds = self._end_seconds - threshold.evaluation_periods * metric.period_seconds
        found = self._metrics.values(
            metric.metric_id(alarm.account, alarm.region),
            begin_seconds,
            self._end_seconds,
            metric.period_seconds,
            count,
            metric.unit,
        )
        return sum(one or 0.0 for one in found.values())

    def _asked(self, alarm: Alarm, metric: WatchedMetric) -> tuple[_Question, int]:
        threshold = alarm.definition.threshold
        assert threshold is not None, "an alarm of a metric has a threshold"
        metric_id = metric.metric_id(alarm.account, alarm.region)
        begin_seconds = self._end_seconds - looked_at(threshold) * metric.period_seconds
        return (metric_id, metric.statistic, metric.period_seconds, metric.unit), begin_seconds

    def _values(self, question: _Question) -> Mapping[int, float | None]:
        metric, name, period_seconds, unit = question
        statistic = statistic_of(name)
        assert statistic is not None, "alarms are put with statistics that exist"
        begin_seconds = self._begins[question]
        return self._metrics.values(metric, begin_seconds, self._end_seconds, period_seconds, statistic, unit)

"""What do metrics, alarms and scaling consist of in one service?
Metrics over its store, and all else once somebody needs it.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from hashrange.aws_services.operation import ServiceApi
from hashrange.clock import Clock
from hashrange.cloudwatch.metric_saving import MetricSaving
from hashrange.cloudwatch.metrics import Metrics
from hashrange.jobs.job import Job
from hashrange.operations.operation import Scope
from hashrange.service.late_code import LateCode
from hashrange.settings import Settings
from hashrange.store.interface import WholeStore

if TYPE_CHECKING:
    from hashrange.functions.functions import Functions
    from hashrange.service.alarm_setup import AlarmSetup
    from hashrange.service.insight_setup import InsightSetup

LATE_JOBS = {"alarms": True, "alarm-actions": False, "auto-scaling": True}
"""Name of each job of alarms and scaling → whether it waits for service time; they run in this order."""
DOCUMENTS = ("alarm/", "scalable-target/", "scheduled-action/")
"""How names of documents begin for which these jobs have work."""


ALARM_CODE = LateCode("hashrange.service.alarm_setup")


class CloudWatchSetup:
    """CloudWatch and Application Auto Scaling of one service."""

    def __init__(
        self,
        store: WholeStore,
        clock: Clock,
        settings: Settings,
        scope_of: Callable[[str, str], Scope],
        insights: "InsightSetup",
        functions: "Functions | None",
    ) -> None:
        """Raises SettingUnusable."""
        self.metrics = Metrics(store.documents, clock)
        self._metric_saving = MetricSaving(self.metrics, clock)
        self._insights = insights
        self._documents = store.documents
        self._wake_job: Callable[[Job], None] = lambda _: None
        self._set_up: AlarmSetup | None = None
        self._looked_generation: int | None = None
        self._make: Callable[[], AlarmSetup] = partial(
            _alarm_setup, store, clock, settings, self.metrics, insights, functions, scope_of
        )
        self._late_jobs = [LateJob(name, self, is_timed=is_timed) for name, is_timed in LATE_JOBS.items()]
        if settings.sns_endpoint is not None:
            self.set_up()  # so that the server does not start with an endpoint that cannot be used

    def set_up(self) -> "AlarmSetup":
        """Alarms and scaling; loaded when first asked for. Raises SettingUnusable."""
        if self._set_up is None:
            self._set_up = made = self._make()
            made.alarms.wake = partial(self._wake, "alarms", "alarm-actions")
            made.auto_scaling.wake = partial(self._wake, "auto-scaling")
        return self._set_up

    @property
    def found(self) -> "AlarmSetup | None":
        """Alarms and scaling, if somebody has asked for them, or the store has some. Raises StorageError."""
        if self.is_wanted:
            self.set_up()
        return self._set_up

    @property
    def is_wanted(self) -> bool:
        """True if the store has alarms or scaling, and nobody has asked for them. Raises StorageError."""
        if self._set_up is not None or self._looked_generation == (generation := self._documents.generation):
            return False
        if any(self._documents.some_below(prefix, None, 1) for prefix in DOCUMENTS):
            return True
        self._looked_generation = generation
        return False

    @property
    def jobs(self) -> list[Job]:
        """The jobs, in the order in which those that are due at the same moment run."""
        return [self._metric_saving, *self._late_jobs, self._insights]

    def wake_by(self, wake_job: Callable[[Job], None]) -> None:
        """Let the jobs be woken when they have work."""
        self.metrics.wake = partial(wake_job, self._metric_saving)
        self._insights.wake_by(partial(wake_job, self._insights))
        self._wake_job = wake_job

    def _wake(self, *names: str) -> None:
        for job in self._late_jobs:
            if job.name in names:
                self._wake_job(job)

    @property
    def apis(self) -> Sequence[ServiceApi]:
        """The APIs that are served."""
        return self.set_up().apis

    async def save(self) -> None:
        """Keep what has been recorded so far: before a copy of the content is made,
        and at the end. Raises StorageError.
        """
        await self.metrics.save()
        await self._insights.save()


class LateJob:
    """A job of alarms or scaling that rests until there are any."""

    def __init__(self, name: str, setup: CloudWatchSetup, *, is_timed: bool) -> None:
        self._name = name
        self._setup = setup
        self._is_timed = is_timed

    @property
    def name(self) -> str:
        """The name of the job."""
        return self._name

    @property
    def waits_for_service_time(self) -> bool:
        """True if `run_slice` returns seconds of service time."""
        return self._is_timed

    async def run_slice(self) -> float | None:
        """The job's slice. Raises StorageError."""
        if self._setup.is_wanted:
            await ALARM_CODE.be_loaded()
        found = self._setup.found
        return None if found is None else await found.jobs[self._name].run_slice()


def _alarm_setup(
    store: WholeStore,
    clock: Clock,
    settings: Settings,
    metrics: Metrics,
    insights: "InsightSetup",
    functions: "Functions | None",
    scope_of: Callable[[str, str], Scope],
) -> "AlarmSetup":
    # Imported here: most servers have no alarms, and start time counts.
    from hashrange.service.alarm_setup import AlarmSetup  # noqa: PLC0415

    return AlarmSetup(store, clock, settings, metrics, insights.insights, functions, scope_of)

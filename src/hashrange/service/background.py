"""Which jobs does a server run, and who wakes them? One of each kind over its store;
those that its settings ask for follow stream records too.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from hashrange.aws_services.operation import ServiceApi
from hashrange.clock import Clock
from hashrange.errors import StorageError
from hashrange.jobs.job import Follower
from hashrange.jobs.runner import InTurns, Runner
from hashrange.jobs.store_jobs import jobs_of
from hashrange.messages.cloudwatch import LOG_METRICS_NOT_SAVED
from hashrange.messages.kinesis import LOG_NO_ENDPOINT
from hashrange.operations.operation import Scope
from hashrange.service.cloudwatch_setup import CloudWatchSetup
from hashrange.service.dax_setup import DaxSetup
from hashrange.service.insight_setup import InsightSetup
from hashrange.settings import Settings, SettingUnusable
from hashrange.store.interface import WholeStore

if TYPE_CHECKING:
    from hashrange.service.faulted_deliveries import DrawingNow
    from hashrange.service.trigger_setup import CredentialsOf, TriggerSetup
    from hashrange.triggers.kinesis.delivery import KinesisDelivery
    from hashrange.triggers.kinesis.observation import ObserveDelivery

_log = logging.getLogger("hashrange.kinesis")
_metrics_log = logging.getLogger("hashrange.cloudwatch")


class Background:
    """The jobs of one service, with what some of them work for: functions and triggers, if they are switched on."""

    def __init__(
        self,
        store: WholeStore,
        clock: Clock,
        settings: Settings,
        in_turns: InTurns,
        drawing_now: "DrawingNow",
        scope_of: Callable[[str, str], Scope],
        insights: InsightSetup,
    ) -> None:
        """Raises SettingUnusable. `drawing_now()` draws the faults that stream records meet on their way to functions.

        `scope_of(account, region)`: what serves that account and Region.
        """
        self._store = store
        self.triggers = _triggers_of(store, clock, settings, drawing_now)
        """None if the settings ask for no functions and no triggers."""
        functions = None if self.triggers is None else self.triggers.functions
        self.cloudwatch = CloudWatchSetup(store, clock, settings, scope_of, insights, functions)
        self.dax = DaxSetup(store, clock, settings)
        self._kinesis = _kinesis_of(store, clock, settings)
        self._followers: list[Follower] = [] if self._kinesis is None else [self._kinesis]
        jobs = [*jobs_of(store.maintenance, clock), *self.cloudwatch.jobs, self.dax]
        if self.triggers is not None:
            self._followers += self.triggers.followers
            jobs += self.triggers.jobs
        self.runner = Runner([*jobs, *self._followers], clock, in_turns)
        self._trial: asyncio.Task[None] | None = None
        """The task that tries the code of declared functions; None before."""

    def start(self) -> None:
        """Start the jobs on the running loop."""
        if self._kinesis is None:
            for feed in self._store.streams.feeds():
                if feed.is_on:
                    _log.warning(LOG_NO_ENDPOINT, feed.table_name)
        self._store.maintenance.on_work(self._wake)
        if self._followers:
            self._store.streams.follow(self._wake_followers)
        for one in self._followers:
            one.on_work(partial(self.runner.wake_job, one))
        if self.triggers is not None:
            self.triggers.triggers.job.is_awaited = self.runner.is_in_order
            self.triggers.functions.events.wake = partial(self.runner.wake_job, self.triggers.functions.events)
        self.cloudwatch.wake_by(self.runner.wake_job)
        self.dax.wake_by(self.runner.wake_job)
        self.runner.start()

    @property
    def apis(self) -> Sequence[ServiceApi]:
        """The APIs of the services beside DynamoDB that have no paths of their own."""
        return [*self.cloudwatch.apis, *self.dax.apis]

    def operations_of_services(self) -> frozenset[str]:
        """Names of the operations of these services that are served."""
        return frozenset(operation.name for api in self.apis for operation in api.operations)

    def observe_delivery(self, observe: "ObserveDelivery | None") -> None:
        """From now on, tell `observe` what becomes of changes that are sent to Kinesis; None: tell nobody."""
        if self._kinesis is not None:
            self._kinesis.observe = observe

    def _wake(self) -> None:
        if self.triggers is not None:
            self.triggers.functions.see_content()
        self.dax.see_content()
        self.runner.wake()
        self._wake_followers()

    def _wake_followers(self) -> None:
        for one in self._followers:
            one.wake()

    async def stop(self) -> None:
        """Stop the jobs, wait for their end, and end all that functions run;
        save metrics if their content is kept. May be called again.
        """
        if self._trial is not None:
            self._trial.cancel()
            await asyncio.wait({self._trial})
        is_running = self.runner.is_running
        await self.runner.stop()  # before the followers: a stopped one could be woken, and begin another slice
        for one in self._followers:
            await one.stop()
        if self.triggers is not None:
            await self.triggers.close()
        if is_running and self._store.copying.is_kept:
            await self._save_metrics()

    async def _save_metrics(self) -> None:
        try:
            await self.cloudwatch.save()
        except StorageError as error:
            _metrics_log.error(LOG_METRICS_NOT_SAVED, error)

    def reach(self, endpoint: str, credentials_of: "CredentialsOf | None") -> None:
        """Let handlers find the server at this endpoint.
        The code of declared functions is tried then; nothing waits for that.
        """
        if self.triggers is not None:
            self.triggers.reach(endpoint, credentials_of)
            self._trial = asyncio.get_running_loop().create_task(self.triggers.start())


def _triggers_of(
    store: WholeStore, clock: Clock, settings: Settings, drawing_now: "DrawingNow"
) -> "TriggerSetup | None":
    if not settings.functions and settings.triggers is None:
        return None
    # Imported here: most servers have no functions, and start time counts.
    from hashrange.service.trigger_setup import TriggerSetup  # noqa: PLC0415

    return TriggerSetup(store, clock, settings, drawing_now)


def _kinesis_of(store: WholeStore, clock: Clock, settings: Settings) -> "KinesisDelivery | None":
    """Create the job that delivers to Kinesis, if the settings name its endpoint. Raises SettingUnusable."""
    if settings.kinesis_endpoint is None:
        return None
    # Imported here: most servers send nothing to Kinesis, and start time counts.
    from hashrange.functions.http_client import UrlUnusable  # noqa: PLC0415
    from hashrange.triggers.kinesis.delivery import KinesisDelivery  # noqa: PLC0415

    try:
        return KinesisDelivery(store, clock, settings.kinesis_endpoint)
    except UrlUnusable as error:
        raise SettingUnusable(f"--kinesis-endpoint: {error}") from error

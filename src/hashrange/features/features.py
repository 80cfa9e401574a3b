"""What does a service consist of, beside the tables of DynamoDB? Of features: metrics, alarms, functions, clusters.
A `Feature` is a record that says how one is loaded, run, saved and stopped; `Features` has those of one service.

A feature that nobody uses costs a start nothing: its record is cheap, and what it consists of, its *part*, is loaded at
the start if the settings ask for it, with the first request of its API, or if the store has documents of it. The
features of a service are listed in `service/features.py`. See docs/adr/0067-features.md.
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Coroutine, Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec

from hashrange.aws_services.operation import FormWire, Operation, ServiceApi
from hashrange.clock import Clock
from hashrange.errors import StorageError
from hashrange.faults.drawing import Drawing
from hashrange.features.late_code import LateCode
from hashrange.jobs.job import Job, SlicedJob
from hashrange.jobs.runner import InTurns, Runner
from hashrange.jobs.store_jobs import jobs_of
from hashrange.messages.cloudwatch import LOG_NOT_SAVED
from hashrange.operations.insights.watching import BeginTimes
from hashrange.operations.meter import Meter
from hashrange.operations.operation import Scope
from hashrange.settings import Settings
from hashrange.soon import kept_until_done
from hashrange.store.front import FrontStep, in_front_of
from hashrange.store.interface import SeeChanges, Store, WholeStore
from hashrange.tables.change import Change
from hashrange.tables.schema import Table
from hashrange.tables.throttling import SeeThrottled

if TYPE_CHECKING:
    from hashrange.faults.fault_step import MarkCall

PartT = TypeVar("PartT")
RunSlice = Callable[[], Coroutine[Any, Any, float | None]]
"""See `Job.run_slice`."""

_log = logging.getLogger("hashrange.cloudwatch")  # what is saved at the end are metrics, and counts that became some


# --- the record of one feature ----------------------------------------------------------------------


class FeatureJob(msgspec.Struct, Generic[PartT], frozen=True):
    """A job of a feature. It rests until the feature is loaded."""

    name: str
    run_slice: "Callable[[PartT, Features], RunSlice]"
    """Returns the function that runs a slice; called once, before the first slice."""
    waits_for_service_time: bool = True
    """True if slices return seconds of service time."""


class FeatureApi(msgspec.Struct, Generic[PartT], frozen=True):
    """An API that a feature serves."""

    target_prefix: str
    """See `ServiceApi.target_prefix`: requests are known by it before the API is loaded."""
    make: "Callable[[PartT, Features], ServiceApi]"


class FeatureFront(msgspec.Struct, Generic[PartT], frozen=True):
    """How a feature stands in front of the store that requests use."""

    step: Callable[[PartT], FrontStep | None]
    """Returns the step that requests are to pass now; None: none of this feature."""
    look: Callable[[PartT, Table | None], None] | None = None
    """Looks at what the feature goes by for a table, after a change of it; for all tables (None) after a change of the
    content. May raise StorageError."""
    set_up_scope: Callable[[PartT, Scope], None] | None = None
    """Changes what else of a Scope goes with the step."""


class FeatureState(msgspec.Struct, Generic[PartT], frozen=True):
    """What a snapshot has of a feature beside the content of the store."""

    take: Callable[[PartT], Any]
    """Returns the state now; None: that with which a feature begins."""
    return_to: Callable[[PartT, Any], Callable[[], None]]
    """Puts such a state, or None, in the place of the present one. Returns the function that undoes it."""
    lag_seconds: Callable[[Any], float] = lambda state: 0.0
    """The longest delay that this state gives to index entries."""


class Feature(msgspec.Struct, Generic[PartT], frozen=True):
    """What a service has to know of a feature; other code does not know it by its name."""

    name: str
    make: "Callable[[Features], PartT]"
    """Loads and returns what the feature consists of. May ask for other features, and raise SettingUnusable."""
    is_loaded_at_start: Callable[[Settings], bool] = lambda settings: False
    """True if these settings ask for the feature."""
    prefixes: tuple[str, ...] = ()
    """How names of documents begin for which the feature has work: if the store has one of them, it is loaded."""
    code: tuple[str, ...] = ()
    """Modules that `make`, `jobs` and `apis` use and that no start loads: they take long to load."""
    jobs: tuple[FeatureJob[PartT], ...] = ()
    """In the order in which those that are due at the same moment run."""
    apis: Mapping[str, FeatureApi[PartT]] = MappingProxyType({})
    """By the name with which requests are signed; those of services that have no paths of their own."""
    adds: Mapping[str, Callable[[PartT], Sequence[Operation[FormWire]]]] = MappingProxyType({})
    """The same name → operations that the feature adds to the API of another one, with which it is loaded."""
    start: "Callable[[Features], None] | None" = None
    """Called when the jobs start, whether the feature is loaded or not."""
    follow: Callable[[PartT], Callable[[], None]] | None = None
    """Returns the function to be called after each commit with stream records; for features loaded at the start."""
    front: FeatureFront[PartT] | None = None
    answer_scope: "Callable[[Features, Scope], None] | None" = None
    """Lets operations ask the feature through a Scope, whether it is loaded or not."""
    state: FeatureState[PartT] | None = None
    save: Callable[[PartT], Coroutine[Any, Any, None]] | None = None
    """Keeps what is in memory only: before a copy of the content is made, and at the end. Raises StorageError."""
    see_content: Callable[[PartT], None] | None = None
    """Called when the content of the store has been replaced."""
    stop: Callable[[PartT], Coroutine[Any, Any, None]] | None = None
    """Ends what the feature runs, once its jobs have stopped. May be called again."""
    drop: Callable[[PartT], Iterator[None]] | None = None
    """Frees in pieces what takes long to free, once nothing is called any more."""


AnyFeature = Feature[Any]


def lag_seconds_of(features: Sequence[AnyFeature], states: Mapping[str, Any]) -> float:
    """The longest delay of index entries that wait in a snapshot with these states."""
    lags = [one.state.lag_seconds(states[one.name]) for one in features if one.state is not None and one.name in states]
    return max(lags, default=0.0)


# --- those of one service ---------------------------------------------------------------------------


class TableRequests(msgspec.Struct, eq=False):
    """What features know of the requests of DynamoDB, and change in them."""

    mark_faulted: "MarkCall"
    operations: Collection[str]
    """The names of DynamoDB's."""
    scope_of: Callable[[str, str], Scope]
    """`scope_of(account, region)`: what serves them."""
    set_up_scopes: Callable[[Callable[[Scope], None]], None]
    """`set_up_scopes(set_up)`: calls `set_up` for every Scope in use, and from now on for every new one."""
    see_throttled: list[SeeThrottled] = []
    """Told of each part of a request that is throttled, whether for want of throughput or by a fault."""
    counters: list[Callable[[Meter], None]] = []
    """Called with the meter of each request that has ended."""
    drawing: Drawing | None = None
    """Draws who meets faults; None if there are no faults."""


class _Known:
    """A feature of one service, and what it consists of."""

    def __init__(self, feature: AnyFeature) -> None:
        self.feature = feature
        self.is_loaded = False
        self.part: Any = None
        """What it consists of, once it is loaded."""
        self.looked_generation: int | None = None
        """Generation of the documents of which none is its."""


class Features:
    """The features of one service, and what they may use of it."""

    def __init__(
        self,
        features: Sequence[AnyFeature],
        store: WholeStore,
        clock: Clock,
        settings: Settings,
        requests: TableRequests,
        in_turns: InTurns,
    ) -> None:
        """Load the features for which the settings ask. Raises SettingUnusable.

        `in_turns` runs slices of jobs, as for `Runner`.
        """
        self.store = store
        self.clock = clock
        self.settings = settings
        self.requests = requests
        self.steps: list[FrontStep] = []
        """What requests pass on their way to the store."""
        self.front: Store = store
        """The store that requests use: `store`, or the front of it."""
        self._features = features
        self._all = [_Known(feature) for feature in features]
        self._by_name = {known.feature.name: known for known in self._all}
        self._seen_generation = store.documents.generation
        self._followers: list[Callable[[], None]] = []
        self.see_expired: list[SeeChanges] = []
        """Called with the changes of each commit that deletes expired items; see `items_expired`."""
        self._beside: set[asyncio.Task[None]] = set()
        self._given: dict[str, Any] = {}
        """By name of the feature that uses it."""
        self._begin_times = BeginTimes(store.documents)
        late = [_late_job(self, feature, job) for feature in features for job in feature.jobs]
        self.runner = Runner([*jobs_of(store, clock, self.items_expired), *late], clock, in_turns)
        requests.set_up_scopes(self._set_up_scope)
        for feature in features:
            if feature.is_loaded_at_start(settings):
                self.part(feature)

    # --- loading ----------------------------------------------------------------------------------

    def part(self, feature: Feature[PartT]) -> PartT:
        """What a feature consists of; loaded when first asked for. Raises SettingUnusable."""
        known = self._by_name[feature.name]
        if not known.is_loaded:
            made = feature.make(self)
            for other in self._that_add_to(feature):
                self.part(other)
            known.part, known.is_loaded = made, True
        part: PartT = known.part
        return part

    def loaded(self, feature: Feature[PartT]) -> PartT | None:
        """What a feature consists of; None if it is not loaded."""
        part: PartT | None = self._by_name[feature.name].part
        return part

    def found(self, feature: Feature[PartT]) -> PartT | None:
        """What a feature consists of; None if it is not loaded, and the store has no documents of it.
        Raises StorageError.
        """
        return self.part(feature) if self._is_wanted(feature) else self.loaded(feature)

    async def found_on_thread(self, feature: Feature[PartT]) -> PartT | None:
        """What `found` returns; code is loaded on a thread."""
        if self._is_wanted(feature):
            await LateCode(*self.code_of(feature)).be_loaded()
        return self.found(feature)

    def code_of(self, feature: AnyFeature) -> Sequence[str]:
        """The modules that are loaded with a feature."""
        return [module for one in (feature, *self._that_add_to(feature)) for module in one.code]

    def give(self, feature: AnyFeature, what: Any) -> None:
        """Let a feature, loaded or not, use what only code above it has; None: no longer."""
        self._given[feature.name] = what

    def given_to(self, feature: AnyFeature) -> Any:
        """What `give` has given a feature; None if there is nothing."""
        return self._given.get(feature.name)

    def _is_wanted(self, feature: AnyFeature) -> bool:
        """True if the store has documents of a feature that is not loaded. Raises StorageError."""
        known, generation = self._by_name[feature.name], self.store.documents.generation
        if known.is_loaded or known.looked_generation == generation:
            return False
        if self._has_documents(feature):
            return True
        known.looked_generation = generation  # last, so that a failure is followed by another look
        return False

    def _has_documents(self, feature: AnyFeature) -> bool:
        return any(self.store.documents.some_below(prefix, None, 1) for prefix in feature.prefixes)

    def _that_add_to(self, feature: AnyFeature) -> Sequence[AnyFeature]:
        return [other for other in self._features if not other.adds.keys().isdisjoint(feature.apis)]

    def _loaded(self) -> Iterator[tuple[AnyFeature, Any]]:
        """The features that are loaded, each with its part."""
        return ((known.feature, known.part) for known in self._all if known.is_loaded)

    # --- APIs -------------------------------------------------------------------------------------

    def target_prefixes(self) -> Sequence[str]:
        """What comes before the dot in X-Amz-Target of requests to these APIs."""
        return [api.target_prefix for feature in self._features for api in feature.apis.values()]

    def apis(self) -> Sequence[ServiceApi]:
        """The APIs that features serve."""
        return [api.make(self.part(feature), self) for feature in self._features for api in feature.apis.values()]

    def api(self, signing_name: str) -> ServiceApi:
        """The API of the service whose requests are signed with this name."""
        feature = next(one for one in self._features if signing_name in one.apis)
        return feature.apis[signing_name].make(self.part(feature), self)

    def added_operations(self, signing_name: str) -> Sequence[Operation[FormWire]]:
        """The operations that features add to the API of this name."""
        adding = [one for one in self._features if signing_name in one.adds]
        return [operation for one in adding for operation in one.adds[signing_name](self.part(one))]

    # --- the store that requests use --------------------------------------------------------------

    def look_at_fronts(self, table: Table | None = None) -> None:
        """Let features that stand in front of the store look at what they go by, for one table or (None) for all, and
        requests pass the steps that are needed now. Raises StorageError.
        """
        for known in self._all:
            feature = known.feature
            if feature.front is None:
                continue
            if not known.is_loaded:
                known.looked_generation = self.store.documents.generation  # only this looks, and not a job
                if not self._has_documents(feature):
                    continue
            part = self.part(feature)
            if feature.front.look is not None:
                feature.front.look(part, table)
        self.put_in_front()

    def put_in_front(self) -> None:
        """Let requests pass the steps that are needed now. The last feature's comes first: it sees what others do."""
        made = [feature.front.step(part) for feature, part in self._loaded() if feature.front is not None]
        steps = [step for step in reversed(made) if step is not None]
        if steps != self.steps:
            self.steps, self.front = steps, in_front_of(self.store, steps)
            self.requests.set_up_scopes(self._set_up_scope)

    def _set_up_scope(self, scope: Scope) -> None:
        scope.store = self.front
        scope.see_watches, scope.begin_times = self.look_at_fronts, self._begin_times
        scope.wake_job = self._wake_late_job
        for one in self._features:
            if one.answer_scope is not None:
                one.answer_scope(self, scope)
        for feature, part in self._loaded():
            if feature.front is not None and feature.front.set_up_scope is not None:
                feature.front.set_up_scope(part, scope)

    # --- copies and other content -----------------------------------------------------------------

    async def save(self) -> None:
        """Keep what is in memory only, before a copy of the content is made. Raises StorageError."""
        for feature, part in self._loaded():
            if feature.save is not None:
                await feature.save(part)

    def states(self) -> Mapping[str, Any]:
        """What a snapshot has of the features beside the content, by their names."""
        states = {one.name: one.state.take(part) for one, part in self._loaded() if one.state is not None}
        return {name: state for name, state in states.items() if state is not None}

    def return_to(self, states: Mapping[str, Any]) -> Callable[[], None]:
        """Put these states in the place of the present ones. Returns the function that undoes it, in the same order."""
        undo: list[Callable[[], None]] = []
        for feature in self._features:
            state = states.get(feature.name)
            if feature.state is not None and (state is not None or self._by_name[feature.name].is_loaded):
                undo.append(feature.state.return_to(self.part(feature), state))

        def undo_all() -> None:
            for one in undo:
                one()

        return undo_all

    # --- running ----------------------------------------------------------------------------------

    def start(self) -> None:
        """Start the jobs on the running loop."""
        for feature in self._features:
            if feature.start is not None:
                feature.start(self)
        self.store.maintenance.on_work(self._see_work)
        self._followers = [one.follow(part) for one, part in self._loaded() if one.follow is not None]
        if self._followers:
            self.store.streams.follow(self._see_records)
        self.runner.start()

    def waker(self, *job_names: str) -> Callable[[], None]:
        """The function that wakes the jobs of these names, because there is work for them."""
        return partial(self.runner.wake_jobs, *job_names)

    def _wake_late_job(self, job_name: str) -> None:
        """Wake a job of a feature, which may have got its first documents."""
        for known in self._all:
            if any(job.name == job_name for job in known.feature.jobs):
                known.looked_generation = None
        self.runner.wake_jobs(job_name)

    def begin(self, work: Coroutine[Any, Any, None]) -> None:
        """Begin work that nothing waits for; it is cancelled when the jobs stop."""
        kept_until_done(asyncio.get_running_loop().create_task(work), self._beside)

    def items_expired(self, changes: Sequence[Change]) -> None:
        """Tell features of a commit that deletes expired items. Whoever lets the store delete them passes this on."""
        for see in self.see_expired:
            see(changes)

    def _see_work(self) -> None:
        """See new work for jobs, and other content."""
        generation = self.store.documents.generation
        if self._seen_generation != generation:
            self._seen_generation = generation
            for feature, part in self._loaded():
                if feature.see_content is not None:
                    feature.see_content(part)
        self.runner.wake()
        self._see_records()

    def _see_records(self) -> None:
        for see in self._followers:
            see()

    async def stop(self) -> None:
        """Stop the jobs, wait for their end, and end all that features run, the last ones first;
        save what is in memory only if the content is kept. May be called again.
        """
        beside = list(self._beside)
        for task in beside:
            task.cancel()
        if beside:
            await asyncio.wait(beside)
        is_running = self.runner.is_running
        await self.runner.stop()  # before the features: what has stopped could be woken, and begin another slice
        for feature, part in reversed(list(self._loaded())):
            if feature.stop is not None:
                await feature.stop(part)
        if is_running and self.store.is_kept:
            for feature, part in list(self._loaded()):
                if feature.save is not None:
                    try:
                        await feature.save(part)
                    except StorageError as error:
                        _log.error(LOG_NOT_SAVED, feature.name, error)

    def drop(self) -> Iterator[None]:
        """Free in pieces what takes long to free of features, once nothing is called any more."""
        for feature, part in self._loaded():
            if feature.drop is not None:
                yield from feature.drop(part)


def _late_job(features: Features, feature: Feature[PartT], job: FeatureJob[PartT]) -> Job:
    """A job of a feature, which rests until the feature is loaded."""
    run_loaded: RunSlice | None = None

    async def run_slice() -> float | None:
        nonlocal run_loaded
        if run_loaded is None:
            part = await features.found_on_thread(feature)
            if part is None:
                return None
            run_loaded = job.run_slice(part, features)
        return await run_loaded()

    return SlicedJob(job.name, run_slice, job.waits_for_service_time)

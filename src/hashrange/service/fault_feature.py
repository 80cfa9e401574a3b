"""What are faults to a service? A feature: while there are faults, requests pass a step whose rows meet them, index
entries are delayed, and states of tables last longer. Those of a snapshot are drawn anew.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from hashrange.faults.drawing import SERVICE_KINDS, UPLOADS, Drawing
from hashrange.faults.fault import Fault, Faults, FaultsError, echoed, most_lag_seconds, read_faults
from hashrange.faults.s3_failures import ASKED_BY_TRANSFERS
from hashrange.features.features import Feature, FeatureFront, Features, FeatureState
from hashrange.operations.operation import Scope
from hashrange.store.front import FrontStep, RequestMeter
from hashrange.store.interface import DelayOf, Payer, local_maintenance_of
from hashrange.tables.change import Change

if TYPE_CHECKING:
    from hashrange.faults.fault_step import FaultStep
    from hashrange.faults.remembered import StaleRows

NO_FAULTS = Faults()
LONG_OPERATIONS = frozenset(
    {
        "CreateBackup",
        "ExportTableToPointInTime",
        "ImportTable",
        "RestoreTableFromBackup",
        "RestoreTableToPointInTime",
        "StartBulkPutItems",
    }
)
"""Operations that begin what stays in progress for some time."""


class FaultSetup(NamedTuple):
    """What is put in place for some faults."""

    step: "FaultStep | None"
    """The step that requests pass; None without faults."""
    state_delay: Callable[[str, str], float]
    """Returns the seconds for which states of a table last at least (`Scope.state_delay`)."""
    least_seconds: Callable[[str, str], float]
    """Returns those for which backups, restores and transfers do (`Scope.least_seconds`)."""
    index_delay: DelayOf | None
    """Function that draws the delay of a commit's index entries, in seconds of service time; None: no delay."""
    index_delay_max_seconds: float


class FaultsInPlace:
    """The faults of one service."""

    def __init__(self, features: Features) -> None:
        """Raises FaultsError for the file of the settings."""
        self._features = features
        self.setup: FaultSetup | None = None
        """What was last put in place; None if there never were any faults."""
        features.see_expired.append(self._expired)
        if (path := features.settings.faults) is not None:
            faults = read_faults(path)
            try:
                self._change_to(self._prepared(faults))
            except FaultsError as error:
                raise FaultsError(f"the file of faults {path} cannot be used: {error}") from None

    def use(self, faults: Faults) -> None:
        """From now on, let requests meet these faults, drawn anew from their seed. Raises FaultsError.

        `faults`: as `fault.checked` returned them. May give way before and after, but all changes at the same moment.

        Calls that have met earlier faults still get the replies that these cause.
        """
        self.take(self._prepared(faults))

    def take(self, setup: FaultSetup) -> None:
        """Put prepared faults in place, as `use` does; those of an earlier one go on with their draws and report."""
        with local_maintenance_of(self._features.store).ready_for_delay(is_wanted=setup.index_delay is not None):
            self._put_in_place(setup)

    def step(self) -> FrontStep | None:
        """The step that requests are to pass now: None without faults."""
        return None if self.setup is None else self.setup.step

    def set_up_scope(self, scope: Scope) -> None:
        """Give a Scope the delays of states that go with the faults."""
        if self.setup is not None:
            scope.state_delay, scope.least_seconds = self.setup.state_delay, self.setup.least_seconds

    def _put_in_place(self, setup: FaultSetup) -> None:
        self._change_to(setup)
        self._features.put_in_front()

    def _change_to(self, setup: FaultSetup) -> None:
        self.setup = setup
        self._features.requests.drawing = None if setup.step is None else setup.step.drawing
        maintenance = local_maintenance_of(self._features.store)
        maintenance.delay_index_entries(setup.index_delay, setup.index_delay_max_seconds)

    def _find_stale(self) -> "StaleRows | None":
        return None if self.setup is None or self.setup.step is None else self.setup.step.stale

    def _expired(self, changes: Sequence[Change]) -> None:
        """Note changes of a commit that deletes expired items, which passes no step."""
        if (stale := self._find_stale()) is not None:
            stale.note(changes, self._features.clock.service_time())

    # --- snapshots ------------------------------------------------------------------------------------

    def present(self) -> Faults | None:
        """The faults that requests meet; None if there are none."""
        return None if self.setup is None or self.setup.step is None else self.setup.step.drawing.faults

    def return_to(self, faults: Faults | None) -> Callable[[], None]:
        """Let requests meet these faults, drawn anew, in the content that is about to take the place of the present
        one. Returns the function that undoes it, if it does not.
        """
        before = self.setup
        self._put_in_place(self._prepared(faults or NO_FAULTS))
        return lambda: self._put_in_place(before or self._prepared(NO_FAULTS))

    # --- what is put in place -------------------------------------------------------------------------

    def _prepared(self, faults: Faults) -> FaultSetup:
        """What has to be put in place for these faults. Raises FaultsError for a fault that cannot be met."""
        self._require_known(faults)
        features = self._features
        requests, settings = features.requests, features.settings
        base_seconds = settings.index_delay_seconds
        base_delay = (lambda changes, meter: base_seconds) if base_seconds else None
        state_seconds = settings.table_state_delay_seconds
        if not faults.faults:
            return FaultSetup(
                None, lambda name, operation: state_seconds, lambda name, operation: 0.0, base_delay, base_seconds
            )
        # Imported here: most servers have no faults, and start time counts.
        from hashrange.faults.fault_step import FaultStep  # noqa: PLC0415

        drawing = Drawing(faults, features.clock)
        see_throttled, find_noted = requests.see_throttled, self._find_stale
        step = FaultStep(features.store, drawing, features.clock, requests.mark_faulted, see_throttled, find_noted)

        def state_delay(name: str, operation: str) -> float:
            return max(state_seconds, drawing.seconds_of("table-states", name, operation))

        def least_seconds(name: str, operation: str) -> float:
            return drawing.seconds_of("long-operations", name, operation)

        def delay(changes: Sequence[Change], meter: Payer) -> float:
            operation = meter.operation.name if type(meter) is RequestMeter else ""
            return max(base_seconds, drawing.seconds_of("index-lag", _lagging_table(changes), operation))

        return FaultSetup(
            step,
            state_delay,
            least_seconds,
            delay if drawing.has("index-lag") else base_delay,
            max(base_seconds, most_lag_seconds(faults)),
        )

    def _require_known(self, faults: Faults) -> None:
        """Raise FaultsError for a fault that names an operation which does not exist, or cannot meet it."""
        for number, fault in enumerate(faults.faults, 1):
            others = (fault.operations or frozenset()).difference(self._features.requests.operations)
            of_s3 = self._names_of_s3() if others or fault.code else frozenset[str]()
            # The services beside DynamoDB may have to be loaded, so they are asked only if there are other names.
            unknown = sorted(others.difference(of_s3, self._names_of_services() if others - of_s3 else ()))
            if unknown:
                raise FaultsError(f"fault {number}: there is no operation {echoed(unknown[0])}.")
            if others and fault.kind != "no-room" and not _may_meet_services(fault, others):
                kinds = ", ".join(sorted(SERVICE_KINDS))
                raise FaultsError(
                    f"fault {number}: requests of {min(others)} meet faults of the kinds {kinds}, without the members"
                    " table, index, key, exception and reason."
                )
            wrong = _wrong_operations(fault, of_s3)
            if wrong is not None:
                raise FaultsError(f"fault {number}: {wrong}")

    def _names_of_services(self) -> set[str]:
        """Names of the operations of services beside DynamoDB and S3 which meet faults."""
        return {operation.name for api in self._features.apis() for operation in api.operations}

    def _names_of_s3(self) -> frozenset[str]:
        """Names of the operations of S3 which meet faults."""
        settings = self._features.settings
        if settings.s3_folder is None:
            return ASKED_BY_TRANSFERS if settings.s3_endpoint is not None else frozenset()
        # Imported here: most servers have no S3, and start time counts.
        from hashrange.s3.api.registry import S3_OPERATIONS  # noqa: PLC0415

        return frozenset([operation.name for operation in S3_OPERATIONS])


def _may_meet_services(fault: Fault, operations: frozenset[str]) -> bool:
    """True if requests to services beside DynamoDB can meet this fault, which names these operations of theirs. Only
    what the server itself asks S3 is for a table.
    """
    has_wrong_table = fault.table is not None and not operations <= ASKED_BY_TRANSFERS
    members = (has_wrong_table, fault.index, fault.key, fault.exception, fault.reason)
    return fault.kind in SERVICE_KINDS and not any(members)


def _wrong_operations(fault: Fault, of_s3: frozenset[str]) -> str | None:
    """What is wrong with the operations of a fault that only certain ones can meet; None if nothing is."""
    operations = fault.operations or frozenset()
    if fault.kind == "long-operations" and not operations <= LONG_OPERATIONS:
        return f"operations that last are {', '.join(sorted(LONG_OPERATIONS))}."
    if fault.kind == "no-room" and not operations <= UPLOADS:
        return f"operations for which there may be no room are {' and '.join(sorted(UPLOADS))}."
    if fault.code is not None and (not operations or not operations <= of_s3):
        return "the member code is for operations of the server's S3, which the member operation names."
    return None


def _lagging_table(changes: Sequence[Change]) -> str | None:
    """Name of the first table of which a commit changes a global index; None if there is none."""
    lagging = (one.table.name for one in changes if any(source.is_global for source, _, _ in one.entries))
    return next(lagging, None)


FAULTS = Feature(
    "faults",
    FaultsInPlace,
    is_loaded_at_start=lambda settings: settings.faults is not None,
    front=FeatureFront(FaultsInPlace.step, set_up_scope=FaultsInPlace.set_up_scope),
    # A restore puts faults in place before the content: the longest delay of index entries decides how long waiting
    # ones are kept.
    state=FeatureState(FaultsInPlace.present, FaultsInPlace.return_to, most_lag_seconds),
)

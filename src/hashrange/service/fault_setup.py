"""What changes while there are faults? The store of every Scope, the delay of index entries,
and how long states of tables last.
"""

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from hashrange.clock import Clock
from hashrange.faults.drawing import SERVICE_KINDS, Drawing
from hashrange.faults.fault import Fault, Faults, FaultsError, echoed, most_lag_seconds
from hashrange.faults.fault_store import FaultStore
from hashrange.operations.operation import Scope
from hashrange.service.faulted_calls import FaultedCalls
from hashrange.settings import Settings
from hashrange.store.interface import DelayOf, SeeChanges, WholeStore
from hashrange.tables.change import Change


class KnownOperations(NamedTuple):
    """The operations that faults may name."""

    names: Collection[str]
    """Those of DynamoDB."""
    of_services: Callable[[], Collection[str]]
    """Returns those of the services beside DynamoDB, which it may have to load."""


class FaultSetup(NamedTuple):
    """What `Service.use_faults` puts in place."""

    drawing: Drawing | None
    """Draws who meets the faults; None without faults."""
    scope: Callable[[Scope], None]
    """Function that gives a Scope the store and the delays of states that go with the faults."""
    index_delay: DelayOf | None
    """Function that draws the delay of a commit's index entries, in seconds of service time; None: no delay."""
    index_delay_max_seconds: float
    see_changes: SeeChanges | None
    """Function that the store calls with the changes of each commit; None: nobody needs them."""


def prepared_faults(
    faults: Faults,
    real: WholeStore,
    clock: Clock,
    settings: Settings,
    operations: KnownOperations,
    calls: FaultedCalls,
) -> FaultSetup:
    """What has to be put in place for these faults. Raises FaultsError for a fault that cannot be met.

    `faults`: as `checked` returned them. `real`: the service's store. Does not give way.
    """
    for number, fault in enumerate(faults.faults, 1):
        others = (fault.operations or frozenset()).difference(operations.names)
        unknown = sorted(others.difference(operations.of_services())) if others else []
        if unknown:
            raise FaultsError(f"fault {number}: there is no operation {echoed(unknown[0])}.")
        if others and not _may_meet_services(fault):
            kinds = ", ".join(sorted(SERVICE_KINDS))
            raise FaultsError(
                f"fault {number}: requests of {min(others)} meet faults of the kinds {kinds}, without the members"
                " table, index, key, exception and reason."
            )
    base_seconds = settings.index_delay_seconds
    base_delay = (lambda changes: base_seconds) if base_seconds else None
    drawing = Drawing(faults, clock) if faults.faults else None
    if drawing is None:

        def undo(scope: Scope) -> None:
            scope.store = real
            scope.state_delay = lambda name: settings.table_state_delay_seconds

        return FaultSetup(None, undo, base_delay, base_seconds, None)
    store = FaultStore(real, drawing, clock, calls, calls.throttle_events)

    def set_up(scope: Scope) -> None:
        scope.store = store
        scope.state_delay = lambda name: max(
            settings.table_state_delay_seconds,
            drawing.seconds_of("table-states", name, calls.operation() or ""),
        )

    def delay(changes: Sequence[Change]) -> float:
        lag_seconds = drawing.seconds_of("index-lag", _lagging_table(changes), calls.operation() or "")
        return max(base_seconds, lag_seconds)

    return FaultSetup(
        drawing,
        set_up,
        delay if drawing.has("index-lag") else base_delay,
        max(base_seconds, most_lag_seconds(faults)),
        store.see_changes,
    )


def _may_meet_services(fault: Fault) -> bool:
    """True if requests to services beside DynamoDB can meet this fault."""
    members = (fault.table, fault.index, fault.key, fault.exception, fault.reason)
    return fault.kind in SERVICE_KINDS and not any(members)


def _lagging_table(changes: Sequence[Change]) -> str | None:
    """Name of the first table of which a commit changes a global index; None if there is none."""
    for change in changes:
        if any(source.index is not None and source.index.is_global for source, _, _ in change.entries):
            return change.table.name
    return None

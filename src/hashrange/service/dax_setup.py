"""What do DAX's clusters consist of in one service? Records, the job that ends what is under way in them,
and their API, once somebody needs them.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from hashrange.aws_services.operation import ServiceApi
from hashrange.clock import Clock
from hashrange.jobs.job import Job
from hashrange.settings import Settings
from hashrange.store.interface import WholeStore

if TYPE_CHECKING:
    from hashrange.dax.clusters import Clusters
    from hashrange.dax.node_host import NodeHost

DOCUMENT_PREFIX = "dax-cluster/"
"""How names of documents begin for which the job has work."""


class DaxSetup:
    """The clusters of one service. Also their job: it ends what is under way, and lets nodes run as the records say."""

    name = "dax-clusters"
    waits_for_service_time = True

    def __init__(self, store: WholeStore, clock: Clock, settings: Settings) -> None:
        self._documents = store.documents
        self._make = partial(_clusters, store, clock, settings)
        self._clusters: Clusters | None = None
        self._serve: Callable[[], NodeHost] | None = None
        self._looked_generation: int | None = None
        self._wake_job: Callable[[Job], None] = lambda _: None
        self._seen_generation = store.documents.generation

    @property
    def clusters(self) -> "Clusters":
        """The clusters; loaded when first asked for."""
        if self._clusters is None:
            self._clusters = clusters = self._make()
            clusters.wake = self._wake
            clusters.make_host = self._serve
        return self._clusters

    @property
    def found(self) -> "Clusters | None":
        """The clusters, if somebody has asked for them, or the store has some. Raises StorageError."""
        if self._clusters is None and self._looked_generation != (generation := self._documents.generation):
            if self._documents.below(DOCUMENT_PREFIX):
                return self.clusters
            self._looked_generation = generation  # last, so that a failure is followed by another look
        return self._clusters

    def run_nodes_by(self, make_host: "Callable[[], NodeHost]") -> None:
        """Let `make_host` make what runs the nodes, once there is a cluster."""
        self._serve = make_host
        if self._clusters is not None:
            self._clusters.make_host = make_host

    def wake_by(self, wake_job: Callable[[Job], None]) -> None:
        """Let the job be woken when it has work."""
        self._wake_job = wake_job

    def see_content(self) -> None:
        """If the store's content has been replaced, let nodes forget the former one."""
        if self._seen_generation != self._documents.generation:
            self._seen_generation = self._documents.generation
            if self._clusters is not None and (host := self._clusters.running_host) is not None:
                host.forget()

    def _wake(self) -> None:
        self._wake_job(self)

    async def run_slice(self) -> float | None:
        """The job's slice. Raises StorageError."""
        found = self.found
        return None if found is None else await found.settle()

    @property
    def apis(self) -> Sequence[ServiceApi]:
        """The API that is served."""
        # Imported here: most servers are never asked for clusters, and start time counts.
        from hashrange.dax.api.registry import dax_api  # noqa: PLC0415

        return [dax_api(self.clusters)]


def _clusters(store: WholeStore, clock: Clock, settings: Settings) -> "Clusters":
    # Imported here: most servers have no clusters, and start time counts.
    from hashrange.dax.clusters import Clusters  # noqa: PLC0415

    return Clusters(store.documents, clock, settings.table_state_delay_seconds, settings.dax_memory_bytes)

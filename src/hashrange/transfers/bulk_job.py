"""Which bulk puts run? The job of bulk puts asks for their work."""

from hashrange.operations.transfers.bulk_records import kept_bulk_progress, kept_bulk_puts
from hashrange.transfers.bulk_work import BulkWork
from hashrange.transfers.workshop import Steps, Workshop


class BulkPutsInProgress:
    """Implements `InProgress` for bulk puts."""

    def __init__(self, workshop: Workshop) -> None:
        self._shop = workshop
        self._documents = workshop.store.documents

    async def look(self) -> list[str]:
        """The paths of the bulk puts that run."""
        return list(kept_bulk_progress(self._documents).by_path())

    def work_on(self, path: str) -> Steps | None:
        """The work that is left of one; None if there is none."""
        record = kept_bulk_puts(self._documents).get(*path.split("/"))
        progress = kept_bulk_progress(self._documents).get(*path.split("/"))
        return None if record is None or progress is None else BulkWork(self._shop, record, progress).steps()

"""Which exports are in progress? The job of exports asks for their work, and ends copies of rows that none has."""

from hashrange.operations.transfers.export_records import EXPORT_PREFIX, kept_export_progress, kept_exports
from hashrange.transfers.export_work import ExportWork
from hashrange.transfers.workshop import Steps, Workshop


class ExportsInProgress:
    """Implements `InProgress` for exports."""

    def __init__(self, workshop: Workshop) -> None:
        self._shop = workshop
        self._documents = workshop.store.documents

    async def look(self) -> list[str]:
        """The paths of the exports in progress; ends copies of those that are no more."""
        paths = list(kept_export_progress(self._documents).by_path())
        copies = self._shop.store.row_copies
        wanted = {f"{EXPORT_PREFIX}{path}" for path in paths}
        for owner in list(copies.copies()):
            if owner.startswith(EXPORT_PREFIX) and owner not in wanted:
                await copies.end(owner)
        return paths

    def work_on(self, path: str) -> Steps | None:
        """The work that is left of an export; None if there is none."""
        record = kept_exports(self._documents).get(*path.split("/"))
        progress = kept_export_progress(self._documents).get(*path.split("/"))
        return None if record is None or progress is None else ExportWork(self._shop, record, progress).steps()

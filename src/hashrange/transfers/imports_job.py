"""Which imports are in progress? The job of imports asks for their work, and deletes unseen tables that none fills."""

from hashrange.operations.transfers.import_records import kept_import_progress, kept_imports
from hashrange.transfers.import_work import ImportWork
from hashrange.transfers.workshop import Steps, Workshop


class ImportsInProgress:
    """Implements `InProgress` for imports."""

    def __init__(self, workshop: Workshop) -> None:
        self._shop = workshop
        self._documents = workshop.store.documents

    async def look(self) -> list[str]:
        """The paths of the imports in progress; deletes tables of those that are no more."""
        paths = list(kept_import_progress(self._documents).by_path())
        catalog = self._shop.store.catalog
        unseen = catalog.importing()
        if unseen:
            records = [kept_imports(self._documents).get(*path.split("/")) for path in paths]
            filled = {record.table_uuid for record in records if record is not None}
            for table in unseen:
                if table.schema.uuid not in filled:
                    await catalog.delete(table.schema)
        return paths

    def work_on(self, path: str) -> Steps | None:
        """The work that is left of an import; None if there is none."""
        record = kept_imports(self._documents).get(*path.split("/"))
        progress = kept_import_progress(self._documents).get(*path.split("/"))
        return None if record is None or progress is None else ImportWork(self._shop, record, progress).steps()

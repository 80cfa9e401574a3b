"""What are exports and imports to a service? A feature: jobs make those that operations have begun, as long as they
are in progress; other servers load none of it.
"""

from hashrange.features.features import Feature, FeatureJob, Features
from hashrange.operations.transfers.bulk_records import BULK_JOB, BULK_PROGRESS_PREFIX, kept_bulk_puts
from hashrange.operations.transfers.export_records import EXPORT_JOB, EXPORT_PROGRESS_PREFIX, kept_exports
from hashrange.operations.transfers.import_records import IMPORT_JOB, IMPORT_PROGRESS_PREFIX, kept_imports
from hashrange.s3.objects import ObjectsOf
from hashrange.s3.opening import missing_s3, objects_of_settings
from hashrange.transfers.flows import Flows
from hashrange.transfers.workshop import TransferJob, Workshop


class TransfersInProgress:
    """The transfers of one service."""

    def __init__(self, features: Features) -> None:
        # Imported here: most servers export and import nothing, and start time counts.
        from hashrange.transfers.bulk_work import BulkWork  # noqa: PLC0415 - see above
        from hashrange.transfers.export_work import ExportWork, end_other_copies  # noqa: PLC0415 - see above
        from hashrange.transfers.import_work import ImportWork, delete_other_tables  # noqa: PLC0415 - see above

        self._settings = features.settings
        self.s3: ObjectsOf | None = None
        """The S3 of the settings; None until somebody needs it."""

        def workshop(job_name: str) -> Workshop:
            flows = Flows(features.waker(job_name))
            return Workshop(features.store, features.clock, self.objects_of, flows, lambda: features.requests.drawing)

        documents, in_order = features.store.documents, features.runner.is_in_order
        exports, imports, bulk_puts = kept_exports(documents), kept_imports(documents), kept_bulk_puts(documents)
        self.jobs = {
            EXPORT_JOB: TransferJob(workshop(EXPORT_JOB), exports, ExportWork, in_order, end_other_copies),
            IMPORT_JOB: TransferJob(workshop(IMPORT_JOB), imports, ImportWork, in_order, delete_other_tables),
            BULK_JOB: TransferJob(workshop(BULK_JOB), bulk_puts, BulkWork, in_order),
        }

    def objects_of(self) -> ObjectsOf | None:
        """The S3 of the settings, which the first call opens; None if they name none. Raises SettingUnusable."""
        if self.s3 is None and missing_s3(self._settings) is None:
            self.s3 = objects_of_settings(self._settings)
        return self.s3

    async def stop(self) -> None:
        """End the work on all transfers, which goes on after the next start, and the use of the S3."""
        for job in self.jobs.values():
            await job.give_up()
        s3, self.s3 = self.s3, None
        if s3 is not None:
            await s3("").close()


TRANSFERS = Feature(
    "transfers",
    TransfersInProgress,
    prefixes=(EXPORT_PROGRESS_PREFIX, IMPORT_PROGRESS_PREFIX, BULK_PROGRESS_PREFIX),
    code=("hashrange.transfers.export_work", "hashrange.transfers.import_work", "hashrange.transfers.bulk_work"),
    jobs=(
        FeatureJob(EXPORT_JOB, lambda part, _: part.jobs[EXPORT_JOB].run_slice),
        FeatureJob(IMPORT_JOB, lambda part, _: part.jobs[IMPORT_JOB].run_slice),
        FeatureJob(BULK_JOB, lambda part, _: part.jobs[BULK_JOB].run_slice),
    ),
    stop=TransfersInProgress.stop,
)

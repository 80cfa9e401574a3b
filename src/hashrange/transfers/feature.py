"""What are exports and imports to a service? A feature: jobs make those that operations have begun, as long as they
are in progress; other servers load none of it.
"""

from hashrange.features.features import Feature, FeatureJob, Features
from hashrange.operations.transfers.bulk_records import BULK_JOB, BULK_PROGRESS_PREFIX
from hashrange.operations.transfers.export_records import EXPORT_JOB, EXPORT_PROGRESS_PREFIX
from hashrange.operations.transfers.import_records import IMPORT_JOB, IMPORT_PROGRESS_PREFIX
from hashrange.s3.objects import ObjectsOf
from hashrange.transfers.flows import Flows
from hashrange.transfers.workshop import TransferJob, Workshop


class TransfersInProgress:
    """The transfers of one service."""

    def __init__(self, features: Features) -> None:
        # Imported here: most servers export and import nothing, and start time counts.
        from hashrange.transfers.bulk_job import BulkPutsInProgress  # noqa: PLC0415 - see above
        from hashrange.transfers.exports_job import ExportsInProgress  # noqa: PLC0415 - see above
        from hashrange.transfers.imports_job import ImportsInProgress  # noqa: PLC0415 - see above

        def objects_of() -> ObjectsOf | None:
            return None if features.missing_objects() else features.objects_of

        def workshop(job_name: str) -> Workshop:
            return Workshop(features.store, features.clock, objects_of, Flows(features.waker(job_name)))

        shop = workshop(EXPORT_JOB)
        self.exports = TransferJob(shop, ExportsInProgress(shop))
        shop = workshop(IMPORT_JOB)
        self.imports = TransferJob(shop, ImportsInProgress(shop))
        shop = workshop(BULK_JOB)
        self.bulk_puts = TransferJob(shop, BulkPutsInProgress(shop))

    async def stop(self) -> None:
        """End the work on all transfers, which goes on after the next start."""
        await self.exports.give_up()
        await self.imports.give_up()
        await self.bulk_puts.give_up()


TRANSFERS = Feature(
    "transfers",
    TransfersInProgress,
    prefixes=(EXPORT_PROGRESS_PREFIX, IMPORT_PROGRESS_PREFIX, BULK_PROGRESS_PREFIX),
    code=("hashrange.transfers.exports_job", "hashrange.transfers.imports_job", "hashrange.transfers.bulk_job"),
    jobs=(
        FeatureJob(EXPORT_JOB, lambda part, _: part.exports.run_slice),
        FeatureJob(IMPORT_JOB, lambda part, _: part.imports.run_slice),
        FeatureJob(BULK_JOB, lambda part, _: part.bulk_puts.run_slice),
    ),
    stop=TransfersInProgress.stop,
)

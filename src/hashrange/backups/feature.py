"""What are backups and restores to a service, beside their operations? A feature with one job, which moves rows into
backups and restored tables, deletes expired backups, and settles what a kill has left half done.
"""

from typing import TYPE_CHECKING

from hashrange.features.features import Feature, FeatureJob, Features
from hashrange.operations.backups.kept_backups import BACKUP_PREFIX, COPY_JOB, RESTORE_PREFIX

if TYPE_CHECKING:
    from hashrange.backups.copying import RowCopying


def _make(features: Features) -> "RowCopying":
    # Imported here: most servers have no backups, and start time counts.
    from hashrange.backups.copying import RowCopying  # noqa: PLC0415

    return RowCopying(features.store, features.clock, features.requests.scope_of)


BACKUPS = Feature(
    "backups",
    _make,
    prefixes=(BACKUP_PREFIX, RESTORE_PREFIX),
    code=("hashrange.backups.copying", "hashrange.backups.settling"),
    jobs=(FeatureJob(COPY_JOB, lambda part, _: part.run_slice),),
)

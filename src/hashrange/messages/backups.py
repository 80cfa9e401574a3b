"""What do backups, restores and point-in-time recovery say? In the log, and to clients in the service's words.

Source: service behaviour, captures of October 2026, unless a comment says "our own".
"""

TABLE_NOT_FOUND_BY_BACKUPS = "Table not found: {name}"
BACKUPS_UNAVAILABLE = "Backups are being enabled for the table: {name}. Please retry later"
PERIOD_WITHOUT_RECOVERY = "Invalid Request: Cannot specify RecoveryPeriodInDays when disabling point-in-time recovery."

# --- backups ---

BACKUP_NOT_FOUND = "Backup not found: {arn}"
INVALID_BACKUP_ARN = "Invalid Backup ARN"
BACKUP_DENIED = "Access is denied"
# Our own wording: the service makes backups so quickly that nobody has met one that is being made.
BACKUP_BEING_CREATED = "Backup is being created: {arn}"
BACKUP_BEING_RESTORED = "Backup is being used to restore another table: {arn}"
BACKUP_NOT_DELETABLE = "Backup is being used to restore table: {arn}"
# The form of the date at the end is our own.
SYSTEM_BACKUP_NOT_DELETABLE = (
    "Invalid Request: User is not allowed to delete the system backup with arn {arn}. It will automatically expire on"
    " {date}"
)
TIME_RANGE_REVERSED = (
    "One or more parameter values were invalid: Time range lower bound must be less than or equal to upper bound"
)

# --- restores ---

TARGET_EXISTS = "Table already exists: {name}"
TARGET_BEING_RESTORED = "Table: {name} is already being restored from backup: {arn}"
TOO_MANY_RESTORES = "Subscriber limit exceeded: Only {limit} restore operations can be done simultaneously"
# Our own wording.
REGION_NEEDS_ENCRYPTION = "SSESpecificationOverride must be specified when a table of another Region is restored"
ONE_RESTORE_TIME = (
    "Invalid Request: Either one of RestoreDateTime or UseLatestRestorableTime must be specified, but not both"
)
ONE_RESTORE_SOURCE = "Must provide exactly one of: sourceTableArn, sourceTableName"
# The end of this sentence is not known.
OWNER_ONLY = "This action is only supported by accounts that match the resource owner"
RECOVERY_OFF = "Point in time recovery is not enabled for table '{name}'"
OUTSIDE_WINDOW = (
    "RestoreDateTime '{time}' must be within EarliestRestorableDateTime '{earliest}' and LatestRestorableDateTime"
    " '{latest}'"
)
OVERRIDE_NEEDS_MODE = "Cannot override {member} unless BillingMode is {mode}"
OVERRIDE_AGAINST_MODE = "Cannot override {member} if BillingMode is overridden to {mode}{index}"
OVERRIDE_MISSING_UNITS = "Must override ProvisionedThroughput if BillingMode is overridden to PROVISIONED"
OVERRIDE_OF_INDEX = " for index {name}"
OVERRIDE_MATCHES_NO_INDEX = (
    "Index {name} does not match a secondary index that existed in the source table and cannot be created during the"
    " restore operation"
)
OVERRIDE_INDEX_UNITS = "Must specify provisioned throughput for index {name}"

# --- the log ---

LOG_WINDOW_SHORTENED = (
    "The changes that are kept for point-in-time recovery have reached their limit (--recovery-max-mb): the table %s"
    " can now be restored to times from %.3f (seconds since 1970) on."
)
LOG_RESTORE_ENDED = (
    "The restore of table %s in account %s, Region %s, which was interrupted before its begin, has ended: what it was"
    " restored from no longer exists. Restore it anew."
)
LOG_RECORD_DAMAGED = "What is kept of a backup or restore cannot be read, so it is left as it is: %s"

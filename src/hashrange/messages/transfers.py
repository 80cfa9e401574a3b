"""What do exports and imports say? To clients in the service's words, and in the log.

Source: backups-observed.md 4 and 5; what is not told there is our own (unconfirmed).
"""

# --- refused exports --------------------------------------------------------------------------------

EXPORT_TIME_INVALID = "Export Time is invalid"
EXPORT_TIME_TOO_LATE = "Point in Time Recovery is not available for specified export time"
SPECIFICATION_NOT_INCREMENTAL = (
    "Invalid Request: Export Type expected to be Incremental Export when incremental export specification is provided"
)
# Our own (unconfirmed), as are the two below.
SPECIFICATION_MISSING = (
    "Invalid Request: Incremental export specification expected to be provided when Export Type is Incremental Export"
)
EXPORT_TIME_WITH_INCREMENTAL = (
    "Invalid Request: Export Time not expected to be provided when Export Type is Incremental Export"
)
FROM_TIME_MISSING = "Invalid Request: Export from time expected to be provided in incremental export specification"
FROM_TIME_TOO_EARLY = "Incremental export period from time cannot be less than the table creation time : {date}"
TO_TIME_TOO_LATE = "Incremental export period to time cannot be greater than the current time : {date}"
WINDOW_TOO_SHORT = "Difference between export period from time and export period to time is less than 15 minutes"
# Our own (unconfirmed).
WINDOW_TOO_LONG = "Difference between export period from time and export period to time is greater than 24 hours"
FILTER_EMPTY = "Invalid Request: Invalid FilterSpecification: The specification can not be empty"
KMS_KEY_WITHOUT_KMS = "Invalid Request: KMS Key Id is not supported for this encryption type"
EXPORT_CONFLICT = "Export conflict: Duplicate request detected with conflicting parameters"
EXPORT_NOT_FOUND = "Export not found: Export not found: {arn}"
TOO_MANY_EXPORTS = "Subscriber limit exceeded: there is a limit of {limit} concurrent exports"

# --- failures of exports ----------------------------------------------------------------------------

TABLE_DELETED = "The table was deleted before its rows were read"
LOG_EXPORT_FAILED = "The export %s has failed: %s: %s"

# --- refused imports --------------------------------------------------------------------------------

OPTIONS_NOT_OF_FORMAT = "Invalid Request: Unsupported InputFormatOptions for the given input format: {format}."
IMPORT_NOT_FOUND = "Import not found: {arn}"  # our own (unconfirmed), as are the two below
IMPORT_CONFLICT = "Import conflict: Duplicate request detected with conflicting parameters"
TOO_MANY_IMPORTS = "Subscriber limit exceeded: there is a limit of {limit} concurrent imports"
EXTRA_MISSING = (
    "Hashrange reads {what} with the extra {extra}, which is not installed. Install it with {how}, and start the server"
    " again."
)

NOT_AN_ITEM = "it is no item: a value has no type, or content of another type"
TOO_MANY_MEMBERS = "it has more members of maps and lists than any item"

# --- bulk puts (our own, unconfirmed) ---------------------------------------------------------------

OUTPUT_MEMBER_MISSING = "Invalid Request: {member} expected to be provided in the output configuration"
TOO_MANY_BULK_PUTS = "Subscriber limit exceeded: there is a limit of {limit} concurrent bulk operations"
BULK_PUT_BESIDE_INDEX = "Attempt to start a bulk operation while an index is being created: Table: {name}"
BULK_PUT_CONFLICT = "The client token has been used for a bulk operation with other parameters"
BULK_PUT_NOT_FOUND = "Requested resource not found: Bulk operation: {arn} not found"
BULK_PUT_CANCELLED = "The bulk operation was cancelled"
BULK_TABLE_GONE = "The table of the bulk operation no longer serves items"
LOG_BULK_PUT_FAILED = "The bulk put %s has failed: %s: %s"
LOG_RECORD_REFUSED = "The bulk put %s: object %s, line %d: %s"

# --- failures of imports ----------------------------------------------------------------------------

ITEMS_REFUSED = (
    "Some of the items failed validation checks and were not imported. Please check CloudWatch error logs for more"
    " details."
)
IMPORTED_NAME_TAKEN = "Table already exists: {name}"  # our own (unconfirmed), as is the next
TOO_MANY_OBJECTS = "The prefix has more than {limit} objects"
OBJECT_TOO_LARGE = "The object {key} has more than {limit} bytes"
LOG_IMPORT_FAILED = "The import %s has failed: %s: %s"
LOG_ITEM_REFUSED = "The import %s: object %s, line %d: %s"
LOG_MORE_REFUSED = "The import %s: further lines that are refused are counted, and not logged."

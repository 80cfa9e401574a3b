"""Which error messages concern reading and writing items? The service's own.

Source: service behaviour, captures to Oct 2026; fields in braces are filled in where the error is raised.
"""

TABLE_NOT_FOUND = "Requested resource not found"
CONDITION_FAILED = "The conditional request failed"
RETURN_VALUES_OLD_ONLY = "ReturnValues can only be ALL_OLD or NONE"
ITEM_TOO_LARGE = "Item size has exceeded the maximum allowed size"
UPDATED_ITEM_TOO_LARGE = "Item size to update has exceeded the maximum allowed size"
COLLECTION_TOO_LARGE = "Collection size exceeded."

INVALID_PARAMETERS = "One or more parameter values were invalid: "
DUPLICATE_ATTRIBUTE = INVALID_PARAMETERS + "Duplicate value in attribute name: {name}"
_KEYS_ARE_SCALARS = "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: "
KEY_MUST_BE_SCALAR = _KEYS_ARE_SCALARS + "Key: {name}"
INDEX_KEY_MUST_BE_SCALAR = _KEYS_ARE_SCALARS + "IndexKey: {name}"
CANNOT_UPDATE_KEY = INVALID_PARAMETERS + "Cannot update attribute {name}. This attribute is part of the key"

# --- Query and Scan -----------------------------------------------------------------------------

QUERY_OF_VECTOR_INDEX = "Query operation not supported on this index type."
SCAN_OF_VECTOR_INDEX = "Scan operation not supported on this index type"
INDEX_NOT_FOUND = "The table does not have the specified index: {name}"
GSI_CONSISTENT_READ = "Consistent reads are not supported on global secondary indexes"

NO_KEY_CONDITION = "Either the KeyConditions or KeyConditionExpression parameter must be specified in the request."
TOO_MANY_KEY_CONDITIONS = (
    "The number of query conditions ({count}) exceeds the number of key attributes defined in the schema ({maximum})"
)
LEGACY_KEY_CONDITION_COUNT = "Conditions can be of length 1 or 2 only"
MISSED_KEY_ELEMENT = "Query condition missed key schema element: {name}"
KEY_CONDITION_NOT_SUPPORTED = "Query key condition not supported"
SORT_KEYS_LEFT_TO_RIGHT = (
    "RANGE key attributes {names} must have equality conditions specified in the query because a condition is present"
    " on key attribute {later}"
)
KEY_CONDITION_TYPE = INVALID_PARAMETERS + "Condition parameter type does not match schema type"
FILTER_ON_KEY = "Filter Expression can only contain non-primary key attributes: Primary key attribute: {name}"
QUERY_FILTER_ON_KEY = "QueryFilter can only contain non-primary key attributes: Primary key attribute: {name}"

START_KEY_INVALID = "The provided starting key is invalid"
START_KEY_VALUE = "The provided starting key is invalid: {message}"
START_KEY_OUTSIDE = "The provided starting key is outside query boundaries based on provided conditions"
START_KEY_PREDICATE = "The provided starting key does not match the range key predicate"
START_KEY_SINGLE_ROW = "The query can return at most one row and cannot be restarted"
START_KEY_SEGMENT = (
    "The provided starting key is invalid: Invalid ExclusiveStartKey. Please use ExclusiveStartKey with correct"
    " Segment. TotalSegments: {total} Segment: {segment}"
)

TOTAL_SEGMENTS_MISSING = (
    "The TotalSegments parameter is required but was not present in the request when Segment parameter is present"
)
SEGMENT_MISSING = (
    "The Segment parameter is required but was not present in the request when parameter TotalSegments is present"
)
SEGMENT_NOT_BELOW_TOTAL = "The Segment parameter is zero-based and must be less than parameter TotalSegments"

SELECT_WITH_PROJECTION = "Cannot specify the {parameter} when choosing to get {chosen}"
SELECT_CHOICES = {
    "ALL_ATTRIBUTES": "ALL_ATTRIBUTES",
    "ALL_PROJECTED_ATTRIBUTES": "ALL_PROJECTED_ATTRIBUTES",
    "COUNT": "only the Count",
}
"""Value of Select → `chosen` in SELECT_WITH_PROJECTION."""
SELECT_SPECIFIC = "Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES"
ALL_ATTRIBUTES_NOT_PROJECTED = (
    INVALID_PARAMETERS + "Select type ALL_ATTRIBUTES is not supported for global secondary index {index} because its"
    " projection type is not ALL"
)
NOT_PROJECTED = INVALID_PARAMETERS + "Global secondary index {index} does not project [{names}]"
INDEX_BACKFILLING = "Cannot read from backfilling global secondary index: {index}"
"""For a read of any index with status CREATING; unconfirmed."""
SELECT_PROJECTED = "ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName"

# --- batches ------------------------------------------------------------------------------------

BATCH_DUPLICATE_KEYS = "Provided list of item keys contains duplicates"
BATCH_TOO_MANY = "Too many items requested for the {operation} call"
"""For more items than a batch may have, summed over several tables; unconfirmed for BatchWriteItem.

If one table alone has too many, a violated member constraint is reported instead.
"""

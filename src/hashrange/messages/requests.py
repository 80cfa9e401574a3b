"""Which error messages concern the form of a request? JSON types and member constraints.

Only the texts: `hashrange.wire` decides the order of checks. Source: service behaviour, captures to October 2026,
typos included.
"""

# --- JSON types (SerializationException) ----------------------------------------------------------

NOT_CONVERTIBLE = "{token} cannot be converted to {type}"
"""`token` names the kind of JSON value: TRUE_VALUE, FALSE_VALUE, NUMBER_VALUE, DECIMAL_VALUE, STRING_VALUE."""
UNEXPECTED_TOKEN = "Unexpected token received from parser"  # noqa: S105 - a token of the JSON parser
"""For a string other than a truth value, where a Boolean is declared."""
UNEXPECTED_STRUCTURE = "Start of structure or map found where not expected"
UNEXPECTED_FIELD_TYPE = "Unexpected field type"
"""For a scalar where a list, map or structure is declared as a structure's member."""
UNEXPECTED_VALUE_TYPE = "Unexpected value type in payload"
"""For a scalar where a structure is declared as a list's or map's member; for a null in a list of scalars or
structures."""
UNRECOGNIZED_COLLECTION_OF_CLASS = "Unrecognized collection type class {java_type}"
UNRECOGNIZED_COLLECTION = "Unrecognized collection type {java_type}"
"""For a list where a map is declared; `java_type` is the map's generic type (JAVA_MAP)."""
GENERIC_MEMBER = (
    "class sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl cannot be cast to class java.lang.Class "
    "(sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl and java.lang.Class are in module java.base "
    "of loader 'bootstrap')"
)
"""For a scalar or null in a list, or a scalar in a map, whose members are declared as lists or maps: `"Keys": [5]`."""

JAVA_SCALAR = "java.lang.{type}"
JAVA_BLOB = "java.nio.ByteBuffer"
JAVA_STRUCTURE = "com.amazonaws.dynamodb.v20120810.{type}"
JAVA_MAP = "java.util.Map<java.lang.String, {value}>"
JAVA_LIST = "java.util.List<{member}>"

BLOB_NOT_TEXT = "only base-64-encoded strings are convertible to bytes"
BLOB_LENGTH = "Base64 encoded length is expected a multiple of 4 bytes but found: {length}"
BLOB_CHARACTERS = "Invalid last non-pad Base64 character dectected"

# --- required names, outside the collected constraints --------------------------------------------

TABLE_NAME_REQUIRED = "The parameter 'TableName' is required but was not present in the request"
INDEX_NAME_LENGTH = "IndexName must be at least 3 characters long and at most 255 characters long"
TABLE_NAME_LENGTH = "TableName must be at least 3 characters long and at most 255 characters long"
TABLE_ARN_REQUIRED = "Invalid TableArn"
"""For an operation on tags whose request lacks ResourceArn."""

# --- collected member constraints -----------------------------------------------------------------

ONE_ERROR = "1 validation error detected: {errors}"
SEVERAL_ERRORS = "{count} validation errors detected: {errors}"
ERROR_SEPARATOR = "; "

VIOLATION = "Value {value} at '{path}' failed to satisfy constraint: {constraint}"

NOT_NULL = "Member must not be null"
LENGTH_AT_LEAST = "Member must have length greater than or equal to {bound}"
LENGTH_AT_MOST = "Member must have length less than or equal to {bound}"
VALUE_AT_LEAST = "Member must have value greater than or equal to {bound}"
VALUE_AT_MOST = "Member must have value less than or equal to {bound}"
PATTERN = "Member must satisfy regular expression pattern: {bound}"
ENUM = "Member must satisfy enum value set: [{bound}]"
MAP_KEYS = "Map keys must satisfy constraint: [{bound}]"
MAP_VALUES = "Map value must satisfy constraint: [{bound}]"

# --- newer wording of single constraints (2026), from the service ---------------------------------

TABLE_NAME_EMPTY = (
    "Value at 'TableName' failed to satisfy constraint: Member must have length greater than or equal to 1"
)
_MEMBER_VALUE = "Value at '{member}' failed to satisfy constraint: Member must have value "
LIMIT_TOO_SMALL = _MEMBER_VALUE.format(member="Limit") + "greater than or equal to 1"
SEGMENT_TOO_SMALL = _MEMBER_VALUE.format(member="Segment") + "greater than or equal to 0"
SEGMENT_TOO_LARGE = _MEMBER_VALUE.format(member="Segment") + "less than or equal to 999999"
TOTAL_SEGMENTS_TOO_SMALL = _MEMBER_VALUE.format(member="TotalSegments") + "greater than or equal to 1"
TOTAL_SEGMENTS_TOO_LARGE = _MEMBER_VALUE.format(member="TotalSegments") + "less than or equal to 1000000"
SELECT_UNKNOWN = (
    "Value '{value}' at 'select' failed to satisfy constraint: Member must satisfy enum value set:"
    " [SPECIFIC_ATTRIBUTES, COUNT, ALL_ATTRIBUTES, ALL_PROJECTED_ATTRIBUTES]"
)
ACTION_UNKNOWN = "Member must satisfy enum value set: [ADD, DELETE, PUT]' for Action"
"""For an unknown Action in AttributeUpdates; the single quote has no partner."""
RETURN_VALUES_UNKNOWN = (
    "Failed to satisfy constraint: Member must satisfy enum value set: "
    "[ALL_OLD, UPDATED_OLD, ALL_NEW, UPDATE_NEW, NONE]"
)
CONDITIONAL_OPERATOR_UNKNOWN = "Failed to satisfy constraint: Member must satisfy enum value set: [ALL, OR]"
BATCH_GET_EMPTY = (
    "Value at 'RequestItems' failed to satisfy constraint: Member must have length greater than or equal to 1"
)
_BATCH_KEYS = "Value at 'RequestItems.{key}.member.Keys' failed to satisfy constraint: Member must have length "
BATCH_GET_NO_KEYS = _BATCH_KEYS + "greater than or equal to 1"
BATCH_GET_MANY_KEYS = _BATCH_KEYS + "less than or equal to 100"
BATCH_WRITE_EMPTY = "The requestItems parameter is required for BatchWriteItem"

_TRANSACT_ITEMS = "Value at 'TransactItems' failed to satisfy constraint: Member must have length "
TRANSACTION_EMPTY = _TRANSACT_ITEMS + "greater than or equal to 1"
TRANSACTION_TOO_LONG = _TRANSACT_ITEMS + "less than or equal to 100"
# S105: no secret
_TOKEN = "Value at 'ClientRequestToken' failed to satisfy constraint: Member must have length "  # noqa: S105
TOKEN_EMPTY = _TOKEN + "greater than or equal to 1"
TOKEN_TOO_LONG = _TOKEN + "less than or equal to 36"

# --- our own wording ----------------------------------------------------------------------------

TOO_MANY_MEMBERS = "The request holds more than {maximum} members of maps and lists"

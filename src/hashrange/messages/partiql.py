"""Which error messages concern PartiQL statements? The service's, except for one of our own; each is defined once.

Source: service behaviour, captures to 23 October 2026; fields in braces are filled in where the error is raised.
`{place}` is `line:column:length` of a part of the statement. `(unconfirmed)` marks wording that no capture covers.
"""

# --- statements that cannot be parsed -----------------------------------------------------------

NOT_WELL_FORMED = "Statement wasn't well formed, can't be processed: {detail}"
EXPECTED_STATEMENT = "Expected data manipulation"
TRAILING_TEXT = "Unexpected token after expression"
UNEXPECTED_TERM = "Unexpected term"
UNEXPECTED_KEYWORD = "Unexpected keyword"
UNEXPECTED_OPERATOR = "Unexpected operator"
MISSING_RIGHT_SIDE = "Missing right-hand side expression of infix operator"
EXPECTED_TYPE_NAME = "Expected type name"
EXPECTED_AFTER_AND = "Expected expression after AND"
SECOND_STATEMENT = "Unexpected token after semicolon. (Only one query is allowed.)"
EXPECTED_IDENTIFIER = "Expected identifier for simple path"
INVALID_DOT_COMPONENT = "Invalid path dot component"
UNREADABLE = ""
"""The `detail` of NOT_WELL_FORMED for a character that begins no token, an unclosed comment or quote, an exponent
beyond 32 bits."""

# (unconfirmed) From EXPECTED_MARK to EXPECTED_ROW: no capture shows these;
# they are worded as PartiQL's reference grammar does.
EXPECTED_MARK = "Expected {mark}"
EXPECTED_KEYWORD = "Expected {word} keyword"
EXPECTED_FROM = "Expected FROM after {clause}"
EXPECTED_EQUALS = "Expected '='"
EXPECTED_ALIAS = "Expected identifier for {word}-alias"
EXPECTED_RETURNING = "Expected ( MODIFIED | ALL ) ( NEW | OLD ) in each returning element."
EXPECTED_ROW = "Expected LEFT_PAREN for row value constructor"

# --- statements that can be parsed, but that the service does not support -------------------------

ALIAS = "Aliasing is not supported"
UNSUPPORTED_OPERATION = "Unsupported operation: {operation}"
"""Captured for the parts of an expression that is no statement; the names of other operations are unconfirmed.

`Plus` and `Minus` are also reported for a second operator in a SET value.
"""
UNSUPPORTED_OPERATOR = "Unsupported operator in Condition Expression. Operator: {operator}"
NO_BOOLEAN = "WHERE clause must contain an expression that resolves to a boolean"
MISSING_COMPARED = "MISSING must be compared using IS operator"
IS_LEFT = "The left hand side argument to IS must be a Variable Reference, Literal, or Path"
IS_TYPE = (
    "Unsupported data type for IS operator: {type_name}. Supported data types are"
    " [MISSING, NULL, BOOLEAN, BLOB, STRING, NUMERIC, STRUCT, TUPLE, LIST] at {place}"
)
MEMBERS_COUNT = "The IN operator is provided with too many operands; number of operands: {count}"
UNSUPPORTED_CLAUSE = "Unsupported clause: {clause} at {place}"  # wording (unconfirmed)
UNEXPECTED_PATH_COMPONENT = "Unexpected path component at {place}"
UNRECOGNIZED_FUNCTION = "Unrecognized function: {function} at {place}"
UNSUPPORTED_DATA = "Unsupported data type: {data} under key {key} at {place}"
EMPTY_BAG = "Empty bags are not supported"
MIXED_BAG = "Bags with members of different types are not supported"  # wording (unconfirmed)
BAG_MEMBER = "Unsupported data type in a bag: {data}"  # wording (unconfirmed)
UNDER_KEY = "{message} under {key}"
"""`message`: the fault of a number, or too deep nesting, in a literal. `key`: path of the number in the literal, such
as `root`, `root.x`, `root[1]`; for nesting always `root`."""
SOURCE_TOO_LONG = "A path may contain at most 2 components in the FROM clause"
INSERT_INTO_INDEX = "FROM clause may only contain a single table name"
PATH_COMPONENT_EMPTY = "Path component cannot be an empty string"
PARAMETER_COUNT = "Number of parameters in request and statement don't match."
EXISTS_ALONE = "EXISTS can only be used in ExecuteTransaction write requests."

# --- updates ------------------------------------------------------------------------------------

SET_FUNCTION_FIRST = "The first argument to {function} must equal the assignment value at {place}"
SET_FUNCTION_SECOND = "The second argument to {function} must be a value with type SET at {place}"
SET_FUNCTION_COUNT = "{function} must have exactly two arguments at {place}"
DELETE_RETURNING = (
    "Invalid returning clause: RETURNING {returning}. Only RETURNING ALL OLD * is allowed in DELETE statements."
)

# --- statements and their tables ------------------------------------------------------------------

DUPLICATE_ITEM = "Duplicate primary key exists in table"
KEY_NOT_FIXED = "Where clause does not contain a mandatory equality on all key attributes"
KEY_FIXED_TWICE = "Multiple conditions on same key {name}. Only single item Update/Insert/Delete are supported"
KEY_TYPE_UNKNOWN = "Key value must be of type S, N, or B. Key name: {name}, Key type: {type_name}"
KEY_TYPE_OTHER = "Key attribute's data type should match its data type in table's schema: Key {name}"
RANGE_OVERLAP = "Overlapping conditions with range keys are not supported in where clause"
INDEX_NOT_FOUND = "The table does not have the specified index"
GSI_CONSISTENT_READ = "Strongly consistent read is not supported on Global Secondary Indexes"
WRITE_ON_INDEX = "This operation is not supported on an index"
FILTER_NOT_PROJECTED = (
    "One or more parameter values were invalid: Secondary index {index} does not project one or more filter"
    " attributes: [{names}]"
)
MULTI_ATTRIBUTE_KEYS = (
    "PartiQL statements cannot be executed on tables with multi-attribute HASH keys or multi-attribute RANGE keys."
)
ORDER_WITHOUT_WHERE = "Must have WHERE clause in the statement when using ORDER BY clause."
ORDER_WITHOUT_HASH = (
    "Must have at least one non-optional hash key condition in WHERE clause when using ORDER BY clause."
)
ORDER_NOT_KEY = "Attribute {name} in ORDER BY clause must be part of the primary key"
ORDER_HASH_NEEDED = (
    "Must have hash key in ORDER BY clause when more than one hash key condition specified in WHERE clause."
)

TOKEN_FOR_WRITE = "NextToken is only valid on a SELECT statement"  # noqa: S105 - no secret
TOKEN_MISMATCH = "NextToken does not match request"  # noqa: S105 - no secret

# --- batches and transactions -----------------------------------------------------------------------

BATCH_MIXED = "Read and write requests together in the same batch is not supported."
BATCH_REPLY_FULL = "The reply already holds as many items as it may. Send this statement again."
"""Our own wording, for our own limit: 32 MB of JSON in one reply (REPLY_JSON_MAX_BYTES)."""
BATCH_KEY_NOT_FIXED = "Select statements within BatchExecuteStatement must specify the primary key in the where clause."
TRANSACTION_MIXED = "ExecuteTransaction API does not support both read and write operations in the same request."
TRANSACTION_STATEMENT = "Validation failed in TransactStatements[{position}]: {message}"
TRANSACTION_RETURNING = "RETURNING clause is not supported in ExecuteTransaction."
TRANSACTION_INDEX = "Reads on indices are not supported within transactions."
TRANSACTION_KEY_NOT_FIXED = (
    "Select statements within ExecuteTransaction must specify the primary key in the where clause."
)
EXISTS_WITHOUT_CONDITION = "EXISTS() must contain a single item read with additional condition"

"""Which messages concern searches of vector indexes? Those of SearchVectors, which has a decoder and checks of its own.

Source: service behaviour, captures of 11 August to 23 October 2026 (vectors.md 8 and 9). `(unconfirmed)` marks wording
that no capture covers.
"""

# --- the strict decoder: after each, AT -------------------------------------------------------------

AT = "{fault} at line {line} column {column}"
INVALID_TYPE = "invalid type: {found}, expected {expected}"
"""Code SerializationException."""
INVALID_VALUE = "invalid value: {found}, expected {expected}"
MISSING_MEMBER = "missing field `{name}`"
UNKNOWN_TYPE = "unknown variant `{name}`, expected one of {names}"
"""For a name that no type of an attribute value has."""

EXPECTED_TEXT = "a string"
EXPECTED_INTEGER = "i32"
EXPECTED_BOOLEAN = "a boolean"
EXPECTED_LIST = "a sequence"
EXPECTED_MAP = "a map"
EXPECTED_BASE64 = "a Base64-encoded string"
EXPECTED_VARIANT = "newtype variant"
FOUND_NULL = "null"
FOUND_BOOLEAN = "boolean `{value}`"
FOUND_INTEGER = "integer `{value}`"
FOUND_FLOAT = "floating point `{value}`"
FOUND_TEXT = 'string "{value}"'
FOUND_LIST = "sequence"
FOUND_MAP = "map"
FOUND_NAME = "unit variant"
"""For a text in the place of an attribute value, if it is the name of a type."""

# --- members ----------------------------------------------------------------------------------------

VIOLATION_WITHOUT_VALUE = "Value at '{member}' failed to satisfy constraint: {constraint}"
TOP_K_RANGE = "Provided TopK value '{value}' is out of valid range. The value must be between 1 and {most} inclusive"
VECTOR_VALUES = (
    "Search vector contains invalid values."
    " All values in the search vector must be a 32-bit floating-point number attribute"
)
INTERNAL_TYPE = "This type mapping is not supported"

# --- SearchConditionExpression ----------------------------------------------------------------------

COMPARATOR_INVALID = "Invalid comparator used in SearchConditionExpression"
"""After `Invalid SearchConditionExpression: `, as the next three."""
OPERATOR_INVALID = "Invalid operator used in SearchConditionExpression"
NESTED_ATTRIBUTE = "SearchConditionExpression cannot have conditions on nested attributes"
ATTRIBUTE_REPEATED = "SearchConditionExpression must only contain one condition per attribute"
NOT_IN_SCHEMA = (
    "SearchConditionExpression must not contain any attributes that is not in SearchSchema. Invalid attribute: {name}"
)
HASH_REQUIRED = "SearchConditionExpression must be provided when SearchSchema has a HASH key"
VALUE_TYPE = (
    "Type of '{name}' attribute in SearchConditionExpression ({given})"
    " does not match type in search schema ({declared})"
)
HASH_EMPTY = (
    "One or more parameter values are not valid."
    " The AttributeValue for a key attribute cannot contain an empty {kind} value. Key: {name}"
)

# --- the index --------------------------------------------------------------------------------------

INDEX_BACKFILLING = "Cannot search backfilling vector index: {name}"
DIMENSIONS_DIFFER = "Input search vector dimension {given} does not match vector index dimension {declared}"
RESULT_TOO_LARGE = "The results of the search exceed the limit of {most} bytes. Use a smaller projection or TopK"
"""Our own wording: no capture covers a search with more than 16 MB of results."""

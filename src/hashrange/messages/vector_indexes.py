"""Which error messages concern vector indexes and the vectors of items? Each is defined once, with `str.format` fields.

Source: service behaviour, captures from August to October 2026, unless a comment says otherwise. Operations on tables
take the messages that vector indexes share with secondary indexes from `tables.py`.
"""

from hashrange.messages.tables import IN_USE

_INVALID = "One or more parameter values were invalid: "
_INVALID_SENTENCE = "One or more parameter values were invalid. "
_LIMIT_EXCEEDED = "Subscriber limit exceeded: "

# --- definitions ----------------------------------------------------------------------------------

ONLY_ON_DEMAND = _INVALID + "Vector indexes are only supported for PAY_PER_REQUEST tables"
SWITCH_WITH_VECTOR_INDEXES = _INVALID + "Tables with vector indexes must be in PAY_PER_REQUEST mode"
DIMENSIONS_RANGE = _INVALID + "Number of dimensions must be between 1 and {limit} inclusive."
SEARCH_ATTRIBUTE_NOT_DEFINED = _INVALID + "One element in SearchSchema is not defined in attribute definitions"
# The wording for INLINE_FILTER is by analogy with that for HASH.
TOO_MANY_SEARCH_ELEMENTS = (
    _INVALID
    + "Value '{count}' at 'SearchSchema' failed to satisfy constraint: "
    + "Member must have {kind} count less than or equal to {limit}"
)
SEARCH_ATTRIBUTE_TWICE = _INVALID + "SearchSchema contains a duplicate AttributeName"
# Of NON_KEY_ATTRIBUTE_TWICE, "Duplicate" is known, of TOO_MANY_PROJECTED_BY_VECTORS "projected attributes".
NON_KEY_ATTRIBUTE_TWICE = _INVALID + "Duplicate attribute name in NonKeyAttributes: {name}"
TOO_MANY_PROJECTED_BY_VECTORS = (
    _INVALID + "Number of projected attributes of vector index {index} exceeds the limit of {limit}"
)
TOO_MANY_VECTOR_INDEXES = _INVALID + "VectorIndex count exceeds the per-table limit of {limit}"
TOO_MANY_ADDED_VECTOR_INDEXES = (
    _LIMIT_EXCEEDED + "Number of vector secondary indexes exceeds per-table limit of {limit}"
)
OTHER_DIMENSIONS = (
    _INVALID
    + "Conflicting attribute definition for '{name}'. "
    + "All VectorIndexes on the same vector attribute must use the same dimensions."
)
VECTOR_ATTRIBUTE_DEFINED = (
    _INVALID
    + "Conflicting attribute definition for '{name}'. "
    + "An attribute cannot be defined in AttributeDefinitions when used as a VectorAttribute."
)

# --- changes --------------------------------------------------------------------------------------

# By analogy with the message for global indexes.
VECTOR_UPDATE_EMPTY = _INVALID + "One of VectorIndexUpdate.Create, VectorIndexUpdate.Delete must not be null"
VECTOR_UPDATE_SEVERAL = _INVALID + "Only one vector index action is allowed per VectorIndexUpdate object"
VECTOR_INDEX_BEING_CREATED = IN_USE + "Index is being created.  Table: {name} Index: {index}"
ATTRIBUTE_REDEFINED = (
    _INVALID
    + "Attributes cannot be redefined. Please check that your attribute has the same type as previously defined. "
    + "Existing schema: {existing} New schema: {new}"
)
SCHEMA = "Schema:[{elements}]"
SCHEMA_ELEMENT = "SchemaElement: key{{{name}:{type}:{kind}}}"
VECTOR_SCHEMA = "VectorIndexSchema:[{elements}]"
VECTOR_ELEMENT = "VectorAttribute: key{{{name}:L:{dimensions}}}"
# By analogy with SCHEMA_ELEMENT.
SEARCH_ELEMENT = "SearchSchemaElement: key{{{name}:{type}:{kind}}}"

# --- vectors and search attributes of items -------------------------------------------------------

NOT_A_VECTOR = (
    _INVALID_SENTENCE
    + "Invalid type for parameter {name}, Expected: 32-bit floating point number list IndexName: {index}"
)
VECTOR_SIZE = (
    _INVALID_SENTENCE + "Invalid size for parameter {name}, Expected: {expected}, Actual: {actual} IndexName: {index}"
)
ELEMENT_TYPE = (
    _INVALID_SENTENCE
    + "Invalid type for parameter {name}[{position}], "
    + "Expected: 32-bit floating point number, Actual: {actual}. IndexName: {index}"
)
# How the value is written is not certain.
ELEMENT_RANGE = (
    _INVALID_SENTENCE
    + "Invalid value for parameter {name}[{position}], "
    + "Value: {value} is outside valid range [-3.4028235E38, 3.4028235E38]. IndexName: {index}"
)
SEARCH_ATTRIBUTE_TYPE = (
    _INVALID_SENTENCE + "Attribute '{name}' type mismatch. Expected: {expected}, Actual: {actual}. IndexName: {index}"
)
# Our own wording: the service's is not captured.
FILTER_TOO_LONG = (
    _INVALID_SENTENCE + "Size of attribute '{name}' has exceeded the maximum size limit of {limit} bytes. "
    "IndexName: {index}"
)

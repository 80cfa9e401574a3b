"""Which error messages concern attribute values? The service's, each defined once.

Source: service behaviour, captures to Oct 2026 (attribute value content, number limits), double blanks included. If the
older layer has another message for a fault, that message has the suffix `_OLDER`. Fields in braces are filled in where
the error is raised; `(unconfirmed)` marks wording that no capture covers.
"""

_INVALID_PARAMETERS = "One or more parameter values were invalid: "

# --- one attribute value ------------------------------------------------------------------------

VALUE_EMPTY = "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"
VALUE_HAS_TWO_TYPES = (
    "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes"
)
NULL_NOT_TRUE = _INVALID_PARAMETERS + "Null attribute value types must have the value of true"
NESTING_TOO_DEEP = (
    "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit"
)
ATTRIBUTE_NAME_EMPTY = "Empty attribute name"
ATTRIBUTE_NAME_TOO_LONG = _INVALID_PARAMETERS + "Attribute name is too large, must be less than 65536 bytes"
"""(unconfirmed): no capture covers this message."""

EXPRESSION_VALUE_OLDER = "ExpressionAttributeValues contains invalid value: {message} for key {token}"
"""The older layer's message for a fault of a value in ExpressionAttributeValues, except one nesting level too many;
`message` words the fault."""

# --- sets ---------------------------------------------------------------------------------------

EMPTY_SET = {
    "SS": _INVALID_PARAMETERS + "An string set  may not be empty",
    "NS": _INVALID_PARAMETERS + "An number set  may not be empty",
    "BS": _INVALID_PARAMETERS + "Binary sets should not be empty",
}
"""Type of the empty set → message."""

STRING_SET_REPEATS = _INVALID_PARAMETERS + "Input collection [{members}] contains duplicates."
"""`members` are quoted and separated by ", "; in the older layer's wording unquoted, in the order of the request."""
BINARY_SET_REPEATS = _INVALID_PARAMETERS + "Input collection [{members}]of type BS contains duplicates."
"""`members` are quoted and separated by ","; in the older layer's wording they are unquoted, separated by ", ", and in
the order of the request."""
NUMBER_SET_REPEATS = _INVALID_PARAMETERS + "Input collection contains duplicates."
NUMBER_SET_REPEATS_OLDER = "Input collection contains duplicates"

# --- numbers ------------------------------------------------------------------------------------

NUMBER_NOT_CONVERTIBLE = "The parameter cannot be converted to a numeric value: {text}"
NUMBER_EMPTY_OLDER = "The parameter cannot be converted to a numeric value"
NUMBER_OVERFLOW = "Number overflow. Attempting to store a number with magnitude larger than supported range"
NUMBER_UNDERFLOW = "Number underflow. Attempting to store a number with magnitude smaller than supported range"
NUMBER_TOO_PRECISE = "Attempting to store more than 38 significant digits in a Number"

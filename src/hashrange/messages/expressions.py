"""Which error messages concern expressions and legacy parameters?
The service's, except for one of our own; each is defined once.

Source: service behaviour, captures to Oct 2026. Fields in braces are filled in where the error is raised.
`(unconfirmed)` marks wording that no capture covers.
"""

INVALID_PARAMETERS = "One or more parameter values were invalid: "

# --- parameters of the request ------------------------------------------------------------------

MIXED_PARAMETERS = (
    "Can not use both expression and non-expression parameters in the same request:"
    " Non-expression parameters: {{{legacy}}} Expression parameters: {{{expressions}}}"
)
NAMES_WITHOUT_EXPRESSION = "ExpressionAttributeNames can only be specified when using expressions"
VALUES_WITHOUT_EXPRESSION = "ExpressionAttributeValues can only be specified when using expressions"
VALUES_WITHOUT_EXPRESSION_OLDER = VALUES_WITHOUT_EXPRESSION + ": {parameters} {verb} null"
EMPTY_MAP = "{parameter} must not be empty"
BAD_KEY = '{parameter} contains invalid key: Syntax error; key: "{key}"'
EMPTY_NAME = "ExpressionAttributeNames contains invalid value: Empty attribute name for key {key}"
"""(unconfirmed): no capture covers this message."""
UNUSED = "Value provided in {parameter} unused in expressions: keys: {{{keys}}}"

# --- static errors of all kinds of expressions, after "Invalid {kind}: " ------------------------

INVALID_EXPRESSION = "Invalid {kind}: {fault}"
EMPTY_EXPRESSION = "The expression can not be empty;"
EXPRESSION_SIZE = "Expression size has exceeded the maximum allowed size; expression size: {size_bytes}"
UPDATE_SIZE_OLDER = "Expression size has exceeded the maximum allowed size;"
SYNTAX_ERROR = 'Syntax error; token: "{token}", near: "{near}"'
REDUNDANT_PARENTHESES = "The expression has redundant parentheses;"
RESERVED_WORD = "Attribute name is a reserved keyword; reserved keyword: {word}"
UNKNOWN_FUNCTION = "Invalid function name; function: {function}"
FUNCTION_MISUSED = "The function is not allowed to be used this way in an expression; function: {function}"
UNDEFINED_NAME = "An expression attribute name used in the document path is not defined; attribute name: {name}"
UNDEFINED_VALUE = "An expression attribute value used in expression is not defined; attribute value: {token}"
OPERAND_COUNT = (
    "Incorrect number of operands for operator or function; operator or function: {operator},"
    " number of operands: {count}"
)
PATH_REQUIRED = "Operator or function requires a document path; operator or function: {operator}"
OPERAND_TYPE = (
    "Incorrect operand type for operator or function; operator or function: {operator}, operand type: {type_name}"
)
UPDATE_OPERAND_TYPE = (
    "Incorrect operand type for operator or function; operator: {operator}, operand type: {type_name},"
    " typeSet: ALLOWED_FOR_ADD_OPERAND"
)
"""For ADD and DELETE, which share the name of the set."""
TYPE_NAME_UNKNOWN = (
    "Invalid attribute type name found; type: {type_name}, valid types: {{B,NULL,SS,BOOL,L,BS,N,NS,S,M}}"
)
ANY_TYPE = "{NS,SS,L,BS,N,M,B,BOOL,NULL,S}"
"""The operand type that OPERAND_TYPE reports if attribute_type's second operand is not a `:token`."""
SAME_OPERAND = (
    "The first operand must be distinct from the remaining operands for this operator or function;"
    " operator: {operator}, first operand: {path}"
)
BETWEEN_TYPES = (
    "The BETWEEN operator requires same data type for lower and upper bounds;"
    " lower bound operand: AttributeValue: {lower}, upper bound operand: AttributeValue: {upper}"
)
BETWEEN_ORDER = (
    "The BETWEEN operator requires upper bound to be greater than or equal to lower bound;"
    " lower bound operand: AttributeValue: {lower}, upper bound operand: AttributeValue: {upper}"
)
PATHS_OVERLAP = (
    "Two document paths overlap with each other; must remove or rewrite one of these paths;"
    " path one: {one}, path two: {two}"
)
PATHS_CONFLICT = (
    "Two document paths conflict with each other; must remove or rewrite one of these paths;"
    " path one: {one}, path two: {two}"
)
REPEATED_CLAUSE = 'The "{clause}" section can only be used once in an update expression;'
TOO_MANY_OPERATORS = "The expression contains too many operators; operator count: {count}"
PATH_TOO_DEEP = "The document path has too many nesting levels; nesting levels: {count}"
INDEX_OUT_OF_RANGE = "List index is not within the allowable range; index: [{index}]"

# --- key conditions -----------------------------------------------------------------------------

KEY_OPERATOR_INVALID = "Invalid operator used in KeyConditionExpression: {operator}"
KEY_NOT_FIRST = (
    "Invalid condition in KeyConditionExpression: {operator} operator must have the key attribute as its first operand"
)
KEY_NESTED_OPERATION = "KeyConditionExpressions cannot contain nested operations"
KEY_TWO_ATTRIBUTES = "Invalid condition in KeyConditionExpression: Multiple attribute names used in one condition"
KEY_NO_ATTRIBUTE = "Invalid condition in KeyConditionExpression: No key attribute specified"
KEY_NESTED_PATH = "KeyConditionExpressions cannot have conditions on nested attributes"
KEY_REPEATED_OLDER = "KeyConditionExpressions must only contain one condition per key"
KEY_REPEATED = "Invalid KeyConditionExpression: " + KEY_REPEATED_OLDER
KEY_NOT_INDEXABLE = "Attempted conditional constraint is not an indexable operation"

# --- errors of an update at run time: always without an envelope --------------------------------

OPERAND_MISSING = "The provided expression refers to an attribute that does not exist in the item"
OPERAND_INCORRECT = "An operand in the update expression has an incorrect data type"
UPDATE_PATH_INVALID = "The document path provided in the update expression is invalid for update"
LEGACY_UPDATE_MISMATCH = "Type mismatch for attribute to update"

# --- legacy parameters --------------------------------------------------------------------------

COMPARISON_OPERATOR_UNKNOWN = INVALID_PARAMETERS + "Invalid comparison operator"
"""In KeyConditions, QueryFilter and ScanFilter; us-east-1 reports the enumeration instead."""
VALUE_NEEDED = INVALID_PARAMETERS + "Value must be provided when Exists is {exists} for Attribute: {name}"
VALUE_FORBIDDEN = INVALID_PARAMETERS + "Value cannot be used when Exists is false for Attribute: {name}"
OPERATOR_ALONE = (
    INVALID_PARAMETERS
    + "Value or AttributeValueList must be used with ComparisonOperator: {operator} for Attribute: {name}"
)
OPERATOR_WITH_EXISTS = (
    INVALID_PARAMETERS + "Exists and ComparisonOperator cannot be used together for Attribute: {name}"
)
LIST_WITHOUT_OPERATOR = (
    INVALID_PARAMETERS + "AttributeValueList can only be used with a ComparisonOperator for Attribute: {name}"
)
VALUE_AND_LIST = INVALID_PARAMETERS + "Value and AttributeValueList cannot be used together for Attribute: {name}"
ARGUMENT_COUNT = INVALID_PARAMETERS + "Invalid number of argument(s) for the {operator} ComparisonOperator"
ARGUMENTS_MIXED = INVALID_PARAMETERS + "AttributeValues inside AttributeValueList must be of same type"
ARGUMENT_TYPE = INVALID_PARAMETERS + "ComparisonOperator {operator} is not valid for {type_name} AttributeValue type"
LEGACY_BETWEEN_ORDER = (
    "The BETWEEN condition was provided a range where the lower bound is greater than the upper bound"
)
CONDITIONAL_OPERATOR_COUNT = "ConditionalOperator can only be used when Filter or Expected has two or more elements"
CONDITIONAL_OPERATOR_ALONE = "ConditionalOperator cannot be used without Filter or Expected"
UPDATE_VALUE_NEEDED = INVALID_PARAMETERS + "Only DELETE action is allowed when no attribute value is specified"
UPDATE_DELETE_TYPE = INVALID_PARAMETERS + "DELETE action with value is not supported for the type {type_name}"
UPDATE_ADD_TYPE = INVALID_PARAMETERS + "ADD action is not supported for the type {type_name}"

TOO_MANY_CONDITIONS = "One or more parameter values were invalid: More than {maximum} conditions"
"""Our own wording, for our own limit LEGACY_CONDITIONS_MAX."""

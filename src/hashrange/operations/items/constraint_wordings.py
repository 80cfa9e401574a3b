"""Which constraints do several item operations word in sentences of their own? Shared parts of `RequestRules.wordings` (`wire.rules`)."""

from hashrange.messages import requests as messages
from hashrange.wire.rules import ConstraintWording, ConstraintWordings

TABLE_NAME: ConstraintWordings = {
    ("tableName", "min_length"): ConstraintWording(messages.TABLE_NAME_EMPTY, is_alone=True)
}
RETURN_VALUES: ConstraintWordings = {("returnValues", "enumeration"): ConstraintWording(messages.RETURN_VALUES_UNKNOWN)}
CONDITIONAL_OPERATOR: ConstraintWordings = {
    ("conditionalOperator", "enumeration"): ConstraintWording(messages.CONDITIONAL_OPERATOR_UNKNOWN, is_bare=True)
}

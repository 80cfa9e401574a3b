"""Which broken constraints do several item operations report in special sentences? These; the operations' `RequestRules.wordings` include them."""

from hashrange.messages import requests as messages
from hashrange.wire.rules import ConstraintWording, ConstraintWordings

TABLE_NAME: ConstraintWordings = {
    ("tableName", "min_length"): ConstraintWording(messages.TABLE_NAME_EMPTY, is_alone=True)
}
RETURN_VALUES: ConstraintWordings = {("returnValues", "enumeration"): ConstraintWording(messages.RETURN_VALUES_UNKNOWN)}
CONDITIONAL_OPERATOR: ConstraintWordings = {
    ("conditionalOperator", "enumeration"): ConstraintWording(messages.CONDITIONAL_OPERATOR_UNKNOWN, is_bare=True)
}

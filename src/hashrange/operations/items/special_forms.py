"""Which constraints do several item operations word in sentences of their own? Shared parts of `RequestRules.forms` (`wire.rules`)."""

from hashrange.messages import requests as messages
from hashrange.wire.rules import Forms, SpecialForm

TABLE_NAME: Forms = {("tableName", "min_length"): SpecialForm(messages.TABLE_NAME_EMPTY, is_alone=True)}
RETURN_VALUES: Forms = {("returnValues", "enumeration"): SpecialForm(messages.RETURN_VALUES_UNKNOWN)}
CONDITIONAL_OPERATOR: Forms = {
    ("conditionalOperator", "enumeration"): SpecialForm(messages.CONDITIONAL_OPERATOR_UNKNOWN, is_bare=True)
}

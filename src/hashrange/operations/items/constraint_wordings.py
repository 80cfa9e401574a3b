"""Which broken constraints do several item operations report in special sentences? These;
the operations' `RequestRules.wordings` include them.
"""

from hashrange.messages import requests as messages
from hashrange.wire.rules import ConstraintWording, ConstraintWordings, ReportStage

TABLE_NAME: ConstraintWordings = {
    ("tableName", "min_length"): ConstraintWording(messages.TABLE_NAME_EMPTY, is_alone=True)
}
TABLE_AND_CAPACITY: ReportStage = (
    ("tableName", "name_min_length"),
    ("tableName", "max_length"),
    ("tableName", "pattern"),
    ("returnConsumedCapacity", "enumeration"),
)
"""Constraints of the table's name and of ReturnConsumedCapacity, except that the name is not empty."""
LIMIT: ConstraintWordings = {("limit", "minimum"): ConstraintWording(messages.LIMIT_TOO_SMALL)}
UNKNOWN_OPERATORS: ConstraintWordings = {
    (f"{member}.{{key}}.member.comparisonOperator", "enumeration"): ConstraintWording(is_later=True)
    for member in ("keyConditions", "queryFilter", "scanFilter")
}
CONDITIONAL_OPERATOR: ConstraintWordings = {
    ("conditionalOperator", "enumeration"): ConstraintWording(messages.CONDITIONAL_OPERATOR_UNKNOWN, is_bare=True)
}

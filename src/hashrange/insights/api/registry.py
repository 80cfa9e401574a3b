"""Which of CloudWatch's operations on insight rules are served? Those that read.
DynamoDB's rules cannot be changed there.
"""

from collections.abc import Sequence

from hashrange.aws_services.operation import FormWire, Operation, bound
from hashrange.insights.api import describe_insight_rules, get_insight_rule_report
from hashrange.insights.insights import Insights


def insight_operations(insights: Insights) -> Sequence[Operation[FormWire]]:
    """The operations on these insights."""
    return bound((describe_insight_rules.OPERATION, get_insight_rule_report.OPERATION), insights)

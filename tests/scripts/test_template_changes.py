"""Changes of tables by cases: the properties of a table before and after → the requests that change it."""

from typing import Any

from hashrange.templates.requests import PresentTable, scaling_bounds, table_requests, why_replaced
from hashrange.templates.wanted import WantedStack, WantedTable
from tests.scripts.cases import case_test
from tests.scripts.template_cases import request_line, wanted_in

KEY = """\
AttributeDefinitions: [{AttributeName: pk, AttributeType: S}, {AttributeName: a, AttributeType: S}]
KeySchema: [{AttributeName: pk, KeyType: HASH}]"""

DESCRIBED_OTHERWISE = {"BillingMode", "SSESpecification", "TableClass"}


def evaluate(text: str) -> str:
    """What changes the table before `=>` to the one behind it, and then that nothing changes it again."""
    before, _, after = text.partition("\n=>\n")
    first, second = stack(before), stack(after)
    present = present_table(first.tables[0])
    [wanted] = second.tables
    reason = why_replaced(wanted, present.description)
    if reason is not None:
        return f"not touched: {reason}"
    requests = table_requests(wanted, present, "shop", scaling_bounds(second.companions))
    assert not table_requests(wanted, present_table(wanted), "shop", scaling_bounds(second.companions))
    return "\n".join(f"{one.told}\n  {request_line(one)}" for one in requests) or "nothing"


def stack(text: str) -> WantedStack:
    """A stack with one table, and with what stands behind a line `resources` besides."""
    properties, _, others = text.partition("\nresources\n")
    lines = properties.split("\n")
    if "AttributeDefinitions" not in properties:
        lines += KEY.split("\n")
    body = "\n".join(f"      {line}" for line in [*lines, "TableName: T"] if line)
    rest = "\n".join(f"  {line}" for line in others.split("\n"))
    return wanted_in(f"Resources:\n  T:\n    Type: AWS::DynamoDB::Table\n    Properties:\n{body}\n{rest}")


def present_table(table: WantedTable) -> PresentTable:
    """How the service describes a table that has been created."""
    creation = table.creation
    description: dict[str, Any] = {
        **{name: one for name, one in creation.items() if name not in DESCRIBED_OTHERWISE},
        "TableArn": "arn:aws:dynamodb:eu-west-1:111122223333:table/T",
        "BillingModeSummary": {"BillingMode": creation["BillingMode"]},
        "TableClassSummary": {"TableClass": creation.get("TableClass", "STANDARD")},
    }
    if creation.get("SSESpecification", {}).get("Enabled"):
        key = creation["SSESpecification"].get("KMSMasterKeyId", "aws/dynamodb")
        description["SSEDescription"] = {"Status": "ENABLED", "KMSMasterKeyArn": f"arn:aws:kms:…:key/{key}"}
    recovery = table.recovery
    return PresentTable(
        description,
        table.time_to_live,
        None if recovery is None else recovery.get("RecoveryPeriodInDays", 35),
        table.insights,
        {one["Key"]: one["Value"] for one in creation.get("Tags", [])} | {"hashrange:stack": "shop"},
        table.policy,
        frozenset([table.kinesis_stream] if table.kinesis_stream else []),
    )


test_template_changes = case_test("template_changes.case", evaluate)

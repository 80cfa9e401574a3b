"""What the resource-policy tests share: tables, and documents for them."""

import json
from typing import Any

from tests.conformance.tables import create_request, fresh_name

ACCOUNT = "000000000000"
ROOT = f"arn:aws:iam::{ACCOUNT}:root"


def new_table(client: Any, **members: Any) -> str:
    """ARN of a new table."""
    return str(client.create_table(**create_request(fresh_name("policy"), **members))["TableDescription"]["TableArn"])


def stream_of(client: Any, arn: str) -> str:
    """ARN of the table's stream."""
    return str(client.describe_table(TableName=arn)["Table"]["LatestStreamArn"])


STREAM = {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}


def statement(resource: str, **members: Any) -> dict[str, Any]:
    """A valid statement in canonical form, changed by these members; None omits a member."""
    made = {
        "Sid": "Read",
        "Effect": "Allow",
        "Principal": {"AWS": ROOT},
        "Action": "dynamodb:GetItem",
        "Resource": resource,
    } | members
    return {member: value for member, value in made.items() if value is not None}


def document(*statements: dict[str, Any]) -> str:
    """A policy document, in canonical form if its statements are."""
    return json.dumps({"Version": "2012-10-17", "Statement": statements}, separators=(",", ":"))

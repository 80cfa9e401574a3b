"""Archives sessions that have expired. Its mapping filters by userIdentity, so that it sees no
session that a client has deleted.
"""

from typing import Any

import boto3

DATABASE = boto3.client("dynamodb")


def handler(event: Any, context: Any) -> None:
    """Write each deleted session into the archive."""
    for record in event["Records"]:
        assert record["userIdentity"] == {"type": "Service", "principalId": "dynamodb.amazonaws.com"}
        DATABASE.put_item(TableName="archive", Item=record["dynamodb"]["OldImage"])

"""The small table that the tests of databases and of caught clients use."""

from typing import Any


def create(client: Any, name: str = "music", **members: Any) -> None:
    """Create an on-demand table with a stream, whose partition key is the string `pk`."""
    client.create_table(
        **{
            "TableName": name,
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            "BillingMode": "PAY_PER_REQUEST",
            "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
            **members,
        }
    )

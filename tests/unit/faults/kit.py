"""What the tests of faults share: tables, items and refusals."""

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from hashrange.testing.database import Database

ONCE = Config(retries={"total_max_attempts": 1})
ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/music"
CHAT = "chat"
"""Name of the stage's table with a sort key and indexes."""


_clients: "WeakKeyDictionary[Database, dict[str, Any]]" = WeakKeyDictionary()


def impatient(database: Database, service: str = "dynamodb") -> Any:
    """A client that does not retry: the same each time, because making one takes longer than most requests."""
    clients = _clients.setdefault(database, {})
    if service not in clients:
        clients[service] = database.client(service, config=ONCE)
    return clients[service]


def make_music(client: Any, name: str = "music", **members: Any) -> None:
    """Create a table with the partition key `pk`, on demand unless `members` says otherwise."""
    wanted = {
        "TableName": name,
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        **({} if "ProvisionedThroughput" in members else {"BillingMode": "PAY_PER_REQUEST"}),
        **members,
    }
    client.create_table(**wanted)


def make_chat(client: Any, **members: Any) -> None:
    """Create a table with the key `room`, `at`, the global index `by_author` and the local index `by_topic`."""
    wanted = {"TableName": CHAT, **members}
    client.create_table(
        KeySchema=[{"AttributeName": "room", "KeyType": "HASH"}, {"AttributeName": "at", "KeyType": "RANGE"}],
        AttributeDefinitions=[
            {"AttributeName": "room", "AttributeType": "S"},
            {"AttributeName": "at", "AttributeType": "N"},
            {"AttributeName": "author", "AttributeType": "S"},
            {"AttributeName": "topic", "AttributeType": "S"},
        ],
        GlobalSecondaryIndexes=[
            {
                "IndexName": "by_author",
                "KeySchema": [{"AttributeName": "author", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "ALL"},
            }
        ],
        LocalSecondaryIndexes=[
            {
                "IndexName": "by_topic",
                "KeySchema": [
                    {"AttributeName": "room", "KeyType": "HASH"},
                    {"AttributeName": "topic", "KeyType": "RANGE"},
                ],
                "Projection": {"ProjectionType": "KEYS_ONLY"},
            }
        ],
        BillingMode="PAY_PER_REQUEST",
        **wanted,
    )


def song(key: str, **attributes: Any) -> dict[str, Any]:
    """An item, or without attributes a key, of a table made by `make_music`."""
    return {"pk": {"S": key}, **attributes}


def message(room: str, at: int, **attributes: Any) -> dict[str, Any]:
    """An item, or without attributes a key, of the table made by `make_chat`."""
    return {"room": {"S": room}, "at": {"N": str(at)}, **attributes}


def put_songs(client: Any, *keys: str) -> None:
    """Write items of `music`."""
    for key in keys:
        client.put_item(TableName="music", Item=song(key))


def songs(database: Database, name: str = "music") -> set[str]:
    """Keys of all items of a table, read without faults."""
    database.faults.clear()
    return {item["pk"]["S"] for item in database.client().scan(TableName=name, ConsistentRead=True)["Items"]}


def refusal(call: Callable[..., Any], *arguments: Any, **members: Any) -> Any:
    """The error reply of a call that must be refused."""
    with pytest.raises(ClientError) as caught:
        call(*arguments, **members)
    return caught.value.response


def code_of(call: Callable[..., Any], *arguments: Any, **members: Any) -> str:
    """The error code of a call that must be refused."""
    return str(refusal(call, *arguments, **members)["Error"]["Code"])


def outcome(call: Callable[..., Any], *arguments: Any, **members: Any) -> str:
    """`done`, or the error code of a call that may be refused."""
    try:
        call(*arguments, **members)
    except ClientError as error:
        return str(error.response["Error"]["Code"])
    return "done"


def met(database: Database) -> list[tuple[int, str]]:
    """Number of the fault and operation of each entry of the report."""
    return [(one.fault, one.operation) for one in database.faults.report]

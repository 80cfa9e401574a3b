"""What the tests of batches share: short forms of requests over several tables."""

from typing import Any

from tests.conformance.item_tables import DataTable, Item, text

Entry = dict[str, Any]


def put(item: Item) -> Entry:
    """A PutRequest."""
    return {"PutRequest": {"Item": item}}


def delete(key: Item) -> Entry:
    """A DeleteRequest."""
    return {"DeleteRequest": {"Key": key}}


def write(table: DataTable, *requests: Entry, **members: Any) -> Any:
    """The reply to a BatchWriteItem of one table, which must succeed."""
    return table.ask("BatchWriteItem", RequestItems={table.name: list(requests)}, **members)


def read(table: DataTable, *keys: Item, **members: Any) -> list[Item]:
    """The items that one BatchGetItem finds, read consistently; `members` are added to the keys."""
    entry = {"Keys": list(keys), "ConsistentRead": True} | members
    reply = table.ask("BatchGetItem", RequestItems={table.name: entry})
    assert reply.keys() == {"Responses", "UnprocessedKeys"}
    assert reply["UnprocessedKeys"] == {}
    assert reply["Responses"].keys() == {table.name}
    found: list[Item] = reply["Responses"][table.name]
    return found


def sized(key: Item, size_bytes: int) -> Item:
    """An item with this many bytes in total."""
    used = sum(len(name) + len(value["S"]) for name, value in key.items())
    return key | {"x": text("x" * (size_bytes - used - 1))}

"""Throttled requests by cases: a table, requests over time, what they get, and what the refused ones are told.

The first line describes the table: `table READS WRITES`, `table on demand` or `table on demand at most READS WRITES`;
with `index READS WRITES`, or on demand `index at most READS WRITES`, it has a global index `by-status`, with `local`
a local one. Requests: `put N with status`, `without status`, `with status again` (the items of the line before),
`without key` or `of KB KB`, one by one until one is refused; `refused N`: writes whose condition is refused; `read N`:
consistent reads; `query table` or `query index`, with `x N` until one is refused; `batch write N`, `batch get N`,
`transaction of N`, of items with an entry or without; `transaction get N`. `after SECONDS` lets time pass.
"""

import itertools
import re
from collections.abc import Callable
from typing import Any

from hashrange.errors import ApiError
from hashrange.settings import Settings
from hashrange.testing import Database, server
from tests.scripts.cases import case_test

TABLE, INDEX = "orders", "by-status"


class Requests:
    """The table, and requests to it."""

    def __init__(self, database: Database, line: str) -> None:
        self._database = database
        self._numbers = itertools.count()
        self._items: list[dict[str, Any]] = []
        """Those of the last line of writes."""
        self._has_index = "index" in line or "local" in line
        database.call("CreateTable", described(line))

    def run(self, line: str) -> str | None:
        """What a line gets; None for `after`."""
        words = line.split()
        count = int(next((word for word in words if word.isdecimal()), "1"))
        if words[0] == "after":
            self._database.clock.advance(float(words[1]))
            return None
        if words[0] == "put":
            if "again" not in line:
                self._items = [self._item(line) for _ in range(count)]
            return self._each(lambda item: self._call("PutItem", Item=item), self._items[:count])
        if words[0] == "refused":
            condition: dict[str, Any] = {"ConditionExpression": "attribute_exists(missed)"}
            key = key_of(self._items[0])
            return self._each(lambda _: self._call("DeleteItem", Key=key, **condition), range(count))
        if words[0] == "read":
            key = key_of(self._items[0])
            return self._each(lambda _: self._call("GetItem", Key=key, ConsistentRead=True), range(count))
        if words[0] == "query":
            return self._each(lambda _: self._query(words[1]), range(count))
        return self._together(line, count)

    def _together(self, line: str, count: int) -> str:
        """What a batch or a transaction gets."""
        try:
            if line.startswith("batch get"):
                keys = [key_of(item) for item in self._items[:count]]
                left = self._database.call(
                    "BatchGetItem", {"RequestItems": {TABLE: {"Keys": keys, "ConsistentRead": True}}}
                )["UnprocessedKeys"]
                return f"{len(left[TABLE]['Keys']) if left else 0} unprocessed"
            if line.startswith("transaction get"):
                gets = [{"Get": {"TableName": TABLE, "Key": key_of(item)}} for item in self._items[:count]]
                self._database.call("TransactGetItems", {"TransactItems": gets})
                return "admitted"
            items = [self._item(line) for _ in range(count)]
            if line.startswith("batch write"):
                puts = [{"PutRequest": {"Item": item}} for item in items]
                left = self._database.call("BatchWriteItem", {"RequestItems": {TABLE: puts}})["UnprocessedItems"]
                return f"{len(left.get(TABLE, []))} unprocessed"
            before = self._count()
            try:
                actions = [{"Put": {"TableName": TABLE, "Item": item}} for item in items]
                self._database.call("TransactWriteItems", {"TransactItems": actions})
            finally:
                assert self._count() - before in (0, count), "a transaction takes place whole or not at all"
        except ApiError as error:
            return told(error)
        return "admitted"

    def _each(self, request: Callable[[Any], object], subjects: Any) -> str:
        """Send requests until one is refused."""
        for number, subject in enumerate(subjects):
            try:
                request(subject)
            except ApiError as error:
                if error.code == "ConditionalCheckFailedException":
                    continue
                return f"{number:,} admitted, then {told(error)}"
        return "all admitted"

    def _query(self, source: str) -> None:
        name, value = ("pk", "a") if source == "table" else ("status", "new")
        members: dict[str, Any] = {
            "KeyConditionExpression": "#name = :value",
            "ExpressionAttributeNames": {"#name": name},
            "ExpressionAttributeValues": {":value": {"S": value}},
            "Select": "COUNT",
        }
        if source == "index":
            members["IndexName"] = INDEX
        self._call("Query", **members, ConsistentRead=source == "table")

    def _call(self, operation: str, **members: Any) -> dict[str, Any]:
        return self._database.call(operation, {"TableName": TABLE, **members})

    def _count(self) -> int:
        """The number of items, from the admin's statistics: a Scan would take units."""
        table = self._database.call("DescribeTable", {"TableName": TABLE})["Table"]
        return int(table["ItemCount"])

    def _item(self, line: str) -> dict[str, Any]:
        """A new item."""
        item = {"pk": {"S": "a"}, "sk": {"S": f"{next(self._numbers):06}"}}
        if "with status" in line:
            item["status"] = {"S": "new"}
        if "without key" in line:
            del item["sk"]
        size = re.search(r"of (\d+) KB", line)
        if size is not None:
            item["text"] = {"S": "x" * (int(size[1]) * 1024 - 30)}
        return item


def key_of(item: dict[str, Any]) -> dict[str, Any]:
    """The key of an item."""
    return {name: item[name] for name in ("pk", "sk")}


def told(error: ApiError) -> str:
    """What a client hears: the code, and of throttled requests the reasons and the resource's name."""
    codes = [one["Code"] for one in error.members.get("CancellationReasons", ())]  # type: ignore[attr-defined]
    reasons = [one for value in error.members.values() if isinstance(value, list) for one in value if "reason" in one]
    shown = [f"{one['reason']} {one['resource'].partition('/')[2]}" for one in reasons]
    return " ".join([error.code, *codes, *shown])


def described(line: str) -> dict[str, Any]:
    """CreateTable's members for a line."""
    of_table, _, of_index = line.partition("index")
    numbers, index_numbers = ([int(text) for text in re.findall(r"\d+", part)] for part in (of_table, of_index))
    keys = [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}]
    attributes = ["pk", "sk", "status"] if "index" in line or "local" in line else ["pk", "sk"]
    request: dict[str, Any] = {
        "TableName": TABLE,
        "KeySchema": keys,
        "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in attributes],
    }
    if "on demand" in line:
        request["BillingMode"] = "PAY_PER_REQUEST"
        if numbers:
            request["OnDemandThroughput"] = maxima(*numbers)
    else:
        request["ProvisionedThroughput"] = units(*numbers)
    index = {"IndexName": INDEX, "Projection": {"ProjectionType": "ALL"}}
    if "local" in line:
        own = [keys[0], {"AttributeName": "status", "KeyType": "RANGE"}]
        request["LocalSecondaryIndexes"] = [index | {"KeySchema": own}]
    elif "index" in line:
        own = [{"AttributeName": "status", "KeyType": "HASH"}]
        throughput = "OnDemandThroughput" if "on demand" in line else "ProvisionedThroughput"
        given = (maxima if "on demand" in line else units)(*index_numbers)
        request["GlobalSecondaryIndexes"] = [index | {"KeySchema": own, throughput: given}]
    return request


def units(reads: int, writes: int) -> dict[str, int]:
    """Provisioned units."""
    return {"ReadCapacityUnits": reads, "WriteCapacityUnits": writes}


def maxima(reads: int, writes: int) -> dict[str, int]:
    """On-demand maxima."""
    return {"MaxReadRequestUnits": reads, "MaxWriteRequestUnits": writes}


def evaluate(text: str) -> str:
    first, *lines = text.split("\n")
    shown = []
    with server(Settings(data_dir=None, throughput="enforced")) as database:
        database.clock.freeze()
        requests = Requests(database, first)
        for line in lines:
            got = requests.run(line)
            if got is not None:
                shown.append(f"{line} → {got}")
    return "\n".join(shown)


test_throttled_requests = case_test("throttled_requests.case", evaluate)

"""What the tests of vector indexes share: definitions, tables, items with vectors."""

from collections.abc import Sequence
from typing import Any

from tests.conformance.tables import create_request, definitions, fresh_name
from tests.support.raw_client import RawClient
from tests.support.waiting import wait_until


def vector_index(name: str = "plain", **members: Any) -> dict[str, Any]:
    """A vector index of three dimensions on the attribute `embedding` that projects all; None omits a member."""
    index = {
        "IndexName": name,
        "VectorAttribute": {"AttributeName": "embedding"},
        "Projection": {"ProjectionType": "ALL"},
        "Dimensions": 3,
        "DistanceFunction": "COSINE",
    } | members
    return {member: value for member, value in index.items() if value is not None}


def search_schema(hash_name: str | None = None, *filters: str) -> list[dict[str, str]]:
    """A SearchSchema."""
    schema = [] if hash_name is None else [{"AttributeName": hash_name, "SearchSchemaElementType": "HASH"}]
    return schema + [{"AttributeName": name, "SearchSchemaElementType": "INLINE_FILTER"} for name in filters]


def vector(*elements: object) -> dict[str, Any]:
    """A list of numbers."""
    return {"L": [{"N": str(element)} for element in elements]}


class VectorTable:
    """A table with the key `id` and vector indexes, used through raw requests."""

    def __init__(self, raw: RawClient, *indexes: dict[str, Any], **members: Any) -> None:
        self.raw = raw
        self.name = fresh_name("vectors")
        used = [element["AttributeName"] for index in indexes for element in index.get("SearchSchema", ())]
        request = create_request(
            self.name, AttributeDefinitions=definitions(*dict.fromkeys(["id", *used])), VectorIndexes=list(indexes)
        )
        self.ask("CreateTable", **request | members)

    @classmethod
    def present(cls, raw: RawClient, name: str) -> "VectorTable":
        """A table that something else makes, once it is ACTIVE."""
        table = cls.__new__(cls)
        table.raw, table.name = raw, name
        wait_until(lambda: table.ask("DescribeTable")["Table"]["TableStatus"] == "ACTIVE")
        return table

    def ask(self, operation: str, **members: Any) -> Any:
        """The reply to a request that succeeds."""
        reply = self.raw(operation, {"TableName": self.name} | members)
        assert reply.status == 200, reply.body
        return reply.json()

    def refusal(self, operation: str, **members: Any) -> tuple[str, str | None]:
        """Code and message of the refusal of a request."""
        reply = self.raw(operation, {"TableName": self.name} | members)
        assert reply.status == 400, reply.body
        body = reply.json()
        return body["__type"].partition("#")[2], body.get("message", body.get("Message"))

    def put(self, key: str, embedding: Any = None, **attributes: Any) -> dict[str, float]:
        """Put an item; returns the bytes that each vector index is charged for."""
        item = self.item(key, embedding, **attributes)
        return charged(self.ask("PutItem", Item=item, ReturnConsumedCapacity="INDEXES")["ConsumedCapacity"])

    def item(self, key: str, embedding: Any = None, **attributes: Any) -> dict[str, Any]:
        """An item; texts among the attributes are strings."""
        item: dict[str, Any] = {"id": {"S": key}}
        if embedding is not None:
            item["embedding"] = vector(*embedding) if isinstance(embedding, Sequence) else embedding
        return item | {name: {"S": one} if isinstance(one, str) else one for name, one in attributes.items()}

    def described(self) -> dict[str, dict[str, Any]]:
        """Name → description of each vector index."""
        return {one["IndexName"]: one for one in self.ask("DescribeTable")["Table"].get("VectorIndexes", ())}

    def counts(self) -> dict[str, tuple[int, int]]:
        """Name → ItemCount and IndexSizeBytes of each vector index."""
        return {name: (one["ItemCount"], one["IndexSizeBytes"]) for name, one in self.described().items()}

    def create(self, index: dict[str, Any], *defined: str) -> Any:
        """Add a vector index; returns the description in the reply."""
        members: dict[str, Any] = {"AttributeDefinitions": definitions(*defined)} if defined else {}
        return self.ask("UpdateTable", VectorIndexUpdates=[{"Create": index}], **members)["TableDescription"]

    def wait(self, name: str, status: str | None = "ACTIVE") -> None:
        """Return once the index has this status; None: once it is gone."""
        wait_until(lambda: self.described().get(name, {}).get("IndexStatus") == status)


def charged(consumed: dict[str, Any]) -> dict[str, float]:
    """Index → VectorWriteRequestBytes."""
    return {name: one["VectorWriteRequestBytes"] for name, one in consumed.get("VectorIndexes", {}).items()}

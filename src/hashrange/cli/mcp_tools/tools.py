"""Which tools are there? Some read tables, items, queries, scans, vector searches and PartiQL; with --allow-writes,
others put, update and delete items, and create and delete tables. Each is a method whose docstring models read.
"""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field

from hashrange.cli.mcp_tools.advice import advise, looked_back
from hashrange.cli.mcp_tools.asking import AskedServer
from hashrange.cli.mcp_tools.evidence import gather_evidence
from hashrange.cli.remote import names_of_tables
from hashrange.errors import ApiError, Malformed, RequestFault
from hashrange.expressions.partiql.parser import read_statement
from hashrange.expressions.partiql.reader import StatementReader
from hashrange.expressions.partiql.tree import SelectStatement
from hashrange.toolkit.plain_items import PlainValueWrong, plain_item, typed_item, typed_value

Limit = Annotated[int, Field(ge=1, le=100, description="Most items that are read.")]
NameStandIns = Annotated[
    dict[str, str] | None, Field(description="Stand-ins for attribute names, such as {'#n': 'name'}.")
]
ValueStandIns = Annotated[dict[str, Any] | None, Field(description="Stand-ins for values, such as {':id': 'u1'}.")]
StartAfter = Annotated[dict[str, Any] | None, Field(description="start_after of the page before.")]
ConditionText = Annotated[str | None, Field(description="ConditionExpression: the write is refused unless it is true.")]
READ_ONLY = "this server of tools only reads. Start it with --allow-writes if statements may write."


class ReadTools:
    """Tools that change nothing, unless statements may write."""

    def __init__(self, asking: AskedServer, *, may_write: bool) -> None:
        self._asking = asking
        self._may_write = may_write

    def list_tables(self) -> dict[str, Any]:
        """List the tables of this account and Region."""
        return {"place": self._asking.place, "tables": names_of_tables(self._asking.ask, math.inf)}

    def describe_table(self, table: str) -> dict[str, Any]:
        """Describe a table: its key, attributes, indexes, capacity, stream, size, and time to live."""
        described: dict[str, Any] = self._asking.ask("DescribeTable", TableName=table)["Table"]
        expiry = self._asking.ask("DescribeTimeToLive", TableName=table)["TimeToLiveDescription"]
        return described | {"TimeToLiveDescription": expiry}

    def get_item(self, table: str, key: dict[str, Any], *, is_consistent: bool = False) -> dict[str, Any]:
        """Get one item by its whole primary key."""
        reply = self._asking.ask("GetItem", TableName=table, Key=typed_item(key), ConsistentRead=is_consistent)
        return {"item": plain_item(reply["Item"]) if "Item" in reply else None}

    def query(
        self,
        table: str,
        key_condition: Annotated[
            str, Field(description="KeyConditionExpression, such as 'pk = :pk AND begins_with(sk, :s)'.")
        ],
        values: ValueStandIns,
        names: NameStandIns = None,
        index: str | None = None,
        filter_expression: str | None = None,
        start_after: StartAfter = None,
        *,
        limit: Limit = 25,
        is_forward: bool = True,
    ) -> dict[str, Any]:
        """Read items with one partition key, in the order of their sort keys, from a table or one of its indexes."""
        return self._page(
            "Query",
            table,
            index,
            KeyConditionExpression=key_condition,
            FilterExpression=filter_expression,
            ExpressionAttributeNames=names,
            ExpressionAttributeValues=_typed(values),
            ExclusiveStartKey=_typed(start_after),
            Limit=limit,
            ScanIndexForward=is_forward,
        )

    def scan(
        self,
        table: str,
        index: str | None = None,
        filter_expression: str | None = None,
        values: ValueStandIns = None,
        names: NameStandIns = None,
        start_after: StartAfter = None,
        *,
        limit: Limit = 25,
    ) -> dict[str, Any]:
        """Read items in no particular order. It reads all that it passes over:
        prefer query if the partition key is known.
        """
        return self._page(
            "Scan",
            table,
            index,
            FilterExpression=filter_expression,
            ExpressionAttributeNames=names,
            ExpressionAttributeValues=_typed(values),
            ExclusiveStartKey=_typed(start_after),
            Limit=limit,
        )

    def search_vectors(
        self,
        table: str,
        index: str,
        vector: Annotated[
            list[int | float], Field(description="What is searched for, with as many dimensions as the index has.")
        ],
        condition: Annotated[
            str | None,
            Field(
                description="SearchConditionExpression, on attributes of the index's SearchSchema, such as 'kind = :k'."
            ),
        ] = None,
        values: ValueStandIns = None,
        names: NameStandIns = None,
        projection: Annotated[str | None, Field(description="ProjectionExpression: the attributes to show.")] = None,
        *,
        limit: Limit = 10,
    ) -> dict[str, Any]:
        """Find the items of a vector index whose vectors are most similar to a given one, the most similar first.
        describe_table shows a table's VectorIndexes.
        """
        reply = self._asking.ask(
            "SearchVectors",
            TableName=table,
            IndexName=index,
            SearchVector=[typed_value(one) for one in vector],
            TopK=limit,
            SearchConditionExpression=condition,
            ProjectionExpression=projection,
            ExpressionAttributeNames=names,
            ExpressionAttributeValues=_typed(values),
            ReturnConsumedCapacity="TOTAL",
        )
        results = reply["SearchResults"]
        shown = results[: count_shown([one["Item"] for one in results])]
        return {
            "items": [{"item": plain_item(one["Item"]), "score": one["Score"]} for one in shown],
            "found_items": len(results),
            "read_bytes": reply.get("ConsumedCapacity", {}).get("VectorSearchRequestBytes"),
        }

    def _page(self, operation: str, table: str, index: str | None, **members: Any) -> dict[str, Any]:
        """The reply of a tool that reads a page. Raises RemoteError."""
        asked = {"TableName": table, "IndexName": index, "ReturnConsumedCapacity": "TOTAL"}
        return shown_items(self._asking, table, index, self._asking.ask(operation, **asked, **members))

    def run_partiql(
        self, statement: str, parameters: list[Any] | None = None, next_token: str | None = None, *, limit: Limit = 25
    ) -> dict[str, Any]:
        """Run a PartiQL statement with parameters for its question marks. Only SELECT is allowed, unless writes are."""
        typed = None if parameters is None else [typed_value(one) for one in parameters]
        if not self._may_write:
            _require_select(statement, typed or [])
        while True:
            reply = self._asking.ask(
                "ExecuteStatement", Statement=statement, Parameters=typed, NextToken=next_token, Limit=limit
            )
            count = count_shown(reply["Items"])
            if count == len(reply["Items"]) or limit == 1:
                break
            # Too long to be shown. Only a SELECT replies with several items,
            # so it can be asked again, for a shorter page.
            limit = min(count, max(1, limit // 2))
        shown: dict[str, Any] = {"items": [plain_item(item) for item in reply["Items"]]}
        if "NextToken" in reply:
            shown["next_token"] = reply["NextToken"]
        return shown

    def advise_schema(self, table: str) -> dict[str, Any]:
        """Advise on a table's keys, indexes and capacity, by what the server knows of it:
        sizes, use since there are metrics, at most two weeks, and a sample of items.
        """
        evidence = gather_evidence(self._asking, table)
        return {
            "table": table,
            "advice": [one._asdict() for one in advise(evidence)],
            "looked_back": looked_back(evidence),
            "sampled_items": evidence.sample.items,
        }


def _typed(values: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return None if values is None else typed_item(values)


def _require_select(statement: str, parameters: Sequence[Mapping[str, Any]]) -> None:
    """Raise PlainValueWrong unless the statement is certainly a SELECT, by the parser that the server has too."""
    try:
        tree = read_statement(StatementReader(statement, tuple(next(iter(one)) for one in parameters)))
    except (RequestFault, ApiError, Malformed) as error:
        raise PlainValueWrong(f"the statement cannot be read: {error}") from None
    if not isinstance(tree, SelectStatement):
        raise PlainValueWrong(READ_ONLY)


class WriteTools:
    """Tools that change items and tables."""

    def __init__(self, asking: AskedServer) -> None:
        self._asking = asking

    def put_item(
        self,
        table: str,
        item: dict[str, Any],
        condition: ConditionText = None,
        names: NameStandIns = None,
        values: ValueStandIns = None,
    ) -> dict[str, Any]:
        """Put an item; one with the same key is replaced as a whole."""
        return self._write("PutItem", "ALL_OLD", table, condition, names, values, Item=typed_item(item))

    def update_item(
        self,
        table: str,
        key: dict[str, Any],
        update: Annotated[str, Field(description="UpdateExpression, such as 'SET visits = visits + :one'.")],
        condition: ConditionText = None,
        names: NameStandIns = None,
        values: ValueStandIns = None,
    ) -> dict[str, Any]:
        """Change attributes of an item, or create it."""
        members = {"Key": typed_item(key), "UpdateExpression": update}
        return self._write("UpdateItem", "ALL_NEW", table, condition, names, values, **members)

    def delete_item(
        self,
        table: str,
        key: dict[str, Any],
        condition: ConditionText = None,
        names: NameStandIns = None,
        values: ValueStandIns = None,
    ) -> dict[str, Any]:
        """Delete one item by its whole primary key."""
        return self._write("DeleteItem", "ALL_OLD", table, condition, names, values, Key=typed_item(key))

    def create_table(
        self,
        definition: Annotated[
            dict[str, Any], Field(description="The request of CreateTable, as the AWS CLI takes it.")
        ],
    ) -> dict[str, Any]:
        """Create a table."""
        described: dict[str, Any] = self._asking.ask("CreateTable", **definition)["TableDescription"]
        return described

    def delete_table(self, table: str) -> dict[str, Any]:
        """Delete a table with all its items."""
        described: dict[str, Any] = self._asking.ask("DeleteTable", TableName=table)["TableDescription"]
        return described

    def _write(
        self,
        operation: str,
        returned: str,
        table: str,
        condition: str | None,
        names: dict[str, str] | None,
        values: dict[str, Any] | None,
        **members: Any,
    ) -> dict[str, Any]:
        reply = self._asking.ask(
            operation,
            TableName=table,
            ConditionExpression=condition,
            ExpressionAttributeNames=names,
            ExpressionAttributeValues=_typed(values),
            ReturnValues=returned,
            **members,
        )
        item = reply.get("Attributes")
        word = "item" if returned == "ALL_NEW" else "item_before"
        return {"done": True, word: None if item is None else plain_item(item)}


# --- pages of items -------------------------------------------------------------------------------

ITEMS_BYTES_MAX = 100_000
"""Length of the items that one reply shows, as JSON; at least one item is shown."""


def shown_items(asking: AskedServer, table: str, index: str | None, reply: Mapping[str, Any]) -> dict[str, Any]:
    """The members of a tool's reply for a page of Query or Scan. Raises RemoteError."""
    items: list[Mapping[str, Any]] = reply["Items"]
    shown = count_shown(items)
    after = reply.get("LastEvaluatedKey")
    if shown < len(items):
        after = _key_of(asking, table, index, items[shown - 1])
    page: dict[str, Any] = {
        "items": [plain_item(item) for item in items[:shown]],
        "items_read": reply["ScannedCount"],
        "consumed_read_units": reply.get("ConsumedCapacity", {}).get("CapacityUnits"),
        "there_may_be_more": after is not None,
    }
    if after is not None:
        page["start_after"] = plain_item(after)
    return page


def count_shown(items: Sequence[Mapping[str, Any]]) -> int:
    """How many of these items, from the first on, one reply shows, so that a model can read them."""
    shown, size_bytes = 0, 0
    for item in items:
        size_bytes += len(json.dumps(item))
        if shown and size_bytes > ITEMS_BYTES_MAX:
            break
        shown += 1
    return shown


def _key_of(asking: AskedServer, table: str, index: str | None, item: Mapping[str, Any]) -> dict[str, Any]:
    """What a page that ends with this item gives as its last key."""
    described = asking.ask("DescribeTable", TableName=table)["Table"]
    indexes = [*described.get("GlobalSecondaryIndexes", ()), *described.get("LocalSecondaryIndexes", ())]
    schemas = [described["KeySchema"], *(one["KeySchema"] for one in indexes if one["IndexName"] == index)]
    names = {element["AttributeName"] for schema in schemas for element in schema}
    return {name: value for name, value in item.items() if name in names}

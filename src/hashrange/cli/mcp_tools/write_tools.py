"""Which tools write? Items are put, updated and deleted, tables created and deleted.
They exist only with --allow-writes.
"""

from typing import Annotated, Any

from pydantic import Field

from hashrange.cli.mcp_tools.asking import AskedServer
from hashrange.cli.mcp_tools.read_tools import NameStandIns, ValueStandIns
from hashrange.cli.plain_items import plain_item, typed_item

ConditionText = Annotated[str | None, Field(description="ConditionExpression: the write is refused unless it is true.")]


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
            ExpressionAttributeValues=None if values is None else typed_item(values),
            ReturnValues=returned,
            **members,
        )
        item = reply.get("Attributes")
        word = "item" if returned == "ALL_NEW" else "item_before"
        return {"done": True, word: None if item is None else plain_item(item)}

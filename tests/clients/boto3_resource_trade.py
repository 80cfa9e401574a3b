"""The extended shop with boto3's resources: indexes added while it runs, orders and payments in one transaction,
hundreds of goods in batches.
"""

import time as clock
from collections.abc import Callable
from typing import Any

from boto3.dynamodb.conditions import Attr, Key

from tests.clients.boto3_resource_shop import ResourceShop, key, order_key, product_key, profile_key
from tests.clients.boto3_values import (
    BATCH_GET_MAX,
    BATCH_WRITE_MAX,
    POLL_SECONDS,
    TABLE,
    cancelled,
    mistake,
    new_index,
    plain,
    shares,
)


class ResourceTrade(ResourceShop):
    """The extended shop. Transactions use the client of its resource, which takes plain values too."""

    def __init__(self, endpoint: str) -> None:
        super().__init__(endpoint)
        self.client = self.resource.meta.client

    # --- indexes ---

    def add_index(self, name: str) -> Any:
        self.table = self.table.update(**new_index(name))
        while True:
            self.table.reload()
            index = next(one for one in self.table.global_secondary_indexes if one["IndexName"] == name)
            if (self.table.table_status, index["IndexStatus"]) == ("ACTIVE", "ACTIVE"):
                return {
                    "keys": [f"{part['AttributeName']} {part['KeyType']}" for part in index["KeySchema"]],
                    "projection": index["Projection"]["ProjectionType"],
                }
            clock.sleep(POLL_SECONDS)

    def orders_by_status(self, status: str, page_size: int) -> Any:
        pages: list[list[str]] = []
        start: dict[str, Any] = {}
        while True:
            reply = self.table.query(
                IndexName="by_status",
                KeyConditionExpression=Key("status").eq(status) & Key("sk").begins_with("ORDER#"),
                ScanIndexForward=False,
                Limit=page_size,
                **start,
            )
            pages.append([item["order"] for item in reply["Items"]])
            if "LastEvaluatedKey" not in reply:
                return pages
            start = {"ExclusiveStartKey": reply["LastEvaluatedKey"]}

    def user_by_email(self, email: str) -> Any:
        reply = self.table.query(IndexName="by_email", KeyConditionExpression=Key("email").eq(email))
        return reply["Items"][0] if reply["Items"] else None

    def sales(self, product: str, least: int) -> Any:
        reply = self.table.query(
            IndexName="by_product",
            KeyConditionExpression=Key("product").eq(product) & Key("quantity").gte(least),
            ScanIndexForward=False,
            ReturnConsumedCapacity="INDEXES",
        )
        units = reply["ConsumedCapacity"]
        return {
            "sales": [f"{item['quantity']} in {item['pk']}" for item in reply["Items"]],
            "table": units["Table"]["CapacityUnits"],
            "index": units["GlobalSecondaryIndexes"]["by_product"]["CapacityUnits"],
        }

    # --- all or nothing ---

    def buy(self, user: str, order: str, time: str, lines: list[Any]) -> Any:
        gets = [{"Get": {"TableName": TABLE, "Key": product_key(product)}} for product, _ in lines]
        found = self.client.transact_get_items(TransactItems=gets)["Responses"]
        cents = [int(one["Item"]["cents"]) for one in found]
        total = sum(price * quantity for price, (_, quantity) in zip(cents, lines, strict=True))
        head = {"kind": "order", "user": user, "order": order, "status": "placed", "cents": total, "version": 1}
        actions: list[Any] = [{"Update": self._taking(product, quantity)} for product, quantity in lines]
        put = {"TableName": TABLE, "Item": order_key(user, time, order) | head}
        actions.append({"Put": put | {"ConditionExpression": "attribute_not_exists(pk)"}})
        for number, (product, quantity) in enumerate(lines):
            line = {"kind": "line", "product": product, "quantity": quantity, "cents": cents[number]}
            item = key(f"ORDER#{order}", f"ITEM#{number:03}") | line
            actions.append({"Put": {"TableName": TABLE, "Item": item}})
        actions.append({"ConditionCheck": self._exists(user)})
        try:
            reply = self.client.transact_write_items(TransactItems=actions, ReturnConsumedCapacity="TOTAL")
        except self.client.exceptions.TransactionCanceledException as error:
            return cancelled(error, "stock")
        return {"cents": total, "units": reply["ConsumedCapacity"][0]["CapacityUnits"]}

    def _taking(self, product: str, quantity: int) -> Any:
        return {
            "TableName": TABLE,
            "Key": product_key(product),
            "UpdateExpression": "ADD stock :less",
            "ConditionExpression": "stock >= :quantity",
            "ExpressionAttributeValues": {":quantity": quantity, ":less": -quantity},
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }

    def _exists(self, user: str) -> Any:
        return {"TableName": TABLE, "Key": profile_key(user), "ConditionExpression": "attribute_exists(pk)"}

    def top_up(self, user: str, cents: int) -> Any:
        reply = self.table.update_item(
            Key=profile_key(user),
            UpdateExpression="SET balance = if_not_exists(balance, :none) + :cents",
            ConditionExpression=Attr("pk").exists(),
            ExpressionAttributeValues={":cents": cents, ":none": 0},
            ReturnValues="UPDATED_NEW",
        )
        return plain(reply["Attributes"])

    def transfer(self, sender: str, receiver: str, cents: int, token: str) -> Any:
        take = {
            "TableName": TABLE,
            "Key": profile_key(sender),
            "UpdateExpression": "SET balance = balance - :cents",
            "ConditionExpression": "balance >= :cents",
            "ExpressionAttributeValues": {":cents": cents},
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }
        give = self._exists(receiver) | {
            "UpdateExpression": "ADD balance :cents",
            "ExpressionAttributeValues": {":cents": cents},
        }
        try:
            self.client.transact_write_items(
                TransactItems=[{"Update": take}, {"Update": give}], ClientRequestToken=token
            )
        except self.client.exceptions.TransactionCanceledException as error:
            return cancelled(error, "balance")
        except self.client.exceptions.IdempotentParameterMismatchException:
            return {"mistaken": token}
        gets = [{"Get": {"TableName": TABLE, "Key": profile_key(user)}} for user in (sender, receiver)]
        found = self.client.transact_get_items(TransactItems=gets)["Responses"]
        return {"balances": [int(one["Item"]["balance"]) for one in found]}

    # --- by the hundred ---

    def load_goods(self, prefix: str, count: int) -> Any:
        with self.table.batch_writer() as batch:
            for number in range(count):
                values = {"kind": "goods", "name": f"{prefix} {number}", "cents": number}
                batch.put_item(Item=product_key(f"{prefix}{number}") | values)
        return -(-count // BATCH_WRITE_MAX)

    def drop_goods(self, prefix: str, count: int) -> Any:
        with self.table.batch_writer() as batch:
            for number in range(count):
                batch.delete_item(Key=product_key(f"{prefix}{number}"))
        return -(-count // BATCH_WRITE_MAX)

    def worth(self, prefix: str, count: int) -> Any:
        found: list[Any] = []
        for share in shares([product_key(f"{prefix}{number}") for number in range(count)], BATCH_GET_MAX):
            left: Any = {TABLE: {"Keys": share, "AttributesToGet": ["cents"]}}
            while left:
                reply = self.resource.batch_get_item(RequestItems=left)
                found += reply["Responses"][TABLE]
                left = reply["UnprocessedKeys"]
        return {"goods": len(found), "cents": sum(int(item["cents"]) for item in found)}

    # --- what goes wrong ---

    def trade_mistakes(self) -> Any:
        table, client, ada = self.table, self.client, profile_key("ada")
        by_email = {"IndexName": "by_email", "KeyConditionExpression": Key("email").eq("ada@example.org")}
        calls: tuple[Callable[[], Any], ...] = (
            lambda: table.query(**by_email, ConsistentRead=True),
            lambda: table.query(**by_email | {"IndexName": "by_colour"}),
            lambda: table.query(**by_email, Select="ALL_ATTRIBUTES"),
            lambda: table.put_item(Item=ada | {"email": 1}),
            lambda: table.update(**new_index("by_email")),
            lambda: self.resource.batch_get_item(RequestItems={TABLE: {"Keys": [ada, ada]}}),
            lambda: self.resource.batch_write_item(RequestItems={TABLE: [{"PutRequest": {"Item": ada}}] * 2}),
            lambda: client.transact_write_items(TransactItems=[{"ConditionCheck": self._exists("ada")}] * 2),
        )
        return [mistake(call) for call in calls]

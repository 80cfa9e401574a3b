"""The extended shop with boto3's client: indexes added while it runs, orders and payments in one transaction,
hundreds of goods in batches.
"""

import time as clock
from collections.abc import Callable
from typing import Any

from tests.clients.boto3_client_shop import ClientShop, key, order_key, product_key, profile_key
from tests.clients.boto3_values import (
    BATCH_GET_MAX,
    BATCH_WRITE_MAX,
    POLL_SECONDS,
    TABLE,
    cancelled,
    item_of,
    mistake,
    new_index,
    shares,
    values_of,
    wire,
)


class ClientTrade(ClientShop):
    """The extended shop."""

    # --- indexes ---

    def add_index(self, name: str) -> Any:
        self.client.update_table(TableName=TABLE, **new_index(name))
        while True:
            table = self.client.describe_table(TableName=TABLE)["Table"]
            index = next(index for index in table["GlobalSecondaryIndexes"] if index["IndexName"] == name)
            if (table["TableStatus"], index["IndexStatus"]) == ("ACTIVE", "ACTIVE"):
                return {
                    "keys": [f"{part['AttributeName']} {part['KeyType']}" for part in index["KeySchema"]],
                    "projection": index["Projection"]["ProjectionType"],
                }
            clock.sleep(POLL_SECONDS)

    def orders_by_status(self, status: str, page_size: int) -> Any:
        pages = self.client.get_paginator("query").paginate(
            TableName=TABLE,
            IndexName="by_status",
            KeyConditionExpression="#status = :status AND begins_with(sk, :prefix)",
            ExpressionAttributeNames={"#status": "status"},
            ExpressionAttributeValues=item_of({":status": status, ":prefix": "ORDER#"}),
            ScanIndexForward=False,
            PaginationConfig={"PageSize": page_size},
        )
        return [[item["order"]["S"] for item in page["Items"]] for page in pages]

    def user_by_email(self, email: str) -> Any:
        found = self.client.query(
            TableName=TABLE,
            IndexName="by_email",
            KeyConditionExpression="email = :email",
            ExpressionAttributeValues={":email": {"S": email}},
        )["Items"]
        return values_of(found[0]) if found else None

    def sales(self, product: str, least: int) -> Any:
        reply = self.client.query(
            TableName=TABLE,
            IndexName="by_product",
            KeyConditionExpression="product = :product AND quantity >= :least",
            ExpressionAttributeValues=item_of({":product": product, ":least": least}),
            ScanIndexForward=False,
            ReturnConsumedCapacity="INDEXES",
        )
        units = reply["ConsumedCapacity"]
        return {
            "sales": [f"{item['quantity']['N']} in {item['pk']['S']}" for item in reply["Items"]],
            "table": units["Table"]["CapacityUnits"],
            "index": units["GlobalSecondaryIndexes"]["by_product"]["CapacityUnits"],
        }

    # --- all or nothing ---

    def buy(self, user: str, order: str, time: str, lines: list[Any]) -> Any:
        gets = [{"Get": {"TableName": TABLE, "Key": product_key(product)}} for product, _ in lines]
        found = self.client.transact_get_items(TransactItems=gets)["Responses"]
        cents = [int(one["Item"]["cents"]["N"]) for one in found]
        total = sum(price * quantity for price, (_, quantity) in zip(cents, lines, strict=True))
        head = {"kind": "order", "user": user, "order": order, "status": "placed", "cents": total, "version": 1}
        actions = [self._taking(product, quantity) for product, quantity in lines]
        actions.append(
            {
                "Put": {
                    "TableName": TABLE,
                    "Item": order_key(user, time, order) | item_of(head),
                    "ConditionExpression": "attribute_not_exists(pk)",
                }
            }
        )
        for number, (product, quantity) in enumerate(lines):
            line = {"kind": "line", "product": product, "quantity": quantity, "cents": cents[number]}
            item = key(f"ORDER#{order}", f"ITEM#{number:03}") | item_of(line)
            actions.append({"Put": {"TableName": TABLE, "Item": item}})
        actions.append({"ConditionCheck": self._exists(user)})
        try:
            reply = self.client.transact_write_items(TransactItems=actions, ReturnConsumedCapacity="TOTAL")
        except self.client.exceptions.TransactionCanceledException as error:
            return cancelled(error, "stock")
        return {"cents": total, "units": reply["ConsumedCapacity"][0]["CapacityUnits"]}

    def _taking(self, product: str, quantity: int) -> Any:
        return {
            "Update": {
                "TableName": TABLE,
                "Key": product_key(product),
                "UpdateExpression": "SET stock = stock - :quantity",
                "ConditionExpression": "stock >= :quantity",
                "ExpressionAttributeValues": {":quantity": wire(quantity)},
                "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
            }
        }

    def _exists(self, user: str) -> Any:
        return {"TableName": TABLE, "Key": profile_key(user), "ConditionExpression": "attribute_exists(pk)"}

    def top_up(self, user: str, cents: int) -> Any:
        reply = self.client.update_item(
            **self._exists(user),
            UpdateExpression="ADD balance :cents",
            ExpressionAttributeValues={":cents": wire(cents)},
            ReturnValues="UPDATED_NEW",
        )
        return values_of(reply["Attributes"])

    def transfer(self, sender: str, receiver: str, cents: int, token: str) -> Any:
        values = {":cents": wire(cents)}
        take = {
            "TableName": TABLE,
            "Key": profile_key(sender),
            "UpdateExpression": "SET balance = balance - :cents",
            "ConditionExpression": "balance >= :cents",
            "ExpressionAttributeValues": values,
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }
        give = self._exists(receiver) | {
            "UpdateExpression": "ADD balance :cents",
            "ExpressionAttributeValues": values,
        }
        try:
            self.client.transact_write_items(
                TransactItems=[{"Update": take}, {"Update": give}], ClientRequestToken=token
            )
        except self.client.exceptions.TransactionCanceledException as error:
            return cancelled(error, "balance")
        except self.client.exceptions.IdempotentParameterMismatchException:
            return {"mistaken": token}
        gets = [
            {"Get": {"TableName": TABLE, "Key": profile_key(user), "ProjectionExpression": "balance"}}
            for user in (sender, receiver)
        ]
        found = self.client.transact_get_items(TransactItems=gets)["Responses"]
        return {"balances": [int(one["Item"]["balance"]["N"]) for one in found]}

    # --- by the hundred ---

    def load_goods(self, prefix: str, count: int) -> Any:
        puts = []
        for number in range(count):
            values = {"kind": "goods", "name": f"{prefix} {number}", "cents": number}
            puts.append({"PutRequest": {"Item": product_key(f"{prefix}{number}") | item_of(values)}})
        return self._write(puts)

    def drop_goods(self, prefix: str, count: int) -> Any:
        return self._write([{"DeleteRequest": {"Key": product_key(f"{prefix}{number}")}} for number in range(count)])

    def _write(self, requests: list[Any]) -> int:
        """Send all write requests in batches; return the number of batches."""
        batches = 0
        for share in shares(requests, BATCH_WRITE_MAX):
            left = {TABLE: share}
            while left:
                left = self.client.batch_write_item(RequestItems=left)["UnprocessedItems"]
                batches += 1
        return batches

    def worth(self, prefix: str, count: int) -> Any:
        found: list[Any] = []
        for share in shares([product_key(f"{prefix}{number}") for number in range(count)], BATCH_GET_MAX):
            left: Any = {TABLE: {"Keys": share, "ProjectionExpression": "cents", "ConsistentRead": True}}
            while left:
                reply = self.client.batch_get_item(RequestItems=left)
                found += reply["Responses"][TABLE]
                left = reply["UnprocessedKeys"]
        return {"goods": len(found), "cents": sum(int(item["cents"]["N"]) for item in found)}

    # --- what goes wrong ---

    def trade_mistakes(self) -> Any:
        client, ada = self.client, profile_key("ada")
        by_email = {
            "TableName": TABLE,
            "IndexName": "by_email",
            "KeyConditionExpression": "email = :email",
            "ExpressionAttributeValues": {":email": {"S": "ada@example.org"}},
        }
        calls: tuple[Callable[[], Any], ...] = (
            lambda: client.query(**by_email, ConsistentRead=True),
            lambda: client.query(**by_email | {"IndexName": "by_colour"}),
            lambda: client.query(**by_email, Select="ALL_ATTRIBUTES"),
            lambda: client.put_item(TableName=TABLE, Item=ada | {"email": {"N": "1"}}),
            lambda: client.update_table(TableName=TABLE, **new_index("by_email")),
            lambda: client.batch_get_item(RequestItems={TABLE: {"Keys": [ada, ada]}}),
            lambda: client.batch_write_item(RequestItems={TABLE: [{"PutRequest": {"Item": ada}}] * 2}),
            lambda: client.transact_write_items(TransactItems=[{"ConditionCheck": self._exists("ada")}] * 2),
        )
        return [mistake(call) for call in calls]

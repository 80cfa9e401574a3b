"""The shop as an application writes it with boto3's client: DynamoDB's own JSON, paginators and waiters.

Each method is one action of the application; its result is compared with tests/clients/story.json.
"""

import base64
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import boto3

from tests.clients.boto3_values import TABLE, TABLE_OPTIONS, THREADS, item_of, mistake, numbers_of, values_of, wire


def key(pk: str, sk: str) -> dict[str, Any]:
    return {"pk": {"S": pk}, "sk": {"S": sk}}


def product_key(product: str) -> dict[str, Any]:
    return key(f"PRODUCT#{product}", "PRODUCT")


def profile_key(user: str) -> dict[str, Any]:
    return key(f"USER#{user}", "PROFILE")


def order_key(user: str, time: str, order: str) -> dict[str, Any]:
    return key(f"USER#{user}", f"ORDER#{time}#{order}")


class ClientShop:
    """The shop; several threads may use it, as boto3's clients are thread-safe."""

    def __init__(self, endpoint: str) -> None:
        self.client = boto3.client(
            "dynamodb",
            endpoint_url=endpoint,
            region_name="eu-west-1",
            aws_access_key_id="key",
            aws_secret_access_key="secret",
        )
        self.refused = self.client.exceptions.ConditionalCheckFailedException

    def end(self) -> None:
        self.client.close()

    # --- the table ---

    def open(self) -> Any:
        self.client.create_table(**TABLE_OPTIONS)
        self.client.get_waiter("table_exists").wait(TableName=TABLE)
        table = self.client.describe_table(TableName=TABLE)["Table"]
        return {
            "status": table["TableStatus"],
            "keys": [f"{part['AttributeName']} {part['KeyType']}" for part in table["KeySchema"]],
            "billing": table["BillingModeSummary"]["BillingMode"],
            "items": table["ItemCount"],
        }

    def tables(self) -> Any:
        pages = self.client.get_paginator("list_tables").paginate()
        return [name for page in pages for name in page["TableNames"]]

    def close(self) -> Any:
        self.client.delete_table(TableName=TABLE)
        self.client.get_waiter("table_not_exists").wait(TableName=TABLE)
        return self.tables()

    # --- users ---

    def register_user(self, user: str, email: str, name: str, joined: str) -> Any:
        guard = key(f"EMAIL#{email}", "EMAIL") | {"owner": {"S": user}}
        is_new = "attribute_not_exists(pk)"
        try:
            self.client.put_item(
                TableName=TABLE,
                Item=guard,
                ConditionExpression=is_new,
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
            )
        except self.refused as error:
            return {"taken_by": error.response["Item"]["owner"]["S"]}
        profile: dict[str, Any] = {
            "kind": "user",
            "name": name,
            "email": email,
            "joined": joined,
            "phone": None,
            "addresses": {},
        }
        self.client.put_item(TableName=TABLE, Item=profile_key(user) | item_of(profile), ConditionExpression=is_new)
        return {"registered": user}

    def profile(self, user: str) -> Any:
        reply = self.client.get_item(
            TableName=TABLE,
            Key=profile_key(user),
            ConsistentRead=True,
            ProjectionExpression="#name, orders, addresses.home.city, cart[0].product",
            ExpressionAttributeNames={"#name": "name"},
            ReturnConsumedCapacity="TOTAL",
        )
        return {"item": values_of(reply["Item"]), "capacity": reply["ConsumedCapacity"]["CapacityUnits"]}

    def set_address(self, user: str, label: str, street: str, city: str) -> Any:
        try:
            reply = self.client.update_item(
                TableName=TABLE,
                Key=profile_key(user),
                UpdateExpression="SET addresses.#label = :address",
                ConditionExpression="attribute_exists(pk)",
                ExpressionAttributeNames={"#label": label},
                ExpressionAttributeValues={":address": wire({"street": street, "city": city})},
                ReturnValues="ALL_NEW",
            )
        except self.refused:
            return {"unknown": user}
        return values_of(reply["Attributes"])["addresses"]

    def add_to_cart(self, user: str, product: str, quantity: int) -> Any:
        reply = self.client.update_item(
            TableName=TABLE,
            Key=profile_key(user),
            UpdateExpression="SET cart = list_append(if_not_exists(cart, :none), :line)",
            ExpressionAttributeValues={
                ":none": wire([]),
                ":line": wire([{"product": product, "quantity": quantity}]),
            },
            ReturnValues="UPDATED_NEW",
        )
        return [f"{line['quantity']} {line['product']}" for line in values_of(reply["Attributes"])["cart"]]

    def drop_from_cart(self, user: str, position: int) -> Any:
        reply = self.client.update_item(
            TableName=TABLE,
            Key=profile_key(user),
            UpdateExpression=f"REMOVE cart[{position}]",
            ReturnValues="ALL_NEW",
        )
        return [f"{line['quantity']} {line['product']}" for line in values_of(reply["Attributes"])["cart"]]

    # --- products ---

    def add_product(self, product: str, picture: str, tags: Any, codes: Any, **values: Any) -> Any:
        item = values | {
            "kind": "product",
            "picture": base64.b64decode(picture),
            "tags": set(tags),
            "codes": set(numbers_of(codes)),
            "weight": {"N": values["weight"]},
            "for_sale": True,
            "version": 1,
        }
        sent = {name: value if name == "weight" else wire(value) for name, value in item.items()}
        try:
            self.client.put_item(
                TableName=TABLE,
                Item=product_key(product) | sent,
                ConditionExpression="attribute_not_exists(pk)",
            )
        except self.refused:
            return {"exists": product}
        return {"version": 1}

    def product(self, product: str) -> Any:
        found = self.client.get_item(TableName=TABLE, Key=product_key(product), ConsistentRead=True)
        if "Item" not in found:
            return None
        names = (
            "name",
            "cents",
            "stock",
            "weight",
            "tags",
            "codes",
            "sizes",
            "colours",
            "picture",
            "for_sale",
            "version",
        )
        values = values_of(found["Item"])
        return {name: values[name] for name in names}

    def reprice(self, product: str, cents: int, version: int) -> Any:
        try:
            reply = self.client.update_item(
                TableName=TABLE,
                Key=product_key(product),
                UpdateExpression="SET cents = :cents, version = version + :one",
                ConditionExpression="version = :version",
                ExpressionAttributeValues=item_of({":cents": cents, ":one": 1, ":version": version}),
                ReturnValues="UPDATED_NEW",
            )
        except self.refused:
            now = self.product(product)
            return {"conflict": now["cents"], "version": now["version"]}
        return values_of(reply["Attributes"])

    def visit(self, product: str, times: int) -> Any:
        def once(_: int) -> int:
            reply = self.client.update_item(
                TableName=TABLE,
                Key=product_key(product),
                UpdateExpression="ADD visits :one",
                ExpressionAttributeValues={":one": {"N": "1"}},
                ReturnValues="UPDATED_NEW",
            )
            return int(reply["Attributes"]["visits"]["N"])

        with ThreadPoolExecutor(THREADS) as threads:
            counts = list(threads.map(once, range(times)))
        assert sorted(counts) == list(range(1, times + 1))
        return max(counts)

    # --- reviews ---

    def review(self, user: str, product: str, stars: int, text: str, time: str) -> Any:
        try:
            reply = self.client.update_item(
                TableName=TABLE,
                Key=product_key(product),
                UpdateExpression="ADD reviewed_by :users, stars :stars, reviews :one",
                ConditionExpression="NOT contains(reviewed_by, :user)",
                ExpressionAttributeValues=item_of({":users": {user}, ":user": user, ":stars": stars, ":one": 1}),
                ReturnValues="UPDATED_NEW",
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
            )
        except self.refused as error:
            return {"reviewed_by": error.response["Item"]["reviewed_by"]["SS"]}
        review = {"kind": "review", "stars": stars, "text": text, "author": {"id": user, "name": user}}
        self.client.put_item(TableName=TABLE, Item=key(f"PRODUCT#{product}", f"REVIEW#{time}#{user}") | item_of(review))
        found = values_of(reply["Attributes"])
        return {"reviews": found["reviews"], "stars": found["stars"]}

    def latest_reviews(self, product: str, stars: int, limit: int) -> Any:
        reply = self.client.query(
            TableName=TABLE,
            KeyConditionExpression="pk = :pk AND begins_with(sk, :prefix)",
            FilterExpression="stars >= :stars",
            ProjectionExpression="#text, stars, author.#name",
            ExpressionAttributeNames={"#text": "text", "#name": "name"},
            ExpressionAttributeValues=item_of({":pk": f"PRODUCT#{product}", ":prefix": "REVIEW#", ":stars": stars}),
            ScanIndexForward=False,
            Limit=limit,
        )
        return {"examined": reply["ScannedCount"], "reviews": [values_of(item) for item in reply["Items"]]}

    # --- orders ---

    def place_order(self, user: str, order: str, time: str, lines: list[Any]) -> Any:
        taken: list[Any] = []
        for product, quantity in lines:
            try:
                cents = self._take(product, quantity)
            except self.refused as error:
                for other, count, _ in taken:
                    self._give_back(other, count)
                return {"sold_out": product, "left": int(error.response["Item"]["stock"]["N"])}
            taken.append((product, quantity, cents))
        total = sum(quantity * cents for _, quantity, cents in taken)
        head = {"kind": "order", "user": user, "order": order, "status": "placed", "cents": total, "version": 1}
        self.client.put_item(
            TableName=TABLE,
            Item=order_key(user, time, order) | item_of(head),
            ConditionExpression="attribute_not_exists(pk) AND attribute_not_exists(sk)",
        )
        for number, (product, quantity, cents) in enumerate(taken):
            line = {"kind": "line", "product": product, "quantity": quantity, "cents": cents}
            self.client.put_item(TableName=TABLE, Item=key(f"ORDER#{order}", f"ITEM#{number:03}") | item_of(line))
        self.client.update_item(
            TableName=TABLE,
            Key=profile_key(user),
            UpdateExpression="ADD orders :one, spent :cents REMOVE #later",
            ExpressionAttributeNames={"#later": "wish list"},
            ExpressionAttributeValues=item_of({":one": 1, ":cents": total}),
        )
        return {"cents": total}

    def _take(self, product: str, quantity: int) -> int:
        """Take this quantity out of stock and return the price of one; refused when the stock is too small."""
        reply = self.client.update_item(
            TableName=TABLE,
            Key=product_key(product),
            UpdateExpression="SET stock = stock - :quantity",
            ConditionExpression="for_sale = :yes AND stock >= :quantity",
            ExpressionAttributeValues=item_of({":quantity": quantity, ":yes": True}),
            ReturnValues="ALL_OLD",
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )
        return int(reply["Attributes"]["cents"]["N"])

    def _give_back(self, product: str, quantity: int) -> None:
        self.client.update_item(
            TableName=TABLE,
            Key=product_key(product),
            UpdateExpression="ADD stock :quantity",
            ExpressionAttributeValues=item_of({":quantity": quantity}),
        )

    def orders(self, user: str, page_size: int) -> Any:
        pages = self.client.get_paginator("query").paginate(
            TableName=TABLE,
            KeyConditionExpression="pk = :pk AND begins_with(sk, :prefix)",
            ExpressionAttributeValues=item_of({":pk": f"USER#{user}", ":prefix": "ORDER#"}),
            ScanIndexForward=False,
            Limit=page_size,
        )
        return [[item["order"]["S"] for item in page["Items"]] for page in pages]

    def orders_between(self, user: str, since: str, until: str) -> Any:
        reply = self.client.query(
            TableName=TABLE,
            KeyConditionExpression="pk = :pk AND sk BETWEEN :since AND :until",
            ExpressionAttributeValues=item_of(
                {":pk": f"USER#{user}", ":since": f"ORDER#{since}", ":until": f"ORDER#{until}"}
            ),
        )
        return [item["order"]["S"] for item in reply["Items"]]

    def order_lines(self, order: str) -> Any:
        reply = self.client.query(
            TableName=TABLE,
            KeyConditionExpression="pk = :pk",
            ExpressionAttributeValues=item_of({":pk": f"ORDER#{order}"}),
        )
        lines = [values_of(item) for item in reply["Items"]]
        return [f"{line['quantity']} {line['product']} at {line['cents']}" for line in lines]

    def move_order(self, user: str, order: str, time: str, to: str, version: int) -> Any:
        try:
            reply = self.client.update_item(
                TableName=TABLE,
                Key=order_key(user, time, order),
                UpdateExpression="SET #status = :to, version = :next",
                ConditionExpression="version = :version",
                ExpressionAttributeNames={"#status": "status"},
                ExpressionAttributeValues=item_of({":to": to, ":version": version, ":next": version + 1}),
                ReturnValues="UPDATED_NEW",
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
            )
        except self.refused as error:
            found = values_of(error.response["Item"])
            return {"conflict": found["status"], "version": found["version"]}
        return values_of(reply["Attributes"])

    def cancel_order(self, user: str, order: str, time: str) -> Any:
        try:
            reply = self.client.delete_item(
                TableName=TABLE,
                Key=order_key(user, time, order),
                ConditionExpression="#status IN (:placed, :packed)",
                ExpressionAttributeNames={"#status": "status"},
                ExpressionAttributeValues=item_of({":placed": "placed", ":packed": "packed"}),
                ReturnValues="ALL_OLD",
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
            )
        except self.refused as error:
            return {"refused": values_of(error.response.get("Item", {})).get("status")}
        return {"cancelled": values_of(reply["Attributes"])["cents"]}

    # --- reports ---

    def spending(self, segments: int) -> Any:
        def segment(number: int) -> list[dict[str, Any]]:
            pages = self.client.get_paginator("scan").paginate(
                TableName=TABLE,
                FilterExpression="kind = :kind",
                ExpressionAttributeValues={":kind": {"S": "order"}},
                Segment=number,
                TotalSegments=segments,
                Limit=3,
            )
            return [values_of(item) for page in pages for item in page["Items"]]

        sums: dict[str, int] = defaultdict(int)
        with ThreadPoolExecutor(THREADS) as threads:
            for orders in threads.map(segment, range(segments)):
                for order in orders:
                    sums[order["user"]] += order["cents"]
        return dict(sums)

    def count(self, kind: str, page_size: int) -> Any:
        pages = self.client.get_paginator("scan").paginate(
            TableName=TABLE,
            FilterExpression="kind = :kind",
            ExpressionAttributeValues={":kind": {"S": kind}},
            Select="COUNT",
            PaginationConfig={"PageSize": page_size},
        )
        counts = [(page["Count"], page["ScannedCount"]) for page in pages]
        return {"count": sum(count for count, _ in counts), "examined": sum(examined for _, examined in counts)}

    # --- what goes wrong ---

    def mistakes(self) -> Any:
        client, ada = self.client, profile_key("ada")
        calls: tuple[Any, ...] = (
            lambda: client.get_item(TableName="shup", Key=ada),
            lambda: client.create_table(**TABLE_OPTIONS),
            lambda: client.get_item(TableName=TABLE, Key={"pk": {"S": "USER#ada"}}),
            lambda: client.put_item(TableName=TABLE, Item=key("USER#ada", "")),
            lambda: client.update_item(
                TableName=TABLE,
                Key=ada,
                UpdateExpression="SET name = :name",
                ExpressionAttributeValues={":name": {"S": "A"}},
            ),
            lambda: client.update_item(
                TableName=TABLE,
                Key=ada,
                UpdateExpression="SET points = points + :one",
                ExpressionAttributeValues={":one": {"N": "1"}},
            ),
            lambda: client.query(
                TableName=TABLE,
                KeyConditionExpression="sk = :sk",
                ExpressionAttributeValues={":sk": {"S": "PROFILE"}},
            ),
            lambda: client.put_item(TableName=TABLE, Item=ada | {"text": {"S": "x" * 409_600}}),
            lambda: client.delete_item(TableName=TABLE, Key=ada, ConditionExpression="attribute_not_exists(pk)"),
        )
        return [mistake(call) for call in calls]

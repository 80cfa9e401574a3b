"""The shop as an application writes it with boto3's resources: plain Python values, conditions from Key and Attr."""

import base64
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any

import boto3
from boto3.dynamodb.conditions import Attr, Key

from tests.clients.boto3_values import TABLE, TABLE_OPTIONS, THREADS, mistake, numbers_of, plain


def key(pk: str, sk: str) -> dict[str, Any]:
    return {"pk": pk, "sk": sk}


def product_key(product: str) -> dict[str, Any]:
    return key(f"PRODUCT#{product}", "PRODUCT")


def profile_key(user: str) -> dict[str, Any]:
    return key(f"USER#{user}", "PROFILE")


def order_key(user: str, time: str, order: str) -> dict[str, Any]:
    return key(f"USER#{user}", f"ORDER#{time}#{order}")


class ResourceShop:
    """The shop; each of its threads has a resource of its own, made before the thread starts, as boto3 requires."""

    def __init__(self, endpoint: str) -> None:
        self.endpoint = endpoint
        self.session = boto3.Session()
        self.resource = self.connect()
        self.table = self.resource.Table(TABLE)
        self.refused = self.resource.meta.client.exceptions.ConditionalCheckFailedException

    def connect(self) -> Any:
        return self.session.resource(
            "dynamodb",
            endpoint_url=self.endpoint,
            region_name="eu-west-1",
            aws_access_key_id="key",
            aws_secret_access_key="secret",
        )

    def tables_for(self, threads: int) -> list[Any]:
        return [self.connect().Table(TABLE) for _ in range(threads)]

    def end(self) -> None:
        self.resource.meta.client.close()

    # --- the table ---

    def open(self) -> Any:
        self.table = self.resource.create_table(**TABLE_OPTIONS)
        self.table.wait_until_exists()
        self.table.reload()
        return {
            "status": self.table.table_status,
            "keys": [f"{part['AttributeName']} {part['KeyType']}" for part in self.table.key_schema],
            "billing": self.table.billing_mode_summary["BillingMode"],
            "items": self.table.item_count,
        }

    def tables(self) -> Any:
        return [table.name for table in self.resource.tables.all()]

    def close(self) -> Any:
        self.table.delete()
        self.table.wait_until_not_exists()
        return self.tables()

    # --- users ---

    def register_user(self, user: str, email: str, name: str, joined: str) -> Any:
        try:
            self.table.put_item(
                Item=key(f"EMAIL#{email}", "EMAIL") | {"owner": user},
                ConditionExpression=Attr("pk").not_exists(),
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
            )
        except self.refused as error:
            # boto3 leaves the item of an error in DynamoDB's own JSON.
            return {"taken_by": error.response["Item"]["owner"]["S"]}
        profile: dict[str, Any] = {
            "kind": "user",
            "name": name,
            "email": email,
            "joined": joined,
            "phone": None,
            "addresses": {},
        }
        self.table.put_item(Item=profile_key(user) | profile, ConditionExpression=Attr("pk").not_exists())
        return {"registered": user}

    def profile(self, user: str) -> Any:
        reply = self.table.get_item(
            Key=profile_key(user),
            ConsistentRead=True,
            ProjectionExpression="#name, orders, addresses.home.city, cart[0].product",
            ExpressionAttributeNames={"#name": "name"},
            ReturnConsumedCapacity="TOTAL",
        )
        return {"item": plain(reply["Item"]), "capacity": reply["ConsumedCapacity"]["CapacityUnits"]}

    def set_address(self, user: str, label: str, street: str, city: str) -> Any:
        try:
            reply = self.table.update_item(
                Key=profile_key(user),
                UpdateExpression="SET addresses.#label = :address",
                ConditionExpression=Attr("pk").exists() & Attr("kind").eq("user"),
                ExpressionAttributeNames={"#label": label},
                ExpressionAttributeValues={":address": {"street": street, "city": city}},
                ReturnValues="ALL_NEW",
            )
        except self.refused:
            return {"unknown": user}
        return plain(reply["Attributes"]["addresses"])

    def add_to_cart(self, user: str, product: str, quantity: int) -> Any:
        reply = self.table.update_item(
            Key=profile_key(user),
            UpdateExpression="SET cart = list_append(if_not_exists(cart, :none), :line)",
            ExpressionAttributeValues={":none": [], ":line": [{"product": product, "quantity": quantity}]},
            ReturnValues="UPDATED_NEW",
        )
        return [f"{line['quantity']} {line['product']}" for line in reply["Attributes"]["cart"]]

    def drop_from_cart(self, user: str, position: int) -> Any:
        reply = self.table.update_item(
            Key=profile_key(user),
            UpdateExpression=f"REMOVE cart[{position}]",
            ReturnValues="ALL_NEW",
        )
        return [f"{line['quantity']} {line['product']}" for line in reply["Attributes"]["cart"]]

    # --- products ---

    def add_product(self, product: str, **given: Any) -> Any:
        values = numbers_of(given) | {
            "kind": "product",
            "picture": base64.b64decode(given["picture"]),
            "tags": set(given["tags"]),
            "codes": set(numbers_of(given["codes"])),
            "weight": Decimal(given["weight"]),
            "for_sale": True,
            "version": 1,
        }
        try:
            self.table.put_item(Item=product_key(product) | values, ConditionExpression=Attr("pk").not_exists())
        except self.refused:
            return {"exists": product}
        return {"version": 1}

    def product(self, product: str) -> Any:
        found = self.table.get_item(Key=product_key(product), ConsistentRead=True).get("Item")
        if found is None:
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
        return {name: plain(found[name]) for name in names}

    def reprice(self, product: str, cents: int, version: int) -> Any:
        try:
            reply = self.table.update_item(
                Key=product_key(product),
                UpdateExpression="SET cents = :cents ADD version :one",
                ConditionExpression=Attr("version").eq(version),
                ExpressionAttributeValues={":cents": cents, ":one": 1},
                ReturnValues="UPDATED_NEW",
            )
        except self.refused:
            now = self.product(product)
            return {"conflict": now["cents"], "version": now["version"]}
        return plain(reply["Attributes"])

    def visit(self, product: str, times: int) -> Any:
        def some(table: Any, share: int) -> list[int]:
            counts = []
            for _ in range(share, times, THREADS):
                reply = table.update_item(
                    Key=product_key(product),
                    UpdateExpression="SET visits = if_not_exists(visits, :zero) + :one",
                    ExpressionAttributeValues={":zero": 0, ":one": 1},
                    ReturnValues="UPDATED_NEW",
                )
                counts.append(int(reply["Attributes"]["visits"]))
            return counts

        with ThreadPoolExecutor(THREADS) as threads:
            shares = threads.map(some, self.tables_for(THREADS), range(THREADS))
            counts = [count for counts in shares for count in counts]
        assert sorted(counts) == list(range(1, times + 1))
        return max(counts)

    # --- reviews ---

    def review(self, user: str, product: str, stars: int, text: str, time: str) -> Any:
        try:
            reply = self.table.update_item(
                Key=product_key(product),
                UpdateExpression="ADD reviewed_by :users, stars :stars, reviews :one",
                ConditionExpression=~Attr("reviewed_by").contains(user),
                ExpressionAttributeValues={":users": {user}, ":stars": stars, ":one": 1},
                ReturnValues="UPDATED_NEW",
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
            )
        except self.refused as error:
            return {"reviewed_by": error.response["Item"]["reviewed_by"]["SS"]}
        review = {"kind": "review", "stars": stars, "text": text, "author": {"id": user, "name": user}}
        self.table.put_item(Item=key(f"PRODUCT#{product}", f"REVIEW#{time}#{user}") | review)
        found = plain(reply["Attributes"])
        return {"reviews": found["reviews"], "stars": found["stars"]}

    def latest_reviews(self, product: str, stars: int, limit: int) -> Any:
        reply = self.table.query(
            KeyConditionExpression=Key("pk").eq(f"PRODUCT#{product}") & Key("sk").begins_with("REVIEW#"),
            FilterExpression=Attr("stars").gte(stars),
            ProjectionExpression="#text, stars, author.#name",
            ExpressionAttributeNames={"#text": "text", "#name": "name"},
            ScanIndexForward=False,
            Limit=limit,
        )
        return {"examined": reply["ScannedCount"], "reviews": plain(reply["Items"])}

    # --- orders ---

    def place_order(self, user: str, order: str, time: str, lines: list[Any]) -> Any:
        taken: list[Any] = []
        for product, quantity in lines:
            try:
                reply = self._change_stock(product, -quantity, Attr("for_sale").eq(True) & Attr("stock").gte(quantity))
            except self.refused as error:
                for other, count, _ in taken:
                    self._change_stock(other, count, Attr("pk").exists())
                return {"sold_out": product, "left": int(error.response["Item"]["stock"]["N"])}
            taken.append((product, quantity, int(reply["Attributes"]["cents"])))
        total = sum(quantity * cents for _, quantity, cents in taken)
        head = {"kind": "order", "user": user, "order": order, "status": "placed", "cents": total, "version": 1}
        self.table.put_item(
            Item=order_key(user, time, order) | head,
            ConditionExpression=Attr("pk").not_exists() & Attr("sk").not_exists(),
        )
        for number, (product, quantity, cents) in enumerate(taken):
            line = {"kind": "line", "product": product, "quantity": quantity, "cents": cents}
            self.table.put_item(Item=key(f"ORDER#{order}", f"ITEM#{number:03}") | line)
        self.table.update_item(
            Key=profile_key(user),
            AttributeUpdates={
                "orders": {"Action": "ADD", "Value": 1},
                "spent": {"Action": "ADD", "Value": total},
                "wish list": {"Action": "DELETE"},
            },
        )
        return {"cents": total}

    def _change_stock(self, product: str, by: int, condition: Any) -> Any:
        return self.table.update_item(
            Key=product_key(product),
            UpdateExpression="ADD stock :by",
            ConditionExpression=condition,
            ExpressionAttributeValues={":by": by},
            ReturnValues="ALL_NEW",
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )

    def orders(self, user: str, page_size: int) -> Any:
        pages: list[list[str]] = []
        start: dict[str, Any] = {}
        while True:
            reply = self.table.query(
                KeyConditionExpression=Key("pk").eq(f"USER#{user}") & Key("sk").begins_with("ORDER#"),
                ScanIndexForward=False,
                Limit=page_size,
                **start,
            )
            pages.append([item["order"] for item in reply["Items"]])
            if "LastEvaluatedKey" not in reply:
                return pages
            start = {"ExclusiveStartKey": reply["LastEvaluatedKey"]}

    def orders_between(self, user: str, since: str, until: str) -> Any:
        between = Key("sk").between(f"ORDER#{since}", f"ORDER#{until}")
        reply = self.table.query(KeyConditionExpression=Key("pk").eq(f"USER#{user}") & between)
        return [item["order"] for item in reply["Items"]]

    def order_lines(self, order: str) -> Any:
        reply = self.table.query(
            KeyConditions={"pk": {"AttributeValueList": [f"ORDER#{order}"], "ComparisonOperator": "EQ"}},
        )
        return [f"{line['quantity']} {line['product']} at {line['cents']}" for line in reply["Items"]]

    def move_order(self, user: str, order: str, time: str, to: str, version: int) -> Any:
        try:
            reply = self.table.update_item(
                Key=order_key(user, time, order),
                UpdateExpression="SET #status = :to, version = :next",
                ConditionExpression=Attr("version").eq(version),
                ExpressionAttributeNames={"#status": "status"},
                ExpressionAttributeValues={":to": to, ":next": version + 1},
                ReturnValues="UPDATED_NEW",
            )
        except self.refused:
            found = self.table.get_item(Key=order_key(user, time, order), ConsistentRead=True)["Item"]
            return {"conflict": found["status"], "version": plain(found["version"])}
        return plain(reply["Attributes"])

    def cancel_order(self, user: str, order: str, time: str) -> Any:
        try:
            reply = self.table.delete_item(
                Key=order_key(user, time, order),
                ConditionExpression=Attr("status").is_in(["placed", "packed"]),
                ReturnValues="ALL_OLD",
            )
        except self.refused:
            found = self.table.get_item(Key=order_key(user, time, order), ConsistentRead=True)
            return {"refused": found.get("Item", {}).get("status")}
        return {"cancelled": plain(reply["Attributes"]["cents"])}

    # --- reports ---

    def spending(self, segments: int) -> Any:
        def segment(table: Any, number: int) -> list[dict[str, Any]]:
            options = {"FilterExpression": Attr("kind").eq("order"), "Segment": number, "TotalSegments": segments}
            reply = table.scan(Limit=3, **options)
            found = list(reply["Items"])
            while "LastEvaluatedKey" in reply:
                reply = table.scan(ExclusiveStartKey=reply["LastEvaluatedKey"], **options)
                found += reply["Items"]
            return found

        sums: dict[str, int] = defaultdict(int)
        with ThreadPoolExecutor(THREADS) as threads:
            for orders in threads.map(segment, self.tables_for(segments), range(segments)):
                for order in orders:
                    sums[order["user"]] += int(order["cents"])
        return dict(sums)

    def count(self, kind: str, page_size: int) -> Any:
        counted = {"count": 0, "examined": 0}
        start: dict[str, Any] = {}
        while True:
            reply = self.table.scan(
                ScanFilter={"kind": {"AttributeValueList": [kind], "ComparisonOperator": "EQ"}},
                Select="COUNT",
                Limit=page_size,
                **start,
            )
            counted["count"] += reply["Count"]
            counted["examined"] += reply["ScannedCount"]
            if "LastEvaluatedKey" not in reply:
                return counted
            start = {"ExclusiveStartKey": reply["LastEvaluatedKey"]}

    # --- what goes wrong ---

    def mistakes(self) -> Any:
        table, ada = self.table, profile_key("ada")
        calls: tuple[Any, ...] = (
            lambda: self.resource.Table("shup").get_item(Key=ada),
            lambda: self.resource.create_table(**TABLE_OPTIONS),
            lambda: table.get_item(Key={"pk": "USER#ada"}),
            lambda: table.put_item(Item=key("USER#ada", "")),
            lambda: table.update_item(
                Key=ada,
                UpdateExpression="SET name = :name",
                ExpressionAttributeValues={":name": "A"},
            ),
            lambda: table.update_item(
                Key=ada,
                UpdateExpression="SET points = points + :one",
                ExpressionAttributeValues={":one": 1},
            ),
            lambda: table.query(KeyConditionExpression=Key("sk").eq("PROFILE")),
            lambda: table.put_item(Item=ada | {"text": "x" * 409_600}),
            lambda: table.delete_item(Key=ada, ConditionExpression=Attr("pk").not_exists()),
        )
        return [mistake(call) for call in calls]

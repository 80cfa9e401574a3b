"""A small shop whose stream handlers do the rest: it sells, revises its catalog, lets sessions end,
and knows what must come of it.

| table | key | written by | stream |
|---|---|---|---|
| `orders` | `order`, `part`: `order` or `line-1` … | the shop | new images |
| `products` | `product` | the shop; the stock by `update_inventory` | new and old images |
| `sessions` | `session`, with time to live | the shop | old images |
| `confirmations` | `order` | `confirm_orders` | |
| `movements` | `product`, `line` | `update_inventory` | |
| `search` | `word`, `product` | `keep_search_index` | |
| `archive` | `session` | `archive_sessions` | |

Failures on purpose: an order without a total, a line of a product that does not exist,
and mails that are not taken at first.
"""

import random
import re
import time
from collections.abc import Iterable
from typing import Any

import boto3

from tests.support.waiting import wait_until

TABLES = {
    "orders": (("order", "part"), "NEW_IMAGE"),
    "products": (("product",), "NEW_AND_OLD_IMAGES"),
    "sessions": (("session",), "OLD_IMAGE"),
    "confirmations": (("order",), None),
    "movements": (("product", "line"), None),
    "search": (("word", "product"), None),
    "archive": (("session",), None),
}
"""Names of tables → names of keys, view type of the stream."""
PRODUCTS = [f"product-{number:02}" for number in range(40)]
SOLD, LAST = PRODUCTS[:25], PRODUCTS[32:]
"""Products that are ordered, and those that are put last, so that all records of the catalog come before them."""
STOCK = 1000
WORDS = ["red", "green", "small", "large", "wooden", "round", "square", "soft", "chair", "table", "lamp", "bowl"]
NO_PRODUCT = "no-such-product"
WITHOUT_TOTAL, WITHOUT_PRODUCT = 21, 37
"""Numbers of the orders that cannot be confirmed, and cannot be taken from the stock."""
REFUSED_AT_FIRST = ["order-0004", "order-0005", "order-0050", "order-0071"]
"""Orders whose mails are not taken at first."""
Item = dict[str, Any]


class Shop:
    """The application and its books, in which it notes what the handlers must have done."""

    def __init__(self, endpoint: str) -> None:
        access = {"region_name": "us-east-1", "aws_access_key_id": "key", "aws_secret_access_key": "secret"}
        self.client = boto3.client("dynamodb", endpoint_url=endpoint, **access)
        self.streams = boto3.client("dynamodbstreams", endpoint_url=endpoint, **access)
        self.stream_arns: dict[str, str] = {}
        self.random = random.Random(40)
        self.confirmed: dict[str, Item] = {}
        self.movements: dict[tuple[str, str], int] = {}
        self.expired: dict[str, Item] = {}
        self.kept: dict[str, Item] = {}

    def close(self) -> None:
        """Close the connections."""
        self.client.close()
        self.streams.close()

    # --- what the shop does -----------------------------------------------------------------------

    def open(self) -> None:
        """Make the tables, and fill the catalog but for its last products."""
        for name, (keys, view_type) in TABLES.items():
            kinds, stream = ("HASH", "RANGE"), {"StreamEnabled": view_type is not None}
            made = self.client.create_table(
                TableName=name,
                BillingMode="PAY_PER_REQUEST",
                AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"} for key in keys],
                KeySchema=[{"AttributeName": key, "KeyType": kind} for key, kind in zip(keys, kinds, strict=False)],
                StreamSpecification=stream | ({"StreamViewType": view_type} if view_type else {}),
            )
            if view_type:
                self.stream_arns[name] = made["TableDescription"]["LatestStreamArn"]
        self.client.update_time_to_live(
            TableName="sessions", TimeToLiveSpecification={"Enabled": True, "AttributeName": "expires"}
        )
        for product in PRODUCTS[: -len(LAST)]:
            self.put_product(product)

    def put_product(self, product: str) -> None:
        """Put a product into the catalog, or replace one that is not sold."""
        item = {"product": {"S": product}, "stock": {"N": str(STOCK)}, **self.draw_texts()}
        self.client.put_item(TableName="products", Item=item)

    def draw_texts(self) -> Item:
        """A title and a description."""
        words = [self.random.choice(WORDS).title() for _ in range(8)]
        return {"title": {"S": " ".join(words[:2])}, "description": {"S": ", ".join(words[2:])}}

    def sell(self, numbers: Iterable[int]) -> None:
        """Place an order of one to three lines for each number, in one transaction."""
        for number in numbers:
            order = f"order-{number:04}"
            lines = [self.draw_line(order, part, number) for part in range(1, self.random.randint(1, 3) + 1)]
            head: Item = {"order": {"S": order}, "customer": {"S": f"customer-{number % 50}"}}
            if number != WITHOUT_TOTAL:
                head["total"] = {"N": str(sum(int(line["quantity"]["N"]) for line in lines) * 5)}
                self.confirmed[order] = dict(head)
            puts = [
                {"Put": {"TableName": "orders", "Item": item}} for item in [{**head, "part": {"S": "order"}}, *lines]
            ]
            self.client.transact_write_items(TransactItems=puts)

    def draw_line(self, order: str, part: int, number: int) -> Item:
        """A line of an order, which is noted in the books unless its product does not exist."""
        product = NO_PRODUCT if (number, part) == (WITHOUT_PRODUCT, 1) else self.random.choice(SOLD)
        quantity = self.random.randint(1, 4)
        if product != NO_PRODUCT:
            self.movements[product, f"{order}/line-{part}"] = quantity
        return {
            "order": {"S": order},
            "part": {"S": f"line-{part}"},
            "product": {"S": product},
            "quantity": {"N": str(quantity)},
        }

    def revise_catalog(self) -> None:
        """Give products other texts, and take some of those that are not sold out and in;
        at last put the last products.
        """
        for product in self.random.choices(SOLD, k=30):
            texts = self.draw_texts()
            self.client.update_item(
                TableName="products",
                Key={"product": {"S": product}},
                UpdateExpression="SET title = :title, description = :description",
                ExpressionAttributeValues={f":{name}": text for name, text in texts.items()},
            )
        for product in self.random.choices(PRODUCTS[len(SOLD) : -len(LAST)], k=20):
            if self.random.random() < 0.5:
                self.put_product(product)
            else:
                self.client.delete_item(TableName="products", Key={"product": {"S": product}})
        for product in LAST:
            self.put_product(product)

    def let_sessions_end(self) -> None:
        """Open sessions, of which some stay, some are deleted by their users, and some are past their time."""
        now_seconds = int(time.time())
        for number in range(30):
            session = f"session-{number:02}"
            item = {"session": {"S": session}, "user": {"S": f"customer-{number}"}}
            if number % 3 == 0:
                item["expires"] = {"N": str(now_seconds - 60)}
                self.expired[session] = item
            else:
                item["expires"] = {"N": str(now_seconds + 86_400)}
            self.client.put_item(TableName="sessions", Item=item)
            if number % 3 == 1:
                self.client.delete_item(TableName="sessions", Key={"session": item["session"]})
            elif number % 3 == 2:
                self.kept[session] = item

    # --- what the handlers do ----------------------------------------------------------------------

    def wait_for_handlers(self) -> None:
        """Wait for what the last records of each stream bring about; those of a shard are handled in their order."""
        order = max(self.confirmed)
        self.wait_for("confirmations", order=order)
        product, line = max((key for key in self.movements if key[1].startswith(order)), key=lambda key: key[1])
        self.wait_for("movements", product=product, line=line)
        for product in LAST:
            for word in words_of(self.get("products", product=product)):
                self.wait_for("search", word=word, product=product)
        wait_until(lambda: len(self.scan("archive")) == len(self.expired))

    # --- reading ----------------------------------------------------------------------------------

    def wait_for(self, table: str, **key: str) -> None:
        """Wait until the table has the item."""
        wait_until(lambda: self.get(table, **key))

    def get(self, table: str, **key: str) -> Any:
        """The item, or None."""
        names = {name: {"S": value} for name, value in key.items()}
        return self.client.get_item(TableName=table, Key=names, ConsistentRead=True).get("Item")

    def scan(self, table: str) -> list[Item]:
        """All items."""
        pages = self.client.get_paginator("scan").paginate(TableName=table, ConsistentRead=True)
        return [item for page in pages for item in page["Items"]]

    def record_of(self, order: str, part: str) -> tuple[str, Item]:
        """The record of an item of `orders`, after the id of its shard."""
        arn = self.stream_arns["orders"]
        (shard,) = self.streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]
        start = self.streams.get_shard_iterator(
            StreamArn=arn, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON"
        )
        records = self.streams.get_records(ShardIterator=start["ShardIterator"])["Records"]
        key = {"order": {"S": order}, "part": {"S": part}}
        (record,) = (one["dynamodb"] for one in records if one["dynamodb"]["Keys"] == key)
        return shard["ShardId"], record


def words_of(product: Item) -> set[str]:
    """The words with which a product must be found."""
    return set(re.findall("[a-z]+", f"{product['title']['S']} {product['description']['S']}".lower()))

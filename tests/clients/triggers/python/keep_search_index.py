"""Keeps the table `search`: an item for each word of a product's title and description,
with which the product is found.

The records of a product come in order, so that the last one decides about each of its words.
"""

import re
from typing import Any

import boto3

DATABASE = boto3.client("dynamodb")
WRITES_MAX = 25
"""Most requests of a BatchWriteItem."""


def handler(event: Any, context: Any) -> None:
    """Remove the words that products have lost, and add those that they have got."""
    changes: dict[tuple[str, str], Any] = {}
    for record in event["Records"]:
        product = record["dynamodb"]["Keys"]["product"]["S"]
        before, after = (words_of(record["dynamodb"].get(image)) for image in ("OldImage", "NewImage"))
        for word in before - after:
            changes[word, product] = {"DeleteRequest": {"Key": entry(word, product)}}
        for word in after - before:
            changes[word, product] = {"PutRequest": {"Item": entry(word, product)}}
    requests = list(changes.values())
    for start in range(0, len(requests), WRITES_MAX):
        write(requests[start : start + WRITES_MAX])


def words_of(product: Any) -> set[str]:
    """The words with which a product is found; none if it does not exist."""
    if product is None:
        return set()
    return set(re.findall("[a-z]+", f"{product['title']['S']} {product['description']['S']}".lower()))


def entry(word: str, product: str) -> dict[str, Any]:
    """The item for a word of a product."""
    return {"word": {"S": word}, "product": {"S": product}}


def write(requests: list[Any]) -> None:
    """Write until all requests have been processed."""
    unprocessed = {"search": requests}
    while unprocessed:
        unprocessed = DATABASE.batch_write_item(RequestItems=unprocessed)["UnprocessedItems"]

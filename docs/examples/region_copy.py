"""A copy in another Region: keeps a table Orders there equal to the table Orders here.

The checkpoints are in the other Region too, because a transaction does not span Regions.
The stream needs the view type NEW_IMAGE or NEW_AND_OLD_IMAGES.
"""

import os

import boto3
from stream_reader import Action, Record, StreamReader, ensure_table, main

TABLE = "Orders"
OTHER_REGION = os.environ.get("COPY_REGION", "eu-west-1")


def actions_of(record: Record) -> list[Action]:
    """The item as it is now, or no item."""
    change = record["dynamodb"]
    if record["eventName"] == "REMOVE":
        return [{"Delete": {"TableName": TABLE, "Key": change["Keys"]}}]
    return [{"Put": {"TableName": TABLE, "Item": change["NewImage"]}}]


if __name__ == "__main__":
    there = boto3.client("dynamodb", region_name=OTHER_REGION)
    table = boto3.client("dynamodb").describe_table(TableName=TABLE)["Table"]
    keys = {one["AttributeName"]: one["KeyType"] for one in table["KeySchema"]}
    types = {one["AttributeName"]: one["AttributeType"] for one in table["AttributeDefinitions"]}
    ensure_table(there, TABLE, keys, types)
    main(StreamReader("copy", TABLE, there), actions_of)

"""An application that is written for faults: with tokens, conditions and retries, its data are in the end what
it was told, whatever faults it met.

It keeps accounts with money, in random steps by a seed. Deposits are conditional on their own number, transfers are
transactions with a token, notes are written in batches; each is repeated until its outcome is known.
"""

import random
from collections import Counter
from typing import Any

import pytest
from botocore.config import Config
from botocore.exceptions import ClientError, ConnectionClosedError

from hashrange.faults.fault import Fault
from hashrange.testing.database import Database, server
from tests.support.seeds import seeds

ACCOUNTS = ["ada", "bob", "cyd", "dan"]
FAULTS = (
    Fault("throttle", share=0.1),
    Fault("throttle", share=0.05, exception="RequestLimitExceeded"),
    Fault("error", share=0.05),
    Fault("error", share=0.05, when="after"),
    Fault("error", share=0.05, table="ledger", key={"id": {"S": "ada"}}, when="after"),
    Fault("drop", share=0.05),
    Fault("drop", share=0.05, when="after"),
    Fault("half-reply", share=0.03),
    Fault("slow", seconds=0),
    Fault("unprocessed", share=0.2),
    Fault("conflict", share=0.2, seconds=5),
    Fault("conflict", share=0.02),
    Fault("stale-read", share=0.5, seconds=60),
    Fault("late-records", share=0.5, seconds=60),
)
LOST = {"InternalServerError", "ThrottlingException", "RequestLimitExceeded", "TransactionConflictException"}
"""Codes after which a write is repeated: it may have taken place, or not."""


class Application:
    """Its steps return what has certainly taken place."""

    def __init__(self, client: Any, seed: int) -> None:
        self.client = client
        self.random = random.Random(seed)
        self.balances = Counter[str]()
        """What the application believes."""
        self.earlier: dict[str, set[int]] = {account: {0} for account in ACCOUNTS}
        """The balances that each account has had."""
        self.notes: set[str] = set()
        self.number = 0

    def until_known(self, call: Any, **members: Any) -> str | None:
        """Repeat a write until its outcome is known: None, or the code with which its condition failed."""
        while True:
            try:
                call(**members)
            except ConnectionClosedError:
                continue
            except ClientError as error:
                code = str(error.response["Error"]["Code"])
                if code == "TransactionCanceledException":
                    reasons = {reason["Code"] for reason in error.response["CancellationReasons"]} - {"None"}
                    if reasons == {"ConditionalCheckFailed"}:
                        return "ConditionalCheckFailed"
                    continue
                if code == "ConditionalCheckFailedException":
                    return code
                assert code in LOST, error
                continue
            return None

    def deposit(self, account: str, amount: int) -> None:
        """Add money, once: the account's item knows the numbers of its deposits."""
        self.until_known(
            self.client.update_item,
            TableName="ledger",
            Key={"id": {"S": account}},
            UpdateExpression="ADD balance :amount, deposits :numbers",
            ConditionExpression="NOT contains(deposits, :number)",
            ExpressionAttributeValues={
                ":amount": {"N": str(amount)},
                ":numbers": {"SS": [str(self.number)]},
                ":number": {"S": str(self.number)},
            },
        )
        self.balances[account] += amount

    def transfer(self, source: str, target: str, amount: int) -> None:
        """Move money, once: the token tells a repeated transaction. Refused if there is not enough."""
        added = {":amount": {"N": str(amount)}}
        failed = self.until_known(
            self.client.transact_write_items,
            ClientRequestToken=f"transfer-{self.number}",
            TransactItems=[
                {
                    "Update": {
                        "TableName": "ledger",
                        "Key": {"id": {"S": source}},
                        "UpdateExpression": "ADD balance :less",
                        "ConditionExpression": "balance >= :amount",
                        "ExpressionAttributeValues": {**added, ":less": {"N": str(-amount)}},
                    }
                },
                {
                    "Update": {
                        "TableName": "ledger",
                        "Key": {"id": {"S": target}},
                        "UpdateExpression": "ADD balance :amount",
                        "ExpressionAttributeValues": added,
                    }
                },
            ],
        )
        assert (failed is None) == (self.balances[source] >= amount), (source, amount, self.balances)
        if failed is None:
            self.balances[source] -= amount
            self.balances[target] += amount

    def take_notes(self, count: int) -> None:
        """Write some items in a batch, and what is left over again;
        each item is the same however often it is written.
        """
        keys = [f"note-{self.number}-{number}" for number in range(count)]
        left: Any = [{"PutRequest": {"Item": {"id": {"S": key}}}} for key in keys]
        while left:
            try:
                left = self.client.batch_write_item(RequestItems={"ledger": left})["UnprocessedItems"].get("ledger")
            except ConnectionClosedError:
                continue
            except ClientError as error:
                assert error.response["Error"]["Code"] in LOST
        self.notes.update(keys)

    def look(self, account: str) -> None:
        """Read a balance as it may have been a minute ago."""
        try:
            found = self.client.get_item(TableName="ledger", Key={"id": {"S": account}}).get("Item", {})
        except (ClientError, ConnectionClosedError):
            return
        assert int(found.get("balance", {"N": "0"})["N"]) in self.earlier[account]

    def step(self) -> None:
        """Do one of these at random."""
        self.number += 1
        source, target = self.random.sample(ACCOUNTS, 2)
        amount = self.random.randrange(1, 50)
        choice = self.random.randrange(5)
        if choice < 2:
            self.deposit(source, amount)
        elif choice < 4:
            self.transfer(source, target, amount)
        else:
            self.take_notes(self.random.randrange(1, 25))
        for account in ACCOUNTS:
            self.earlier[account].add(self.balances[account])
        self.look(target)


class Follower:
    """Follows the table's stream under faults; its copy of the table is made of records alone."""

    def __init__(self, database: Database, arn: str) -> None:
        self.client = database.client("dynamodbstreams", config=Config(retries={"mode": "standard"}))
        self.arn = arn
        self.iterator: str | None = None
        self.copy: dict[str, Any] = {}

    def read(self) -> None:
        """Apply the records that are readable; after a lost reply, the same iterator is used again."""
        try:
            if self.iterator is None:
                shard = self.client.describe_stream(StreamArn=self.arn)["StreamDescription"]["Shards"][0]["ShardId"]
                self.iterator = self.client.get_shard_iterator(
                    StreamArn=self.arn, ShardId=shard, ShardIteratorType="TRIM_HORIZON"
                )["ShardIterator"]
            reply = self.client.get_records(ShardIterator=self.iterator)
        except (ClientError, ConnectionClosedError):
            return
        self.iterator = reply["NextShardIterator"]
        for record in reply["Records"]:
            key = record["dynamodb"]["Keys"]["id"]["S"]
            assert record["dynamodb"].get("OldImage") == self.copy.get(key)
            self.copy[key] = record["dynamodb"]["NewImage"]


def content(database: Database) -> dict[str, Any]:
    """All items, without faults."""
    pages = database.client().get_paginator("scan").paginate(TableName="ledger", ConsistentRead=True)
    return {item["id"]["S"]: item for page in pages for item in page["Items"]}


def make_ledger(database: Database) -> str:
    """Create the table; returns the ARN of its stream."""
    reply = database.client().create_table(
        TableName="ledger",
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    )
    return str(reply["TableDescription"]["LatestStreamArn"])


def run(database: Database, seed: int, steps: int) -> tuple[Application, list[Any]]:
    """Run the application and a follower under faults, then compare; returns the application and the report."""
    follower = Follower(database, make_ledger(database))
    database.faults.use(*FAULTS, seed=seed)
    application = Application(database.client(config=Config(retries={"mode": "standard"})), seed)
    database.clock.freeze()
    for _ in range(steps):
        application.step()
        follower.read()
        database.clock.advance(application.random.randrange(8))
    report = [(one.fault, one.operation, one.key) for one in database.faults.report]
    database.faults.clear()
    found = content(database)
    balances = {account: int(found.get(account, {}).get("balance", {"N": "0"})["N"]) for account in ACCOUNTS}
    assert balances == {account: application.balances[account] for account in ACCOUNTS}
    assert set(found) - set(ACCOUNTS) == application.notes
    follower.read()
    assert follower.copy == found
    return application, report


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """SDKs repeat requests at once."""
    monkeypatch.setattr("time.sleep", lambda seconds: None)


@pytest.mark.parametrize("seed", seeds(3, 8))
def test_the_data_are_what_the_application_was_told(seed: int) -> None:
    with server() as database:
        _, report = run(database, seed, 60)
    assert {number for number, _, _ in report} > {1, 3, 4, 6, 7, 9, 10, 11, 13}


def test_the_same_seed_is_the_same_run() -> None:
    """With frozen time, requests one after the other meet the same faults, and retries follow from them."""
    reports = []
    for _ in range(2):
        with server() as database:
            reports.append(run(database, 3, 40)[1])
    assert reports[0] == reports[1]
    assert len(reports[0]) > 100

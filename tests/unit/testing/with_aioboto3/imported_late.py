"""A suite in which aioboto3 and moto are imported only when the block has begun and clients exist.

test_mock_aioboto3.py runs it.
"""

import asyncio
import sys

import boto3

from hashrange.testing import mock_dynamodb


def test_aioboto3_may_come_late() -> None:
    async def use() -> None:
        assert not {"aioboto3", "aiobotocore"} & set(sys.modules)
        import aioboto3  # type: ignore[import-not-found]

        async with aioboto3.Session().client("dynamodb") as client:
            assert (await client.list_tables())["TableNames"] == []

    with mock_dynamodb():
        asyncio.run(use())


def test_moto_may_come_late() -> None:
    with mock_dynamodb():
        before = boto3.client("dynamodb")
        assert "moto" not in sys.modules
        from moto import mock_aws  # type: ignore[import-not-found]

        with mock_aws():
            client = boto3.client("dynamodb")
            client.create_table(
                TableName="music",
                KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
                AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
                BillingMode="PAY_PER_REQUEST",
            )
            assert before.list_tables()["TableNames"] == client.list_tables()["TableNames"] == ["music"]
            queues = boto3.client("sqs")
            assert queues.create_queue(QueueName="songs")["QueueUrl"] == queues.list_queues()["QueueUrls"][0]
        assert before.list_tables()["TableNames"] == ["music"]

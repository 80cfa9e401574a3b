"""A suite of asynchronous clients that know nothing of Hashrange: caught while a block runs,
without holding the event loop.

test_mock_aioboto3.py runs it.
"""

import asyncio
import threading
from typing import Any

import aioboto3  # type: ignore[import-not-found]
import boto3
import pytest
from aiobotocore.awsrequest import AioAWSResponse  # type: ignore[import-not-found]
from aiobotocore.httpsession import AIOHTTPSession  # type: ignore[import-not-found]
from aiobotocore.session import get_session  # type: ignore[import-not-found]
from botocore.exceptions import NoCredentialsError

from hashrange.testing import Database, ServiceNotMocked, mock_dynamodb, server
from hashrange.testing.botocore_transport import Transport

REGION = "us-east-1"
KEYS = {"region_name": REGION, "aws_access_key_id": "any", "aws_secret_access_key": "any"}
TABLE = {
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
    "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
}


class SentAway(Exception):
    """A request would have gone to the network."""


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(*_: Any, **__: Any) -> None:
        raise SentAway

    monkeypatch.setattr(AIOHTTPSession, "send", refuse)


async def tables(client: Any) -> list[str]:
    found: list[str] = (await client.list_tables())["TableNames"]
    return found


def test_clients_and_resources_are_caught_without_credentials_and_region() -> None:
    @mock_dynamodb
    async def use() -> None:
        async with aioboto3.Session().client("dynamodb") as client:
            await client.create_table(TableName="music", **TABLE)
            await client.get_waiter("table_exists").wait(TableName="music")
        async with aioboto3.Session().resource("dynamodb") as resource:
            table = await resource.Table("music")
            async with table.batch_writer() as batch:
                for number in range(30):
                    await batch.put_item(Item={"pk": str(number)})
            assert (await table.get_item(Key={"pk": "5"}))["Item"] == {"pk": "5"}
        async with get_session().create_client("dynamodb") as client:
            pages = client.get_paginator("scan").paginate(TableName="music", PaginationConfig={"PageSize": 10})
            assert sum([page["Count"] async for page in pages]) == 30
        async with aioboto3.Session().client("dynamodbstreams") as client:
            assert len((await client.list_streams())["Streams"]) == 1
        assert boto3.client("dynamodb").list_tables()["TableNames"] == ["music"]

    asyncio.run(use())


def test_other_services_are_answered_refused_or_let_through() -> None:
    async def use() -> None:
        session = aioboto3.Session(**KEYS)
        async with session.client("s3") as files, session.client("sts") as caller:
            with mock_dynamodb():
                assert (await caller.get_caller_identity())["Account"] == "000000000000"
                with pytest.raises(ServiceNotMocked, match="ListBuckets"):
                    await files.list_buckets()
            with mock_dynamodb(passthrough=["s3"]), pytest.raises(SentAway):
                await files.list_buckets()
        async with session.client("sqs", endpoint_url="http://localhost:4566") as queues:
            with mock_dynamodb(), pytest.raises(SentAway):
                await queues.list_queues()
        async with session.resource("s3") as files:
            bucket = await files.Bucket("songs")
            with mock_dynamodb(), pytest.raises(ServiceNotMocked):
                await bucket.put_object(Key="a", Body=b"x")

    asyncio.run(use())


def test_errors_are_those_of_botocore() -> None:
    async def use() -> None:
        async with aioboto3.Session().client("dynamodb") as client:
            with pytest.raises(
                client.exceptions.ResourceNotFoundException, match="Requested resource not found"
            ) as told:
                await client.get_item(TableName="nothing", Key={"pk": {"S": "a"}})
            reply = told.value.response["ResponseMetadata"]
            assert (reply["HTTPStatusCode"], len(reply["RequestId"])) == (400, 52)
            transaction = [{"ConditionCheck": {
                "TableName": "music", "Key": {"pk": {"S": "a"}}, "ConditionExpression": "attribute_exists(pk)",
            }}]  # fmt: skip
            await client.create_table(TableName="music", **TABLE)
            with pytest.raises(client.exceptions.TransactionCanceledException) as told:
                await client.transact_write_items(TransactItems=transaction)
            assert told.value.response["CancellationReasons"][0]["Code"] == "ConditionalCheckFailed"

    with mock_dynamodb():
        asyncio.run(use())


@pytest.mark.parametrize(("options", "elsewhere"), [({}, NoCredentialsError), (KEYS, SentAway)], ids=["bare", "keys"])
def test_a_client_that_was_made_before_is_caught_only_in_the_block(
    options: dict[str, str], elsewhere: type[Exception]
) -> None:
    async def use() -> None:
        async with aioboto3.Session().client("dynamodb", **({"region_name": REGION} | options)) as client:
            for _ in range(2):
                with mock_dynamodb() as outer:
                    await client.create_table(TableName="outer", **TABLE)
                    with mock_dynamodb() as inner:
                        assert inner is outer
                        assert await tables(client) == ["outer"]
                    with server() as other, mock_dynamodb(database=other):
                        assert await tables(client) == []
                    assert await tables(client) == outer.client().list_tables()["TableNames"] == ["outer"]
            with pytest.raises(elsewhere):
                await tables(client)

    asyncio.run(use())


def test_replies_have_the_form_of_aiobotocore() -> None:
    seen = []

    async def use() -> None:
        async with aioboto3.Session().client("dynamodb") as client:
            client.meta.events.register("response-received", lambda response_dict, **_: seen.append(response_dict))
            endpoint = client._endpoint
            received = endpoint._do_get_response

            async def watch(self: Any, *arguments: Any) -> Any:
                reply = await received.__func__(self, *arguments)
                seen.append(reply[0][0])
                return reply

            type(endpoint)._do_get_response = watch
            try:
                await tables(client)
            finally:
                type(endpoint)._do_get_response = received.__func__
            response = seen[0]
            assert type(response) is AioAWSResponse
            assert (response.status_code, await response.content) == (200, b'{"TableNames":[]}')
            assert await response.text == '{"TableNames":[]}'
            assert response.headers["content-length"] == "17"

    with mock_dynamodb():
        asyncio.run(use())
    assert seen[1]["body"] == b'{"TableNames":[]}'


def test_other_tasks_run_while_the_database_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer waits until another task of the same loop has run."""
    answer = Transport.answer
    has_run = threading.Event()

    def wait_and_answer(self: Transport, request: Any, **members: Any) -> Any:
        assert has_run.wait(60)
        return answer(self, request, **members)

    async def other() -> None:
        has_run.set()

    async def use() -> None:
        monkeypatch.setattr(Transport, "answer", wait_and_answer)
        async with aioboto3.Session().client("dynamodb") as client:
            asked = asyncio.create_task(tables(client))
            await asyncio.sleep(0)
            await asyncio.gather(asked, other())

    with mock_dynamodb():
        asyncio.run(use())


def test_requests_run_together() -> None:
    async def use() -> None:
        async with aioboto3.Session().resource("dynamodb") as resource:
            table = await resource.create_table(TableName="music", **TABLE)
            await asyncio.gather(*[table.put_item(Item={"pk": str(number)}) for number in range(100)])
            assert (await table.scan())["Count"] == 100

    with mock_dynamodb():
        asyncio.run(use())


def test_the_fixture_catches_them_too(hashrange_boto3: Database) -> None:
    async def use() -> None:
        async with aioboto3.Session().client("dynamodb") as client:
            await client.create_table(TableName="music", **TABLE)

    asyncio.run(use())
    assert hashrange_boto3.client().list_tables()["TableNames"] == ["music"]


@pytest.mark.parametrize("is_inside", [True, False], ids=["inside", "around"])
def test_moto_is_not_asked(is_inside: bool) -> None:
    from moto import mock_aws  # type: ignore[import-not-found]

    async def use() -> None:
        async with aioboto3.Session().client("dynamodb", region_name=REGION) as client:
            await client.create_table(TableName="music", **TABLE)
            assert await tables(client) == ["music"]

    blocks = [mock_aws(), mock_dynamodb()]
    with blocks[not is_inside], blocks[is_inside]:
        asyncio.run(use())
        assert boto3.client("dynamodb", region_name=REGION).list_tables()["TableNames"] == ["music"]
        assert boto3.client("sqs", region_name=REGION).create_queue(QueueName="songs")["QueueUrl"]

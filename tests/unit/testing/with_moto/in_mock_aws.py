"""A suite that uses moto: DynamoDB is answered by Hashrange's database, other services by moto,
whichever block is inner.

test_mock_moto.py runs it.
"""

import os
import unittest
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from typing import Any

import boto3
import pytest
from moto import mock_aws  # type: ignore[import-not-found]
from moto.core import patch_client  # type: ignore[import-not-found]
from moto.core.models import botocore_stubber  # type: ignore[import-not-found]

from hashrange.testing import Database, ServiceNotMocked, mock_dynamodb

REGION = "us-east-1"
KEYS = {"region_name": REGION, "aws_access_key_id": "any", "aws_secret_access_key": "any"}
BEFORE = boto3.client("dynamodb", **KEYS)


def create(client: Any, name: str = "music") -> None:
    client.create_table(
        TableName=name,
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
    )


def tables(client: Any) -> list[str]:
    found: list[str] = client.list_tables()["TableNames"]
    return found


def check_both(database: Database) -> None:
    """Use both in code that makes its own clients."""
    client = boto3.client("dynamodb", region_name=REGION)
    create(client)
    boto3.resource("dynamodb", region_name=REGION).Table("music").put_item(Item={"pk": "a"})
    create(BEFORE, "before")
    assert tables(client) == tables(BEFORE) == tables(database.client()) == ["before", "music"]
    assert database.client().scan(TableName="music")["Items"] == [{"pk": {"S": "a"}}]
    with pytest.raises(client.exceptions.ResourceNotFoundException, match="Requested resource not found"):
        client.get_item(TableName="nothing", Key={"pk": {"S": "a"}})
    assert len(boto3.client("dynamodbstreams", region_name=REGION).list_streams()["Streams"]) == 2
    queues = boto3.client("sqs", region_name=REGION)
    url = queues.create_queue(QueueName="songs")["QueueUrl"]
    queues.send_message(QueueUrl=url, MessageBody="play")
    assert queues.receive_message(QueueUrl=url)["Messages"][0]["Body"] == "play"
    assert boto3.client("sts", region_name=REGION).get_caller_identity()["Account"] == "123456789012"


Blocks = Callable[[ExitStack], Database]


def inside(stack: ExitStack) -> Database:
    stack.enter_context(mock_aws())
    return stack.enter_context(mock_dynamodb())


def around(stack: ExitStack) -> Database:
    database = stack.enter_context(mock_dynamodb())
    stack.enter_context(mock_aws())
    return database


@pytest.mark.parametrize("enter", [inside, around])
def test_each_service_has_its_answers(enter: Blocks) -> None:
    with ExitStack() as stack:
        check_both(enter(stack))


@pytest.mark.parametrize("enter", [inside, around])
def test_a_client_that_moto_is_told_to_patch(enter: Blocks) -> None:
    client = boto3.client("dynamodb", **KEYS)
    with ExitStack() as stack:
        database = enter(stack)
        patch_client(client)
        client.meta.events.register("before-send", botocore_stubber)  # as other versions of moto do: once more
        create(client)
        assert tables(client) == tables(database.client()) == ["music"]


def test_moto_sees_no_request_to_dynamodb() -> None:
    with mock_aws():
        with mock_dynamodb() as database:
            check_both(database)
        client = boto3.client("dynamodb", region_name=REGION)
        assert tables(client) == []
        create(client, "motos")
        assert tables(client) == ["motos"]


def test_other_services_are_motos_only_while_it_is_active() -> None:
    with mock_dynamodb():
        queues = boto3.client("sqs", region_name=REGION)
        caller = boto3.client("sts", region_name=REGION)
        for _ in range(2):
            with mock_aws():
                assert queues.create_queue(QueueName="songs")["QueueUrl"]
                assert caller.get_caller_identity()["Account"] == "123456789012"
                with mock_aws(config={"core": {"passthrough": {"services": ["sqs"]}}}), mock_dynamodb():
                    assert caller.get_caller_identity()["Account"] == "123456789012"
            with pytest.raises(ServiceNotMocked):
                queues.list_queues()
            assert caller.get_caller_identity()["Account"] == "000000000000"


def test_blocks_share_a_database_also_with_moto_between_them() -> None:
    with mock_dynamodb() as outer, mock_aws(), mock_dynamodb() as inner:
        assert inner is outer
        create(boto3.client("dynamodb", region_name=REGION))
        assert tables(outer.client()) == ["music"]


def test_as_decorators() -> None:
    @mock_aws  # type: ignore[untyped-decorator]
    @mock_dynamodb
    def within() -> list[str]:
        boto3.client("sqs", region_name=REGION).create_queue(QueueName="songs")
        create(BEFORE)
        return tables(boto3.client("dynamodb", region_name=REGION))

    @mock_dynamodb
    @mock_aws  # type: ignore[untyped-decorator]
    def without() -> list[str]:
        boto3.client("sqs", region_name=REGION).create_queue(QueueName="songs")
        create(BEFORE)
        return tables(boto3.client("dynamodb", region_name=REGION))

    assert within() == without() == within() == ["music"]


class Visits(unittest.TestCase):
    __test__ = False  # it is run below

    def setUp(self) -> None:
        create(BEFORE)
        boto3.client("sqs", region_name=REGION).create_queue(QueueName="songs")

    def test_it(self) -> None:
        self.assertEqual(tables(BEFORE), ["music"])
        queues = boto3.client("sqs", region_name=REGION)
        self.assertTrue(queues.get_queue_url(QueueName="songs")["QueueUrl"])


@pytest.mark.parametrize(
    "decorate",
    [lambda case: mock_aws(mock_dynamodb(case)), lambda case: mock_dynamodb(mock_aws(case))],
    ids=["inside", "around"],
)
def test_a_test_case_leaves_the_environment_as_it_was(decorate: Callable[[Any], Any]) -> None:
    before = {name: os.environ.get(name) for name in ("AWS_ACCESS_KEY_ID", "AWS_DEFAULT_REGION")}
    case = decorate(type("Case", (Visits,), {"setUp": Visits.setUp, "test_it": Visits.test_it}))
    result = unittest.defaultTestLoader.loadTestsFromTestCase(case).run(unittest.TestResult())
    assert (result.testsRun, result.errors, result.failures) == (1, [], [])
    assert {name: os.environ.get(name) for name in before} == before


@pytest.fixture
def aws() -> Iterator[None]:
    block: AbstractContextManager[None] = mock_aws()
    with block:
        yield


@pytest.mark.usefixtures("aws")
def test_the_fixture_for_unmodified_clients(hashrange_boto3: Database) -> None:
    check_both(hashrange_boto3)


@pytest.mark.usefixtures("aws")
def test_the_fixtures_clients(dynamodb_client: Any, dynamodb_resource: Any) -> None:
    create(dynamodb_client)
    dynamodb_resource.Table("music").put_item(Item={"pk": "a"})
    assert tables(dynamodb_client) == ["music"]
    assert dynamodb_client.scan(TableName="music")["Items"] == [{"pk": {"S": "a"}}]
    assert tables(boto3.client("dynamodb", region_name=REGION)) == []  # moto has its own


@pytest.mark.usefixtures("aws")
def test_a_session_that_is_attached_to_a_database(hashrange: Database) -> None:
    session = boto3.Session(**KEYS)
    hashrange._transport.attach(session)
    create(session.client("dynamodb"), "ours")
    assert session.client("sqs").create_queue(QueueName="songs")["QueueUrl"]
    assert tables(hashrange.client()) == ["ours"]
    assert tables(boto3.client("dynamodb", region_name=REGION)) == []  # moto has its own

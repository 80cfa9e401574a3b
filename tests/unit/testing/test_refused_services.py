"""Requests to other services while `mock_dynamodb` answers: none reaches AWS unless the caller or moto says so."""

import pickle
import sys
from types import ModuleType
from typing import Any

import boto3
import botocore
import pytest
from botocore.config import Config
from botocore.exceptions import BotoCoreError
from botocore.handlers import BUILTIN_HANDLERS
from botocore.loaders import Loader
from botocore.stub import Stubber

from hashrange.aws_services.host_endings import AWS_ENDINGS
from hashrange.settings import Settings
from hashrange.testing import ServiceNotMocked, mock_dynamodb, server
from tests.unit.testing.unmodified_clients import REGION, SentAway, configure_nothing, forbid_network, make_table

KEYS = {"aws_access_key_id": "any", "aws_secret_access_key": "any"}
CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "s3": ("put_object", {"Bucket": "songs", "Key": "a", "Body": b"x"}),
    "sqs": ("list_queues", {}),
    "sns": ("publish", {"TopicArn": "arn:aws:sns:eu-west-1:000000000000:songs", "Message": "play"}),
    "iam": ("list_users", {}),
    "secretsmanager": ("get_secret_value", {"SecretId": "a"}),
    "ssm": ("get_parameter", {"Name": "a"}),
    "kinesis": ("list_streams", {}),
    "events": ("list_rules", {}),
    "logs": ("describe_log_groups", {}),
    "cloudformation": ("list_stacks", {}),
    "sso": ("logout", {"accessToken": "a"}),
}


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    forbid_network(monkeypatch)
    configure_nothing(monkeypatch)


def call(service: str, **options: Any) -> Any:
    method, members = CALLS[service]
    return getattr(boto3.client(service, region_name=REGION, **options), method)(**members)


@pytest.mark.parametrize("service", CALLS)
def test_a_service_that_is_not_served_is_refused_by_name(service: str) -> None:
    with mock_dynamodb(), pytest.raises(ServiceNotMocked) as refused:
        call(service)
    said = str(refused.value)
    assert isinstance(refused.value, BotoCoreError)
    assert f"mock_dynamodb(passthrough=[{service!r}])" in said
    assert f"{service} " in said
    assert "DynamoDB, DynamoDB Streams, CloudWatch, Application Auto Scaling, DAX and STS" in said
    assert str(pickle.loads(pickle.dumps(refused.value))) == said


@pytest.mark.parametrize("mode", ["legacy", "standard", "adaptive"])
def test_a_refusal_is_not_retried(mode: Any) -> None:
    client = boto3.client("sqs", region_name=REGION, config=Config(retries={"mode": mode, "total_max_attempts": 5}))
    asked: list[str] = []
    client.meta.events.register("before-send", lambda request, **_: asked.append(request.url))
    with mock_dynamodb(), pytest.raises(ServiceNotMocked):
        client.list_queues()
    assert len(asked) == 1


def test_a_client_and_a_resource_that_were_made_before_are_refused_without_credentials() -> None:
    client = boto3.client("sqs", region_name=REGION)
    bucket = boto3.resource("s3", region_name=REGION).Bucket("songs")
    with mock_dynamodb():
        with pytest.raises(ServiceNotMocked, match="ListQueues"):
            client.list_queues()
        with pytest.raises(ServiceNotMocked, match="PutObject"):
            bucket.put_object(Key="a", Body=b"x")
        with pytest.raises(ServiceNotMocked, match="s3"):
            bucket.upload_file(__file__, "a")


@pytest.mark.parametrize(
    ("service", "method", "member"),
    [
        ("sts", "get_caller_identity", "Account"),
        ("cloudwatch", "list_metrics", "Metrics"),
        ("dax", "describe_clusters", "Clusters"),
        ("dynamodbstreams", "list_streams", "Streams"),
    ],
)
def test_services_that_a_database_serves_are_answered(service: str, method: str, member: str) -> None:
    before = boto3.client(service, region_name=REGION)
    with mock_dynamodb() as database:
        for client in (before, boto3.client(service, region_name=REGION)):
            own = getattr(database.client(service, region_name=REGION), method)()
            assert getattr(client, method)()[member] == own[member]


def test_lambda_is_answered_by_a_database_that_has_functions() -> None:
    with mock_dynamodb(), pytest.raises(ServiceNotMocked, match=r"Settings\(functions=True\)"):
        boto3.client("lambda", region_name=REGION).list_functions()
    with server(Settings(data_dir=None, functions=True)) as database, mock_dynamodb(database=database):
        assert boto3.client("lambda", region_name=REGION).list_functions()["Functions"] == []


def test_scalable_targets_are_those_of_the_database() -> None:
    with mock_dynamodb() as database:
        make_table(
            "music", BillingMode="PROVISIONED", ProvisionedThroughput={"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}
        )
        target = {"ServiceNamespace": "dynamodb", "ResourceId": "table/music"}
        boto3.client("application-autoscaling", region_name=REGION).register_scalable_target(
            **target, ScalableDimension="dynamodb:table:ReadCapacityUnits", MinCapacity=1, MaxCapacity=5
        )
        own = database.client("application-autoscaling", region_name=REGION)
        assert len(own.describe_scalable_targets(ServiceNamespace="dynamodb")["ScalableTargets"]) == 1


def test_the_caller_lets_services_through_by_name() -> None:
    with mock_dynamodb(passthrough=["s3", "lambda"]):
        with pytest.raises(SentAway):
            call("s3")
        with pytest.raises(SentAway):
            boto3.client("lambda", region_name=REGION).list_functions()
        with pytest.raises(ServiceNotMocked):
            call("sqs")

    @mock_dynamodb(passthrough=("sqs",))
    def within() -> None:
        make_table("music")
        call("sqs")

    with pytest.raises(SentAway):
        within()


def test_an_inner_block_lets_through_what_either_does() -> None:
    with mock_dynamodb(passthrough=["s3"]) as outer:
        with mock_dynamodb(passthrough=["sqs"]) as inner:
            assert inner is outer
            for service in ("s3", "sqs"):
                with pytest.raises(SentAway):
                    call(service)
        with pytest.raises(ServiceNotMocked):
            call("sqs")
        with server() as other, mock_dynamodb(database=other), pytest.raises(SentAway):
            call("s3")


@pytest.mark.parametrize(
    ("passthrough", "kind", "said"),
    [
        ("s3", TypeError, r"passthrough=\['s3'\]"),
        (True, TypeError, "names of services"),
        ([3], TypeError, "names of services"),
        (["s33"], ValueError, "'s33'.*did you mean 's3'"),
        (["dynamodb"], ValueError, "answers dynamodb itself"),
        (["dynamodbstreams"], ValueError, "answers dynamodbstreams itself"),
    ],
)
def test_names_that_cannot_be_let_through_are_refused(passthrough: Any, kind: type[Exception], said: str) -> None:
    with pytest.raises(kind, match=said):
        mock_dynamodb(passthrough=passthrough)


@pytest.mark.parametrize("url", ["http://localhost:4566", "http://minio:9000", "https://s3.example.com"])
def test_an_endpoint_that_the_caller_has_named_is_left_alone(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with mock_dynamodb():
        with pytest.raises(SentAway):
            call("sqs", endpoint_url=url)
        with pytest.raises(SentAway):
            boto3.client("lambda", region_name=REGION, endpoint_url=url).list_functions()
        monkeypatch.setenv("AWS_ENDPOINT_URL_S3", url)
        with pytest.raises(SentAway):
            call("s3")


@pytest.mark.parametrize("region", ["us-east-1", "cn-north-1", "us-gov-west-1", "eusc-de-east-1", "us-iso-east-1"])
@pytest.mark.parametrize("options", [{}, {"config": Config(use_dualstack_endpoint=True)}])
def test_no_endpoint_of_aws_is_reached(region: str, options: dict[str, Any]) -> None:
    with mock_dynamodb(), pytest.raises(ServiceNotMocked):
        boto3.client("sqs", region_name=region, **options).list_queues()
    url = "https://vpce-1.sqs.us-east-1.vpce.amazonaws.com"
    with mock_dynamodb(), pytest.raises(ServiceNotMocked):
        call("sqs", endpoint_url=url)


def test_all_domains_of_aws_are_known() -> None:
    loader = Loader()
    known = loader.load_data("partitions")["partitions"]
    suffixes = {one["outputs"][name] for one in known for name in ("dnsSuffix", "dualStackDnsSuffix")}
    for partition in loader.load_data("endpoints")["partitions"]:
        suffixes.add(partition["dnsSuffix"])
    unknown = {suffix for suffix in suffixes if not f".{suffix}".endswith(AWS_ENDINGS)}
    assert not unknown, botocore.__version__


def test_stubs_and_handlers_are_heard_first() -> None:
    with mock_dynamodb():
        client = boto3.client("sqs", region_name=REGION)
        with Stubber(client) as stubber:
            stubber.add_response("list_queues", {"QueueUrls": ["https://one"]})
            assert client.list_queues()["QueueUrls"] == ["https://one"]

        def answer(**_: Any) -> None:
            raise SentAway

        client.meta.events.register("before-send.sqs", answer)
        with pytest.raises(SentAway):
            client.list_queues()


class StandInOfMoto:
    """What moto registers with botocore, as far as it is looked at; test_mock_moto.py has moto itself."""

    __module__ = "moto.core.botocore_stubber"
    enabled = True

    def __call__(self, **_: Any) -> None:
        """Answer nothing."""


def test_moto_answers_while_it_is_active(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in = StandInOfMoto()
    monkeypatch.setitem(sys.modules, "moto", ModuleType("moto"))
    BUILTIN_HANDLERS.append(("before-send", stand_in))
    try:
        with mock_dynamodb():
            client = boto3.Session().client("sqs", region_name=REGION)
            client.meta.events.unregister("before-send", stand_in)
            with pytest.raises(SentAway):
                client.list_queues()
            stand_in.enabled = False
            with pytest.raises(ServiceNotMocked):
                client.list_queues()
    finally:
        BUILTIN_HANDLERS.remove(("before-send", stand_in))


def test_after_the_block_requests_go_on() -> None:
    client = boto3.client("sqs", region_name=REGION, **KEYS)
    with mock_dynamodb():
        pass
    with pytest.raises(SentAway):
        client.list_queues()

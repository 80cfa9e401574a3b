"""Requests for services that are not served here: what SDKs hear, in the form of each service's errors."""

import http.client
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import boto3
import cbor2
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from hashrange.settings import Settings
from hashrange.testing import server

SERVICES = (
    "apigateway", "apigatewayv2", "autoscaling", "backup", "cloudformation", "cloudfront", "cognito-idp", "ec2", "ecs",
    "eks", "elasticache",
    "events", "firehose", "iam", "iot", "kinesis", "kms", "logs", "rds", "route53", "s3", "scheduler", "secretsmanager",
    "sns", "sqs",
    "ssm", "stepfunctions", "xray",
)  # fmt: skip
"""Services of every protocol that boto3 speaks."""


NAMES = {"cognito-idp": "AWSCognitoIdentityProviderService"}
"""What services are called whose first operation is not signed."""


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with server(Settings(data_dir=None, port=0)) as database:
        yield database.endpoint


def client_of(service: str, endpoint: str, **config: Any) -> Any:
    return boto3.client(
        service,
        endpoint_url=endpoint,
        region_name="eu-west-1",
        aws_access_key_id="any",
        aws_secret_access_key="any",
        config=Config(parameter_validation=False, inject_host_prefix=False, **config),
    )


def asked(
    method: str, url: str, body: bytes | None = None, headers: dict[str, str] | None = None
) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of the reply to one request."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc)
    try:
        connection.request(method, f"{parts.path or '/'}?{parts.query}", body, headers or {})
        reply = connection.getresponse()
        return reply.status, dict(reply.headers.items()), reply.read()
    finally:
        connection.close()


def ask_something(client: Any) -> Any:
    """Call the first operation that needs no members."""
    model = client.meta.service_model
    for name, operation in client.meta.method_to_api_mapping.items():
        shape = model.operation_model(operation).input_shape
        if shape is None or not shape.required_members:
            return getattr(client, name)()
    raise AssertionError(model.service_name)


@pytest.mark.parametrize("service", SERVICES)
def test_each_service_refuses_in_its_own_form(endpoint: str, service: str) -> None:
    client = client_of(service, endpoint, retries={"total_max_attempts": 3})
    with pytest.raises(ClientError) as refused:
        ask_something(client)
    error = refused.value.response["Error"]
    assert error["Code"] == "NotImplemented"
    name = NAMES.get(service, client.meta.service_model.signing_name)
    assert f"does not serve {name}." in error["Message"]
    assert "--others" in error["Message"]
    assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == 501
    assert refused.value.response["ResponseMetadata"]["RetryAttempts"] == 0


def test_a_head_request_is_refused_without_a_body(endpoint: str) -> None:
    with pytest.raises(ClientError) as refused:
        client_of("s3", endpoint, s3={"addressing_style": "path"}).head_object(Bucket="photos", Key="a")
    assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == 501


@pytest.mark.parametrize("key", ["metrics", "2015-03-31/functions", "_hashrange/v1/info"])
def test_a_signature_counts_more_than_a_path(endpoint: str, key: str) -> None:
    client = client_of("s3", endpoint, s3={"addressing_style": "path"})
    with pytest.raises(ClientError, match="does not serve s3"):
        client.get_object(Bucket=key.partition("/")[0], Key=key.partition("/")[2] or "x")


def test_a_presigned_url_of_another_service(endpoint: str) -> None:
    url = client_of("s3", endpoint, s3={"addressing_style": "path"}, signature_version="s3v4").generate_presigned_url(
        "get_object", Params={"Bucket": "photos", "Key": "a"}
    )
    status, _, body = asked("GET", url)
    assert status == 501
    assert b"<Error><Code>NotImplemented</Code><Message>Hashrange does not serve s3." in body


def test_cbor_is_answered_with_cbor(endpoint: str) -> None:
    headers = {"smithy-protocol": "rpc-v2-cbor", "content-type": "application/cbor"}
    _, found, body = asked("POST", f"{endpoint}/service/Swallow/operation/Fly", b"\xa0", headers)
    assert found["smithy-protocol"] == "rpc-v2-cbor"
    assert cbor2.loads(body)["message"].startswith("Hashrange does not serve Swallow.")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"X-Amz-Target": "nonsense.ListTables"}, 400),
        ({"Authorization": "AWS4-HMAC-SHA256 Credential=a/20200101/r/dynamodb/aws4_request"}, 404),
        ({"Authorization": "AWS4-HMAC-SHA256 Credential=////"}, 404),
        ({"Authorization": "AWS4-HMAC-SHA256 Credential=a/20200101/r/<b>/aws4_request"}, 404),
    ],
)
def test_what_shows_no_other_service_is_answered_as_before(endpoint: str, headers: dict[str, str], status: int) -> None:
    kind = "application/x-amz-json-1.0" if "X-Amz-Target" in headers else "text/plain"
    assert asked("POST", endpoint, b"{}", headers | {"Content-Type": kind})[0] == status

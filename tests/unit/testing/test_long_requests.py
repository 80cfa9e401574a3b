"""In-process clients are refused what a listener would not read: a test must not pass that fails over HTTP."""

from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from hashrange.settings import Settings
from hashrange.testing import server


def refusal(client: Any) -> tuple[int, str, str]:
    """Status, code and message of a write of 17 MB."""
    item = {"id": {"S": "a"}, "v": {"S": "\x01" * 120_000}}
    puts = [{"PutRequest": {"Item": item | {"id": {"S": str(number)}}}} for number in range(24)]
    with pytest.raises(ClientError) as refused:
        client.batch_write_item(RequestItems={"orders": puts})
    response = refused.value.response
    return response["ResponseMetadata"]["HTTPStatusCode"], response["Error"]["Code"], response["Error"]["Message"]


@pytest.mark.parametrize("functions", [False, True])
def test_a_body_of_17_mb_is_refused_as_over_http(*, functions: bool) -> None:
    with server(Settings(data_dir=None, functions=functions)) as database:
        keys = {"region_name": "us-east-1", "aws_access_key_id": "a", "aws_secret_access_key": "b"}
        over_http = boto3.client("dynamodb", endpoint_url=database.endpoint, **keys)
        own = refusal(database.client())
        assert own == refusal(over_http)
        assert own[:2] == (413, "RequestEntityTooLargeException")

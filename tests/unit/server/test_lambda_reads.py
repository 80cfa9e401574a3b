"""Calls with which tools only read: what no function has here is an empty list, or is not found,
and is not refused as unsupported.
"""

import io
import zipfile
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from hashrange.settings import Settings
from hashrange.testing.database import server

ARN = "arn:aws:lambda:us-east-1:000000000000:function:f"


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """A client of Lambda; there is a function `f`."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("app.py", "def handler(event, context): pass")
    with server(Settings(data_dir=None, port=0, functions=True)) as database:
        made = boto3.client(
            "lambda",
            endpoint_url=database.endpoint,
            region_name="us-east-1",
            aws_access_key_id="test",
            aws_secret_access_key="test",
        )
        made.create_function(
            FunctionName="f",
            Runtime="python3.12",
            Role="arn:aws:iam::000000000000:role/handler",
            Handler="app.handler",
            Code={"ZipFile": packed.getvalue()},
            Timeout=60,
        )
        yield made
        made.close()


@pytest.mark.parametrize(
    ("method", "members", "reply"),
    [
        ("list_aliases", {"FunctionName": "f", "FunctionVersion": "$LATEST", "MaxItems": 10_000}, {"Aliases": []}),
        ("list_function_event_invoke_configs", {"FunctionName": "f"}, {"FunctionEventInvokeConfigs": []}),
        ("list_function_url_configs", {"FunctionName": "f", "MaxItems": 50}, {"FunctionUrlConfigs": []}),
        ("list_provisioned_concurrency_configs", {"FunctionName": ARN}, {"ProvisionedConcurrencyConfigs": []}),
        ("list_layers", {"CompatibleRuntime": "python3.12"}, {"Layers": []}),
        ("list_layer_versions", {"LayerName": "numbers"}, {"LayerVersions": []}),
        ("list_code_signing_configs", {}, {"CodeSigningConfigs": []}),
        ("get_function_code_signing_config", {"FunctionName": "f"}, {"FunctionName": "f"}),
    ],
)
def test_empty_lists(client: Any, method: str, members: dict[str, Any], reply: dict[str, Any]) -> None:
    told = getattr(client, method)(**members)
    del told["ResponseMetadata"]
    assert told == reply


@pytest.mark.parametrize(
    ("method", "members", "code", "message"),
    [
        (
            "get_function_event_invoke_config",
            {},
            "ResourceNotFoundException",
            f"The function {ARN}:$LATEST doesn't have an EventInvokeConfig",
        ),
        ("get_function_url_config", {}, "ResourceNotFoundException", "The resource you requested does not exist."),
        ("get_alias", {"Name": "live"}, "ResourceNotFoundException", f"Alias not found: {ARN}:live"),
        (
            "get_provisioned_concurrency_config",
            {"Qualifier": "$LATEST"},
            "ProvisionedConcurrencyConfigNotFoundException",
            "No Provisioned Concurrency Config found for this function",
        ),
    ],
)
def test_what_is_not_found(client: Any, method: str, members: dict[str, Any], code: str, message: str) -> None:
    with pytest.raises(ClientError) as caught:
        getattr(client, method)(FunctionName="f", **members)
    told: Any = caught.value.response
    assert (told["ResponseMetadata"]["HTTPStatusCode"], told["Error"]["Code"], told["Error"]["Message"]) == (
        404,
        code,
        message,
    )


@pytest.mark.parametrize(
    ("method", "members"),
    [
        ("list_aliases", {}),
        ("list_function_event_invoke_configs", {}),
        ("list_function_url_configs", {}),
        ("list_provisioned_concurrency_configs", {}),
        ("get_function_event_invoke_config", {}),
        ("get_function_url_config", {}),
        ("get_alias", {"Name": "live"}),
        ("get_provisioned_concurrency_config", {"Qualifier": "$LATEST"}),
    ],
)
def test_a_function_that_is_missing(client: Any, method: str, members: dict[str, Any]) -> None:
    with pytest.raises(ClientError, match=r"ResourceNotFoundException.*Function not found: .*:function:g"):
        getattr(client, method)(FunctionName="g", **members)

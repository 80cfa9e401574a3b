"""The suite on a server that was started once for all tests, at the URL in SUITE_ENDPOINT;
the server keeps the tables.
"""

import os
from typing import Any

import boto3
import pytest
from steps import create_write_read, each_of_50


@pytest.fixture
def client() -> Any:
    return boto3.client(
        "dynamodb",
        endpoint_url=os.environ["SUITE_ENDPOINT"],
        region_name="us-east-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",
    )


@each_of_50
def test_a_table(number: int, client: Any) -> None:
    create_write_read(client, number)

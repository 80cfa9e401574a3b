"""The suite on moto by its decorator: each test begins with empty services."""

import boto3
from moto import mock_aws
from steps import create_write_read, each_of_50


@each_of_50
@mock_aws
def test_a_table(number: int) -> None:
    create_write_read(boto3.client("dynamodb", region_name="us-east-1"), number)

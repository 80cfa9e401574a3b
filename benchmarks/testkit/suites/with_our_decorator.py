"""The suite on Hashrange by its decorator: each test begins with an empty database."""

import boto3
from steps import create_write_read, each_of_50

from hashrange.testing import mock_dynamodb


@each_of_50
@mock_dynamodb
def test_a_table(number: int) -> None:
    create_write_read(boto3.client("dynamodb", region_name="us-east-1"), number)

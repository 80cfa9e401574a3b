"""The suite on Hashrange by its pytest fixtures: each test begins with an empty database."""

from typing import Any

from steps import create_write_read, each_of_50


@each_of_50
def test_a_table(number: int, dynamodb_client: Any) -> None:
    create_write_read(dynamodb_client, number)

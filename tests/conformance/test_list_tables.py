"""ListTables: names in order, in pages."""

from typing import Any

import pytest

from tests.conformance.tables import create_request, validation
from tests.support.raw_client import RawClient

NAMES = [f"zz-listed-{letter}" for letter in "abcde"]


@pytest.fixture(scope="module", autouse=True)
def _tables(client: Any) -> None:
    for name in reversed(NAMES):
        client.create_table(**create_request(name))


def test_pages_follow_one_another(client: Any) -> None:
    first = client.list_tables(Limit=2, ExclusiveStartTableName="zz-listed-")
    assert first["TableNames"] == NAMES[:2]
    assert first["LastEvaluatedTableName"] == NAMES[1]
    second = client.list_tables(Limit=2, ExclusiveStartTableName=NAMES[1])
    assert second["TableNames"] == NAMES[2:4]
    third = client.list_tables(Limit=2, ExclusiveStartTableName=NAMES[3])
    assert third["TableNames"] == NAMES[4:]
    assert "LastEvaluatedTableName" not in third


def test_the_paginator_finds_everything_once(client: Any) -> None:
    pages = client.get_paginator("list_tables").paginate(PaginationConfig={"PageSize": 2})
    names = [name for page in pages for name in page["TableNames"]]
    assert names == sorted(set(names))
    assert set(NAMES) <= set(names)


def test_the_start_need_not_exist(client: Any) -> None:
    assert client.list_tables(ExclusiveStartTableName="zz-listed-bb")["TableNames"] == NAMES[2:]


def test_a_page_that_ends_exactly_says_no_more(client: Any) -> None:
    assert "LastEvaluatedTableName" not in client.list_tables(Limit=5, ExclusiveStartTableName="zz-listed-")


@pytest.mark.parametrize(("limit", "bound"), [(0, "greater than or equal to 1"), (101, "less than or equal to 100")])
def test_limits_of_the_limit(raw: RawClient, limit: int, bound: str) -> None:
    assert validation(raw, "ListTables", {"Limit": limit}) == (
        f"1 validation error detected: Value '{limit}' at 'limit' failed to satisfy constraint:"
        f" Member must have value {bound}"
    )


def test_limit_is_reported_before_the_start(raw: RawClient) -> None:
    message = validation(raw, "ListTables", {"Limit": 0, "ExclusiveStartTableName": "a;"})
    assert message is not None
    assert message.startswith("3 validation errors detected: Value '0' at 'limit'")


def test_a_start_has_the_characters_and_the_length_of_a_name(raw: RawClient) -> None:
    message = validation(raw, "ListTables", {"ExclusiveStartTableName": "arn:aws:dynamodb"})
    assert message is not None
    assert message.endswith("Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+")
    assert raw("ListTables", {"ExclusiveStartTableName": "a" * 255}).status == 200
    message = validation(raw, "ListTables", {"ExclusiveStartTableName": "a" * 256})
    assert message is not None
    assert message.endswith("Member must have length less than or equal to 255")

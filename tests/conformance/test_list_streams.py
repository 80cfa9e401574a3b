"""ListStreams: by table and by ARN, in pages."""

from typing import Any

import pytest

from tests.conformance.streams import STREAMS, ask_stream, make_stream_table
from tests.conformance.tables import create_request, fresh_name, validation
from tests.support.raw_client import RawClient


def streams(raw: RawClient, **members: Any) -> Any:
    return ask_stream(raw, "ListStreams", **members)


def test_a_table_s_stream_is_listed(raw: RawClient) -> None:
    table = make_stream_table(raw)
    label = table.arn.rpartition("/")[2]
    expected = {"StreamArn": table.arn, "TableName": table.name, "StreamLabel": label}
    assert streams(raw, TableName=table.name) == {"Streams": [expected]}
    assert expected in [one for page in all_pages(raw, Limit=2) for one in page]


def all_pages(raw: RawClient, **members: Any) -> list[Any]:
    found = []
    start: dict[str, Any] = {}
    while True:
        page = streams(raw, **members, **start)
        found.append(page["Streams"])
        if "LastEvaluatedStreamArn" not in page:
            return found
        start = {"ExclusiveStartStreamArn": page["LastEvaluatedStreamArn"]}


def test_a_table_without_streams_and_one_that_is_not_there_have_none(raw: RawClient) -> None:
    name = fresh_name()
    raw("CreateTable", create_request(name))
    assert streams(raw, TableName=name) == {"Streams": []}
    assert streams(raw, TableName="there-is-no-such-table") == {"Streams": []}


def test_pages_are_in_order_and_end(raw: RawClient) -> None:
    tables = [make_stream_table(raw) for _ in range(3)]
    arns = [one["StreamArn"] for page in all_pages(raw, Limit=1) for one in page]
    names = [one.split("/")[1] for one in arns]
    assert names == sorted(names)
    assert {one.arn for one in tables} <= set(arns)
    assert all(len(page) == 1 for page in all_pages(raw, Limit=1))


def test_the_newest_stream_of_a_table_comes_first(raw: RawClient) -> None:
    table = make_stream_table(raw)
    for is_on in (False, True, False, True):
        specification: dict[str, Any] = {"StreamEnabled": is_on}
        if is_on:
            specification["StreamViewType"] = "KEYS_ONLY"
        raw("UpdateTable", {"TableName": table.name, "StreamSpecification": specification})
    newest = raw("DescribeTable", {"TableName": table.name}).json()["Table"]["LatestStreamArn"]
    listed = [one["StreamArn"] for one in streams(raw, TableName=table.name)["Streams"]]
    assert listed[0] == newest
    assert listed == sorted(listed, reverse=True)
    assert (len(listed), listed[-1]) == (3, table.arn)
    assert [page[0]["StreamArn"] for page in all_pages(raw, TableName=table.name, Limit=1)] == listed


def test_a_page_goes_on_behind_a_table_that_is_gone(raw: RawClient) -> None:
    table = make_stream_table(raw)
    raw("DeleteTable", {"TableName": table.name})
    behind = streams(raw, ExclusiveStartStreamArn=table.arn)["Streams"]
    assert all(one["TableName"] > table.name for one in behind)
    assert streams(raw, TableName=table.name)["Streams"][0]["StreamArn"] == table.arn


@pytest.mark.parametrize("limit", [0, -1, 101])
def test_limits(raw: RawClient, limit: int) -> None:
    assert "limit" in str(validation(raw, STREAMS + "ListStreams", {"Limit": limit}))


def test_an_arn_that_is_none(raw: RawClient) -> None:
    request = {"ExclusiveStartStreamArn": "x" * 40}
    assert validation(raw, STREAMS + "ListStreams", request) == f"Invalid StreamArn: {'x' * 40}"

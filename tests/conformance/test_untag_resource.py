"""UntagResource: removes tags; keys of missing tags are not an error."""

from typing import Any

import pytest

from tests.conformance.tables import tagged_table, tags, validation
from tests.support.raw_client import RawClient


def test_tags_are_taken_away(client: Any) -> None:
    arn = tagged_table(client)
    client.tag_resource(ResourceArn=arn, Tags=tags(3))
    client.untag_resource(ResourceArn=arn, TagKeys=["key001", "never-there", "key001"])
    assert client.list_tags_of_resource(ResourceArn=arn)["Tags"] == [*tags(1), *tags(1, start=2)]


def test_keys_have_a_length(client: Any, raw: RawClient) -> None:
    arn = tagged_table(client)
    for key in ("", "k" * 129):
        request = {"ResourceArn": arn, "TagKeys": [key]}
        assert validation(raw, "UntagResource", request) == f"The Tag Key provided is invalid, Key: {key}"


@pytest.mark.parametrize(
    ("operation", "members"), [("TagResource", {"Tags": tags(1)}), ("UntagResource", {"TagKeys": ["a"]})]
)
def test_an_operation_without_output_answers_nothing(
    client: Any, raw: RawClient, operation: str, members: dict[str, Any]
) -> None:
    reply = raw(operation, {"ResourceArn": tagged_table(client)} | members)
    assert (reply.status, reply.body) == (200, b"")
    assert (reply.headers["content-length"], reply.headers["x-amz-crc32"]) == ("0", "0")

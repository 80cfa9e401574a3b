"""ListTagsOfResource: all tags, by key, in pages."""

from typing import Any

import pytest

from tests.conformance.tables import tagged_table, tags, validation
from tests.support.raw_client import RawClient


@pytest.fixture
def arn(client: Any) -> str:
    """ARN of a table without tags."""
    return tagged_table(client)


def test_the_paginator_finds_fifty_tags(client: Any, arn: str) -> None:
    client.tag_resource(ResourceArn=arn, Tags=tags(50))
    pages = client.get_paginator("list_tags_of_resource").paginate(ResourceArn=arn)
    assert [tag for page in pages for tag in page["Tags"]] == tags(50)


def test_a_page_that_holds_everything_gives_no_token(client: Any, arn: str) -> None:
    assert client.list_tags_of_resource(ResourceArn=arn)["Tags"] == []
    client.tag_resource(ResourceArn=arn, Tags=tags(3))
    reply = client.list_tags_of_resource(ResourceArn=arn)
    assert reply["Tags"] == tags(3)
    assert "NextToken" not in reply


def test_tokens_that_nobody_gave_are_refused(raw: RawClient, arn: str) -> None:
    assert "NextToken" in str(validation(raw, "ListTagsOfResource", {"ResourceArn": arn, "NextToken": "%%"}))

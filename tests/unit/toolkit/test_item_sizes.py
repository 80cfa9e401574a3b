"""Sizes of items that boto3 has read are those that the server counts, and entries hold what an index projects."""

import json
from base64 import b64decode
from typing import Any

import pytest

from hashrange.toolkit.item_sizes import projected_bytes, read_item_bytes
from tests.scripts.cases import FOLDER, CaseFile

SIZES = [line.split(None, 1) for case in CaseFile(FOLDER / "sizes.case").cases for line in case.expected.splitlines()]


def as_read(value: dict[str, Any]) -> dict[str, Any]:
    """A value of a request as boto3 returns it."""
    ((kind, content),) = value.items()
    match kind:
        case "B":
            return {kind: b64decode(content)}
        case "BS":
            return {kind: [b64decode(one) for one in content]}
        case "M":
            return {kind: {name: as_read(one) for name, one in content.items()}}
        case "L":
            return {kind: [as_read(one) for one in content]}
    return value


@pytest.mark.parametrize(("size", "text"), SIZES)
def test_an_item_has_the_size_that_the_server_counts(size: str, text: str) -> None:
    item = {name: as_read(value) for name, value in json.loads(text).items()}
    assert read_item_bytes(item) == int(size)


@pytest.mark.parametrize(
    ("projection", "size"),
    [
        ({"ProjectionType": "ALL"}, 4 * 2 + 100),
        ({"ProjectionType": "KEYS_ONLY"}, 3 * 2),
        ({"ProjectionType": "INCLUDE", "NonKeyAttributes": ["t", "missing"]}, 3 * 2 + 101),
    ],
)
def test_an_entry_holds_keys_and_what_is_projected(projection: dict[str, Any], size: int) -> None:
    item = {"p": {"S": "1"}, "s": {"S": "1"}, "k": {"S": "1"}, "t": {"S": "x" * 100}}
    if projection["ProjectionType"] == "ALL":
        item["u"] = {"S": ""}
    index = {"KeySchema": [{"AttributeName": "k", "KeyType": "HASH"}], "Projection": projection}
    assert projected_bytes(item, ["p", "s"], index) == size
    del item["k"]
    assert projected_bytes(item, ["p", "s"], index) is None

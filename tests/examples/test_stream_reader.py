"""The examples' reader must handle a list of shards in any order, not only in the order in which
servers usually return it.
"""

from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


class Streams:
    """A stream that lists a child shard before its parent, on another page."""

    def describe_stream(self, **members: Any) -> Any:
        """A page with a single shard."""
        if "ExclusiveStartShardId" not in members:
            shards = [{"ShardId": "child", "ParentShardId": "parent"}]
            return {"StreamDescription": {"Shards": shards, "LastEvaluatedShardId": "child"}}
        return {"StreamDescription": {"Shards": [{"ShardId": "parent", "ParentShardId": "gone"}]}}


def test_a_child_waits_until_its_parent_is_drained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    from stream_reader import StreamReader

    reader = StreamReader.__new__(StreamReader)
    reader._streams, reader._arn, reader._drained = Streams(), "arn", set()
    assert reader._ready_shards() == ["parent"]
    reader._drained.add("parent")
    assert reader._ready_shards() == ["child"]

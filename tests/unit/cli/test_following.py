"""`Following` a stream in cases that a real server seldom shows: expired iterators, trimmed records,
shards that appear during listing.
"""

from typing import Any

import pytest

from hashrange.cli.following import Following, Record, ShardTrimmed, StreamGone
from hashrange.cli.remote import RefusedRequest

PARENT, CHILD = "shard-parent", "shard-child"


class Server:
    """A stub server: gives the replies that a test prepared, and records where iterators were requested."""

    replied_at_seconds = 100.0

    def __init__(self, *listed: dict[str, Any]) -> None:
        self.listed = list(listed)
        self.status = "ENABLED"
        self.pages: dict[str, list[Any]] = {}
        """Shard → its replies to GetRecords, in order: a list of records (with None at the end of a closed shard),
        or an error code."""
        self.places: list[tuple[str, dict[str, Any]]] = []

    def ask(self, operation: str, service: str = "dynamodb", /, **members: Any) -> Any:
        """The stub of `Remote.ask`."""
        assert service == "streams"
        if operation == "DescribeStream":
            first = members.get("ExclusiveStartShardId")
            ids = [one["ShardId"] for one in self.listed]
            start = 0 if first is None else ids.index(first) + 1
            page: dict[str, Any] = {"Shards": self.listed[start : start + 1], "StreamStatus": self.status}
            if start + 1 < len(ids):
                page["LastEvaluatedShardId"] = ids[start]
            return {"StreamDescription": page}
        if operation == "GetShardIterator":
            if all(one["ShardId"] != members["ShardId"] for one in self.listed):
                raise RefusedRequest("ResourceNotFoundException", "", "no such shard")
            place = {name: value for name, value in members.items() if name not in {"StreamArn", "ShardId"}}
            self.places.append((members["ShardId"], place))
            return {"ShardIterator": members["ShardId"]}
        answer = self.pages[members["ShardIterator"]].pop(0)
        if isinstance(answer, str):
            raise RefusedRequest(answer, "", answer)
        records = [one for one in answer if one is not None]
        return {"Records": records} | ({} if None in answer else {"NextShardIterator": members["ShardIterator"]})


def begun(server: Any, *, is_from_start: bool) -> Following:
    """The following of a stub's stream."""
    return Following(server, "arn", is_from_start=is_from_start)


def shard(shard_id: str, parent: str | None = None, *, is_open: bool = True) -> dict[str, Any]:
    """A shard in the form of DescribeStream's reply."""
    described: dict[str, Any] = {"ShardId": shard_id, "SequenceNumberRange": {"StartingSequenceNumber": "1"}}
    if parent is not None:
        described["ParentShardId"] = parent
    if not is_open:
        described["SequenceNumberRange"]["EndingSequenceNumber"] = "9"
    return described


def record(sequence: int, at_seconds: int = 90) -> Record:
    return {"dynamodb": {"SequenceNumber": str(sequence), "ApproximateCreationDateTime": at_seconds}}


def numbers(following: Following) -> list[int]:
    """Sequence numbers of the records that one `look` returns."""
    return [int(one["dynamodb"]["SequenceNumber"]) for part in following.look() for one in part]


def test_an_expired_iterator_goes_on_behind_the_last_record() -> None:
    server = Server(shard(PARENT))
    server.pages[PARENT] = [[record(5)], "ExpiredIteratorException", [record(6)]]
    following = begun(server, is_from_start=True)
    assert (numbers(following), numbers(following)) == ([5], [6])
    assert server.places == [
        (PARENT, {"ShardIteratorType": "TRIM_HORIZON"}),
        (PARENT, {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": "5"}),
    ]


def test_an_iterator_that_expires_unused_goes_on_from_when_it_was_given_out() -> None:
    server = Server(shard(PARENT))
    following = begun(server, is_from_start=False)
    server.replied_at_seconds = 2000.0
    server.pages[PARENT] = ["ExpiredIteratorException", [record(6)]]
    assert numbers(following) == [6]
    assert server.places == [
        (PARENT, {"ShardIteratorType": "LATEST"}),
        (PARENT, {"ShardIteratorType": "AT_TIMESTAMP", "Timestamp": 100.0}),
    ]


def test_children_wait_for_their_parents() -> None:
    server = Server(shard(PARENT, is_open=False), shard(CHILD, PARENT))
    server.pages = {PARENT: [[record(1)], [record(2), None]], CHILD: [[record(3)]]}
    following = begun(server, is_from_start=True)
    assert [numbers(following) for _ in range(3)] == [[1], [2], [3]]


def test_a_shard_that_ends_while_shards_are_listed_is_followed_by_its_whole_child() -> None:
    server = Server(shard(PARENT), shard(CHILD, PARENT))
    server.pages = {PARENT: [[record(1), None]], CHILD: [[record(2)]]}
    following = begun(server, is_from_start=False)
    assert [numbers(following) for _ in range(2)] == [[1], [2]]
    assert server.places[-1] == (CHILD, {"ShardIteratorType": "TRIM_HORIZON"})


def test_shards_that_had_ended_are_passed_over_unless_asked_for() -> None:
    server = Server(shard(PARENT, is_open=False), shard(CHILD, PARENT))
    server.pages = {CHILD: [[record(3)]]}
    assert numbers(begun(server, is_from_start=False)) == [3]
    assert server.places == [(CHILD, {"ShardIteratorType": "LATEST"})]


def test_a_child_that_is_listed_late_is_found() -> None:
    server = Server(shard(PARENT))
    server.pages = {PARENT: [[record(1), None]], CHILD: [[record(2)]]}
    following = begun(server, is_from_start=True)
    assert numbers(following) == [1]
    assert not following.is_at_end
    assert numbers(following) == []
    server.listed = [shard(PARENT, is_open=False), shard(CHILD, PARENT)]
    assert numbers(following) == [2]


def test_records_of_several_shards_are_in_the_order_of_their_numbers() -> None:
    server = Server(shard("a"), shard("b"))
    server.pages = {"a": [[record(9), record(100)]], "b": [[record(10)]]}
    assert numbers(begun(server, is_from_start=True)) == [9, 10, 100]


def test_the_end_of_what_there_is() -> None:
    server = Server(shard(PARENT))
    server.pages[PARENT] = [[record(1, 99)], [record(2, 101)], [], [record(number, 101) for number in range(3, 1003)]]
    following = begun(server, is_from_start=True)
    ends = [(numbers(following), following.is_at_end)[1] for _ in range(4)]
    assert ends == [False, True, True, False]


def test_the_end_of_the_stream() -> None:
    server = Server(shard(PARENT))
    server.pages[PARENT] = [[record(1), None]]
    following = begun(server, is_from_start=True)
    assert numbers(following) == [1]
    assert not following.has_ended
    server.listed, server.status = [shard(PARENT, is_open=False)], "DISABLED"
    assert numbers(following) == []
    assert following.has_ended
    assert following.is_at_end


def test_what_is_gone_is_told() -> None:
    server = Server(shard(PARENT))
    server.pages[PARENT] = ["ResourceNotFoundException", "TrimmedDataAccessException"]
    following = begun(server, is_from_start=True)
    with pytest.raises(StreamGone):
        numbers(following)
    with pytest.raises(ShardTrimmed):
        numbers(following)


def test_a_shard_that_was_deleted_unread_is_no_end_of_the_stream() -> None:
    server = Server(shard(PARENT))
    server.pages[PARENT] = [[record(1)], "ExpiredIteratorException"]
    following = begun(server, is_from_start=True)
    assert numbers(following) == [1]
    server.listed = [shard(CHILD, PARENT)]
    with pytest.raises(ShardTrimmed):
        numbers(following)

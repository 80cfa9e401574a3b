"""Which records of a stream are new? Each call of `Following.look` reads on in all shards, children after parents.

All changes of an item are in a shard and its descendants, so reading a parent to its end before its children keeps the
changes in order. Each record is read once. No function here waits for new records; the caller decides when to call
`look` again.
Source for the members of requests and replies: developer guide, "Streams" record of 2026.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from hashrange.cli.remote import RefusedRequest, Remote

Record = dict[str, Any]

PAGE_RECORDS_MAX = 1000
SHARDS_AT_ONCE = 32
"""Shards whose next GetRecords replies, of at most 1 MB each, are held in memory and sorted together."""


class StreamGone(Exception):
    """The stream no longer exists, or an iterator's shard; in most cases the stream ended more than a day ago."""


class ShardTrimmed(Exception):
    """Records were deleted before they were read, perhaps with their shard: reading has paused for over a day."""


class FollowedShard(msgspec.Struct, eq=False):
    """A shard of a stream, and how far it has been read."""

    shard_id: str
    parent: str | None
    place: dict[str, Any]
    """Members of a GetShardIterator request for an iterator at the next record to read."""
    iterator: str | None = None
    is_at_end: bool = False
    """True if the last reply shows that the shard's records that existed when following began have been read."""
    is_drained: bool = False
    """True if the shard is closed and read to its end, or skipped, as it closed before the records to follow."""


class Following:
    """A stream, and how far it has been read."""

    def __init__(self, server: Remote, arn: str, *, is_from_start: bool) -> None:
        """Begin with the oldest record if `is_from_start`, or else after the newest. Raises RemoteError, StreamGone."""
        self._server = server
        self._arn = arn
        self._is_on = True
        self._shards: dict[str, FollowedShard] = {}
        described = self._described()
        self._began_at_seconds = server.replied_at_seconds
        open_ids = {one["ShardId"] for one in described if is_open(one)}
        for one in described:
            # A child of a shard listed as open began during the listing, so all its records are new.
            is_whole = is_from_start or one.get("ParentShardId") in open_ids
            shard = self._add(one, "TRIM_HORIZON" if is_whole else "LATEST")
            shard.is_drained = not is_from_start and not is_open(one)
            if not is_whole and not shard.is_drained:
                self._renew(shard)

    @property
    def is_at_end(self) -> bool:
        """True if the last replies show that the stream's records that existed when following began have been read."""
        return not self._lacks_children() and all(one.is_drained or one.is_at_end for one in self._shards.values())

    @property
    def has_ended(self) -> bool:
        """True if the stream is disabled and read to its end."""
        return not self._is_on and all(one.is_drained for one in self._shards.values())

    def look(self) -> Iterator[list[Record]]:
        """Yield the records that no earlier call yielded, in lists, each sorted by sequence number.

        Each call reads at most one GetRecords reply per shard, so more may follow. Raises RemoteError, StreamGone,
        ShardTrimmed.
        """
        if self._lacks_children():
            self._find_new_shards()
        unread = {one.shard_id for one in self._shards.values() if not one.is_drained}
        ready = [one for one in self._shards.values() if one.shard_id in unread and one.parent not in unread]
        for start in range(0, len(ready), SHARDS_AT_ONCE):
            records = [record for one in ready[start : start + SHARDS_AT_ONCE] for record in self._read(one)]
            yield sorted(records, key=lambda record: int(record["dynamodb"]["SequenceNumber"]))

    def _lacks_children(self) -> bool:
        """True if a shard of an enabled stream is read to its end, but none of its one or two children is known."""
        parents = {one.parent for one in self._shards.values()}
        return self._is_on and any(one.is_drained and one.shard_id not in parents for one in self._shards.values())

    def _find_new_shards(self) -> None:
        described = self._described()
        for one in described:
            if one["ShardId"] not in self._shards:
                self._add(one, "TRIM_HORIZON")
        listed = {one["ShardId"] for one in described}
        self._shards = {
            key: shard for key, shard in self._shards.items() if not (shard.is_drained and key not in listed)
        }

    def _add(self, described: dict[str, Any], kind: str) -> FollowedShard:
        """Take in a shard. `kind`: type of its first iterator, TRIM_HORIZON or LATEST."""
        shard = FollowedShard(described["ShardId"], described.get("ParentShardId"), {"ShardIteratorType": kind})
        self._shards[shard.shard_id] = shard
        return shard

    def _described(self) -> list[dict[str, Any]]:
        """Descriptions of all shards of the stream, from DescribeStream; also notes whether the stream is on."""
        shards: list[dict[str, Any]] = []
        start: dict[str, str] = {}
        while True:
            reply = self._ask_stream("DescribeStream", StreamArn=self._arn, **start)["StreamDescription"]
            shards += reply["Shards"]
            self._is_on = reply["StreamStatus"] in {"ENABLED", "ENABLING"}
            if "LastEvaluatedShardId" not in reply:
                return shards
            start = {"ExclusiveStartShardId": reply["LastEvaluatedShardId"]}

    def _read(self, shard: FollowedShard) -> list[Record]:
        """The records of a shard's next GetRecords reply; advances the shard's iterator."""
        if shard.iterator is None:
            self._renew(shard)
        try:
            page = self._ask_stream("GetRecords", ShardIterator=shard.iterator, Limit=PAGE_RECORDS_MAX)
        except RefusedRequest as refusal:
            if refusal.code != "ExpiredIteratorException":
                raise
            self._renew(shard)  # iterators expire after 15 minutes, for instance while the process is suspended
            page = self._ask_stream("GetRecords", ShardIterator=shard.iterator, Limit=PAGE_RECORDS_MAX)
        records: list[Record] = page["Records"]
        shard.iterator = page.get("NextShardIterator")
        shard.is_drained = shard.iterator is None
        shard.is_at_end = not records
        if records:
            last = records[-1]["dynamodb"]
            # With constant writes no reply is empty, so the end is also a reply that is not full and whose last record
            # was written after following began.
            is_newer = last["ApproximateCreationDateTime"] > self._began_at_seconds
            shard.is_at_end = is_newer and len(records) < PAGE_RECORDS_MAX
            shard.place = {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": last["SequenceNumber"]}
        return records

    def _renew(self, shard: FollowedShard) -> None:
        """Get a new iterator for the shard's next record. Raises ShardTrimmed."""
        try:
            reply = self._ask_stream("GetShardIterator", StreamArn=self._arn, ShardId=shard.shard_id, **shard.place)
        except StreamGone:
            self._described()  # raises StreamGone unless only the shard is gone
            raise ShardTrimmed from None
        shard.iterator = reply["ShardIterator"]
        # If this iterator expires unused, a second LATEST would skip records: continue from the time of this reply.
        if shard.place["ShardIteratorType"] == "LATEST":
            shard.place = {"ShardIteratorType": "AT_TIMESTAMP", "Timestamp": self._server.replied_at_seconds}

    def _ask_stream(self, operation: str, **members: Any) -> Any:
        try:
            return self._server.ask(operation, "streams", **members)
        except RefusedRequest as refusal:
            if refusal.code == "ResourceNotFoundException":
                raise StreamGone from refusal
            if refusal.code == "TrimmedDataAccessException":
                raise ShardTrimmed from refusal
            raise


def is_open(described: dict[str, Any]) -> bool:
    """True if a shard, as DescribeStream describes it, may get further records."""
    return "EndingSequenceNumber" not in described["SequenceNumberRange"]

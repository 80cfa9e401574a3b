"""How do the changes of a table follow into its copy? Its stream is read, children of a shard after it, and of each
page the last change of each item is written.

Reading begins with the oldest change of each shard that was open before the first item was copied. So changes come
again that the copied items have already; the last one of an item leaves it as it is in the source.
"""

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from hashrange.toolkit.failures import ToolkitFailure
from hashrange.toolkit.moving.batch_writer import BATCH_ITEMS, BatchWriter, item_deletion, item_put
from hashrange.toolkit.moving.pages import NO_KEY
from hashrange.toolkit.moving.raw_client import RawClient
from hashrange.toolkit.moving.table_copy import CopyState, ShardPlace
from hashrange.toolkit.target import Target

IMAGES = {"NEW_IMAGE", "NEW_AND_OLD_IMAGES"}
"""View types of streams that tell what an item has become."""
REMOVED = "REMOVE"
"""Name of the event that an item was deleted."""
MISSED = "changes of {arn} were missed, because a stream keeps them for 24 hours. Begin the copy again."


class ChangedItem(msgspec.Struct, gc=False):
    """What a record tells of an item."""

    keys: msgspec.Raw = msgspec.field(name="Keys")
    sequence_number: str = msgspec.field(name="SequenceNumber")
    new_image: msgspec.Raw = msgspec.field(name="NewImage", default=NO_KEY)


class FollowedChange(msgspec.Struct, gc=False):
    """A record of a stream."""

    dynamodb: ChangedItem
    event_name: str = msgspec.field(name="eventName")


class StreamPage(msgspec.Struct, rename="pascal", gc=False):
    """A reply to GetRecords."""

    records: list[FollowedChange]
    next_shard_iterator: str | None = None


_decode_page = msgspec.json.Decoder(StreamPage).decode


class StreamFollowing:
    """The stream of a source, whose changes are written to the copy."""

    def __init__(
        self,
        source: Target,
        client: RawClient,
        arn: str,
        writer: BatchWriter,
        state: CopyState,
        keep: Callable[[CopyState], None],
    ) -> None:
        """`client`: one of the service `dynamodbstreams`. `keep`: is told each change of state."""
        self._source, self._client, self._arn, self._writer = source, client, arn, writer
        self._state, self._keep = state, keep
        self._iterators: dict[str, str] = {}
        self._parents: dict[str, str | None] = {}
        self.has_ended = False
        """True if the stream is off and read to its end."""

    def begin(self) -> None:
        """Note the shards, before the first item is read. Raises ToolkitFailure."""
        self._state.shards = {
            shard_id: ShardPlace(is_drained=not is_open) for shard_id, is_open in self._find_shards().items()
        }

    def look(self) -> bool:
        """Write what is new in each shard, at most a page of each; False if nothing is. Raises ToolkitFailure."""
        shards = self._state.shards
        assert shards is not None
        if not self._parents or self._lacks_children(shards):
            self._take_new_shards(shards)
        unread = {shard_id for shard_id, place in shards.items() if not place.is_drained}
        ready = [one for one in unread if self._parents.get(one) not in unread]
        found = [self._read(shard_id, shards[shard_id]) for shard_id in sorted(ready)]
        return any(found)

    def _lacks_children(self, shards: dict[str, ShardPlace]) -> bool:
        """True if a shard is read to its end, and no child of it is known."""
        parents = set(self._parents.values())
        return any(place.is_drained and shard_id not in parents for shard_id, place in shards.items())

    def _take_new_shards(self, shards: dict[str, ShardPlace]) -> None:
        found = self._find_shards()
        if lost := [one for one, place in shards.items() if not place.is_drained and one not in found]:
            raise ToolkitFailure(MISSED.format(arn=f"shard {lost[0]} of {self._arn}"))
        for shard_id in found.keys() - shards.keys():
            shards[shard_id] = ShardPlace()
        for shard_id in shards.keys() - found.keys():
            del shards[shard_id]

    def _find_shards(self) -> dict[str, bool]:
        """Shard → True if it is open."""
        found: dict[str, bool] = {}
        is_on = False
        for described in self._descriptions():
            is_on = described["StreamStatus"] in {"ENABLED", "ENABLING"}
            for shard in described["Shards"]:
                found[shard["ShardId"]] = "EndingSequenceNumber" not in shard["SequenceNumberRange"]
                self._parents[shard["ShardId"]] = shard.get("ParentShardId")
        places = self._state.shards or {}
        self.has_ended = not is_on and all(one in places and places[one].is_drained for one in found)
        return found

    def _descriptions(self) -> Iterator[dict[str, Any]]:
        start: dict[str, str] = {}
        while True:
            told = self._source.ask("dynamodbstreams", "describe_stream", StreamArn=self._arn, **start)
            yield told["StreamDescription"]
            if "LastEvaluatedShardId" not in told["StreamDescription"]:
                return
            start = {"ExclusiveStartShardId": told["StreamDescription"]["LastEvaluatedShardId"]}

    def _read(self, shard_id: str, place: ShardPlace) -> bool:
        """Write the records of a shard's next page; False if it has none."""
        page = self._page(shard_id, place)
        changes: dict[bytes, bytes] = {}
        for record in page.records:
            told = record.dynamodb
            key, image = bytes(told.keys), bytes(told.new_image)
            if not image and record.event_name != REMOVED:
                raise ToolkitFailure(
                    f"the stream {self._arn} does not tell what items become. Begin again with another."
                )
            changes[key] = item_put(image) if image else item_deletion(key)
        requests = list(changes.values())
        for start in range(0, len(requests), BATCH_ITEMS):
            written = self._writer.write(requests[start : start + BATCH_ITEMS])
            if written.refusals:
                raise ToolkitFailure(f"a change cannot be copied: {written.refusals[0].reason}")
            self._state.write_units += written.units
        if page.next_shard_iterator is None:
            place.is_drained = True
        else:
            self._iterators[shard_id] = page.next_shard_iterator
        if page.records:
            place.sequence_number = page.records[-1].dynamodb.sequence_number
            self._state.changes += len(page.records)
        if page.records or place.is_drained:
            self._keep(self._state)
        return bool(page.records)

    def _page(self, shard_id: str, place: ShardPlace) -> StreamPage:
        for is_second in (False, True):
            if shard_id not in self._iterators:
                self._iterators[shard_id] = self._iterator(shard_id, place)
            iterator = self._iterators.pop(shard_id)
            body = msgspec.json.encode({"ShardIterator": iterator})
            try:
                page: StreamPage = self._client.ask("get_records", {"ShardIterator": iterator}, body, _decode_page)
                return page
            except ToolkitFailure as failure:
                if failure.code == "TrimmedDataAccessException":
                    raise ToolkitFailure(MISSED.format(arn=self._arn)) from failure
                if failure.code != "ExpiredIteratorException" or is_second:
                    raise
        raise AssertionError

    def _iterator(self, shard_id: str, place: ShardPlace) -> str:
        start = (
            {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": place.sequence_number}
            if place.sequence_number
            else {"ShardIteratorType": "TRIM_HORIZON"}
        )
        try:
            reply = self._source.ask(
                "dynamodbstreams", "get_shard_iterator", StreamArn=self._arn, ShardId=shard_id, **start
            )
        except ToolkitFailure as failure:
            if failure.code == "TrimmedDataAccessException":
                raise ToolkitFailure(MISSED.format(arn=self._arn)) from failure
            raise
        found: str = reply["ShardIterator"]
        return found

"""What are the pages of a table's segments? The replies to Scan, whose items stay JSON."""

import threading
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from hashrange.toolkit.failures import ToolkitFailure
from hashrange.toolkit.moving.raw_client import RawClient
from hashrange.toolkit.moving.unit_pacer import UnitPacer
from hashrange.toolkit.replies import SAME_PAGE

NO_KEY = msgspec.Raw(b"")


class ReportedUnits(msgspec.Struct, rename="pascal", gc=False, frozen=True):
    """What a request has consumed."""

    capacity_units: float = 0.0


class ScanPage(msgspec.Struct, rename="pascal", gc=False):
    """A reply to Scan."""

    items: list[msgspec.Raw] = []
    scanned_count: int = 0
    last_evaluated_key: msgspec.Raw = NO_KEY
    consumed_capacity: ReportedUnits = ReportedUnits()
    size_bytes: int = 0
    """Length of the whole reply."""

    @property
    def units(self) -> float:
        """Read units that the page has consumed."""
        return self.consumed_capacity.capacity_units


class ScanWish(NamedTuple):
    """What is scanned."""

    table: str
    segments: int
    members: Mapping[str, Any] = {}
    """Members of Scan that are the same for each page, such as FilterExpression."""
    page_limit: int | None = None
    """Items that a page reads at most."""


_decode_reply = msgspec.json.Decoder(ScanPage).decode


def decode_page(reply: bytes) -> ScanPage:
    """The page in a reply; its items are lines, whatever stood between their members. Raises msgspec.DecodeError."""
    page = _decode_reply(msgspec.json.format(reply, indent=-1) if b"\n" in reply else reply)
    page.size_bytes = len(reply)
    return page


class ScanReader:
    """Reads pages, for any number of threads."""

    def __init__(self, client: RawClient, wish: ScanWish, rate: UnitPacer | None, stop: threading.Event) -> None:
        self._client, self._wish, self._rate, self._stop = client, wish, rate, stop
        members = {**wish.members, "TableName": wish.table, "ReturnConsumedCapacity": "TOTAL"}
        self._head = msgspec.json.encode(members)[:-1]

    def pages(self, segment: int, start_key: bytes) -> Iterator[ScanPage]:
        """Yield the pages of a segment behind a key; empty: all. Raises ToolkitFailure, Stopped."""
        key, limit = start_key, self._first_limit()
        while True:
            if self._rate is not None:
                self._rate.wait(self._stop)
            page: ScanPage = self._client.ask(
                "scan", {"TableName": self._wish.table}, self._body(segment, key, limit), decode_page
            )
            if self._rate is not None and page.scanned_count:
                self._rate.take(page.units)
                limit = self._next_limit(page)
            yield page
            begin, key = key, bytes(page.last_evaluated_key)
            if not key:
                return
            if key == begin:
                raise ToolkitFailure(f"the scan of {self._wish.table} does not go on: {SAME_PAGE}.")

    def _body(self, segment: int, key: bytes, limit: int | None) -> bytes:
        body = b'%b,"Segment":%d,"TotalSegments":%d' % (self._head, segment, self._wish.segments)
        if limit is not None:
            body += b',"Limit":%d' % limit
        if key:
            body += b',"ExclusiveStartKey":' + key
        return body + b"}"

    def _first_limit(self) -> int | None:
        """Items of the first page: as if each took a unit, so that it is paid within a second."""
        if self._rate is None:
            return self._wish.page_limit
        return self._at_most(self._rate.units_per_second / self._wish.segments)

    def _next_limit(self, page: ScanPage) -> int:
        """Items of the next page, by what the last one has consumed."""
        assert self._rate is not None
        items_per_unit = page.scanned_count / page.units
        return self._at_most(items_per_unit * self._rate.units_per_second / self._wish.segments)

    def _at_most(self, items: float) -> int:
        return min(max(int(items), 1), self._wish.page_limit or 1_000_000)

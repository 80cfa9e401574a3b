"""Which Kinesis data stream do a table's changes go to, in which status is it shown,
and where do the changes of a feed go?

At most one destination of a table is *live*: ENABLING, ACTIVE, UPDATING or DISABLING. Ended ones are shown for a day.
Source: service behaviour, captures to October 2026; developer guide, *Using Kinesis Data Streams to capture changes to
DynamoDB*.
"""

import re
from typing import Literal, NamedTuple

import msgspec

from hashrange.limits import KINESIS_DESTINATIONS_SHOWN_MAX, RECORD_RETENTION_SECONDS
from hashrange.tables.schema import KinesisDestination, Table, TimePrecision

DestinationStatus = Literal["ENABLING", "ACTIVE", "DISABLING", "DISABLED", "ENABLE_FAILED", "UPDATING"]
FEED_PREFIX = "kinesis/"
"""Begins the label of every feed, so that it differs from the labels of streams, which are times."""
DEFAULT_PRECISION: TimePrecision = "MILLISECOND"
LIVE_STATUSES: frozenset[DestinationStatus] = frozenset(("ENABLING", "ACTIVE", "UPDATING", "DISABLING"))

_ARN = re.compile(r"arn:aws[a-z-]*:([a-z0-9-]*):([a-z0-9-]*):([0-9]*):(.*)", re.DOTALL).fullmatch
_STREAM = re.compile(r"stream/([a-zA-Z0-9_.-]{1,128})").fullmatch


class FeedTarget(msgspec.Struct, frozen=True):
    """Where the changes of a feed go."""

    stream_arn: str
    """ARN of the Kinesis data stream."""
    precision: TimePrecision | None
    is_found: bool
    """True if Kinesis has said that it has the stream; no change is sent before."""


class ArnParts(NamedTuple):
    """The parts of an ARN that look like those of a Kinesis data stream; any text can be given as one."""

    service: str
    region: str
    account: str
    name: str | None
    """Name of the data stream; None if the ARN is one of something else."""


def read_arn(arn: str) -> ArnParts | None:
    """The parts of an ARN; None if the text is no ARN."""
    match = _ARN(arn)
    if match is None:
        return None
    service, region, account, resource = match.groups()
    stream = _STREAM(resource) if service == "kinesis" else None
    return ArnParts(service, region, account, stream and stream[1])


def destination_on(table: Table) -> KinesisDestination | None:
    """The destination that the table's changes go to; None if there is none, or the table is being deleted."""
    last = table.kinesis_destinations[-1] if table.kinesis_destinations else None
    if last is None or last.state not in ("ENABLING", "ACTIVE") or table.deleted_at_seconds is not None:
        return None
    return last


def feed_label_on(table: Table) -> str | None:
    """Label of the feed that records the table's changes; None if no changes go to Kinesis."""
    destination = destination_on(table)
    return None if destination is None else destination.feed_label


def feed_target(table: Table, feed_label: str) -> FeedTarget | None:
    """Where the changes of the table's feed with this label go; None: nowhere, because the destination failed."""
    for one in table.kinesis_destinations:
        if one.feed_label == feed_label and one.state != "ENABLE_FAILED":
            return FeedTarget(one.stream_arn, one.precision, one.state != "ENABLING")
    return None


def status_of(destination: KinesisDestination, now_seconds: float) -> DestinationStatus:
    """The status in which a destination is shown at a service time."""
    if now_seconds >= destination.changing_until_seconds:
        return destination.state
    if destination.state == "DISABLED":
        return "DISABLING"
    return "UPDATING" if destination.is_updating else "ENABLING"


def live_destination(table: Table, now_seconds: float) -> KinesisDestination | None:
    """The destination that prevents another one from being enabled; None if there is none."""
    live = (one for one in table.kinesis_destinations if status_of(one, now_seconds) in LIVE_STATUSES)
    return next(live, None)


def shown_destinations(table: Table, now_seconds: float) -> list[KinesisDestination]:
    """The destinations that descriptions show, oldest first: the live one, and others for a day after their end."""
    return [
        one
        for one in table.kinesis_destinations
        if one.state in ("ENABLING", "ACTIVE") or now_seconds < one.changed_at_seconds + RECORD_RETENTION_SECONDS
    ]


def with_destination(table: Table, new: KinesisDestination, now_seconds: float) -> Table:
    """The table with a new or changed destination, which replaces the one of the same Kinesis stream.

    Destinations that are no longer shown are dropped, and so are the oldest if there are too many.
    """
    others = [one for one in shown_destinations(table, now_seconds) if one.stream_arn != new.stream_arn]
    kept = others[-(KINESIS_DESTINATIONS_SHOWN_MAX - 1) :]
    return msgspec.structs.replace(table, kinesis_destinations=(*kept, new))

"""Which Kinesis data stream do a table's changes go to, and in which status is it shown? Source: streams.md 7."""

from typing import Literal

from hashrange.limits import RECORD_RETENTION_SECONDS
from hashrange.tables.schema import KinesisDestination, Table

DestinationStatus = Literal["ENABLING", "ACTIVE", "DISABLING", "DISABLED", "ENABLE_FAILED", "UPDATING"]
FEED_PREFIX = "kinesis/"
"""Begins the label of every feed, so that it differs from the labels of streams, which are times."""


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


def status_of(destination: KinesisDestination, now_seconds: float) -> DestinationStatus:
    """The status in which a destination is shown at a service time."""
    if now_seconds >= destination.changing_until_seconds:
        return destination.state
    if destination.state == "DISABLED":
        return "DISABLING"
    if destination.state == "ACTIVE":
        return "UPDATING" if destination.is_updating else "ENABLING"
    return destination.state


def shown_destinations(table: Table, now_seconds: float) -> list[KinesisDestination]:
    """The destinations that descriptions show: those that are on, and others for a day after their end."""
    on = destination_on(table)
    return [
        one
        for one in table.kinesis_destinations
        if one is on or now_seconds < one.changed_at_seconds + RECORD_RETENTION_SECONDS
    ]

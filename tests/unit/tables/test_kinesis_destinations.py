"""Kinesis destinations: status by time, which of them is live, which are shown, and where the changes of a feed go."""

import msgspec
import pytest

from hashrange.limits import KINESIS_DESTINATIONS_SHOWN_MAX
from hashrange.tables.kinesis_destinations import (
    ArnParts,
    FeedTarget,
    destination_on,
    feed_label_on,
    feed_target,
    live_destination,
    read_arn,
    shown_destinations,
    status_of,
    with_destination,
)
from hashrange.tables.schema import KeySchema, KinesisDestination, Table
from hashrange.tables.states import without_overlong_deadlines

NOW = 1_800_000_000.0
DAY = 86_400.0
ARN = "arn:aws:kinesis:us-east-1:000000000000:stream/changes"
TABLE = Table(1, "uuid", "000000000000", "us-east-1", "orders", KeySchema(("id",), ("S",)), {"id": "S"}, NOW, NOW)
ACTIVE = KinesisDestination(ARN, "kinesis/1", "ACTIVE", NOW)


def changed(destination: KinesisDestination, **members: object) -> KinesisDestination:
    return msgspec.structs.replace(destination, **members)


def table(*destinations: KinesisDestination, **members: object) -> Table:
    return msgspec.structs.replace(TABLE, kinesis_destinations=destinations, **members)


@pytest.mark.parametrize(
    ("state", "is_updating", "during", "after"),
    [
        ("ENABLING", False, "ENABLING", "ENABLING"),
        ("ACTIVE", False, "ENABLING", "ACTIVE"),
        ("ACTIVE", True, "UPDATING", "ACTIVE"),
        ("DISABLED", False, "DISABLING", "DISABLED"),
        ("DISABLED", True, "DISABLING", "DISABLED"),
        ("ENABLE_FAILED", False, "ENABLING", "ENABLE_FAILED"),
    ],
)
def test_the_status_follows_from_state_and_time(state: str, *, is_updating: bool, during: str, after: str) -> None:
    one = changed(ACTIVE, state=state, is_updating=is_updating, changing_until_seconds=NOW + 5)
    assert status_of(one, NOW + 4.9) == during
    assert status_of(one, NOW + 5) == after


@pytest.mark.parametrize(
    ("state", "is_on"), [("ENABLING", True), ("ACTIVE", True), ("DISABLED", False), ("ENABLE_FAILED", False)]
)
def test_changes_are_recorded_until_the_destination_ends(state: str, *, is_on: bool) -> None:
    one = changed(ACTIVE, state=state)
    assert destination_on(table(one)) == (one if is_on else None)
    assert feed_label_on(table(one)) == ("kinesis/1" if is_on else None)
    assert destination_on(table(one, deleted_at_seconds=NOW)) is None
    assert destination_on(table()) is None


def test_only_the_live_destination_prevents_another_one() -> None:
    ended = changed(ACTIVE, state="DISABLED", changing_until_seconds=NOW + 5)
    failed = changed(ACTIVE, state="ENABLE_FAILED", stream_arn=ARN + "2")
    assert live_destination(table(failed, ended), NOW) == ended
    assert live_destination(table(failed, ended), NOW + 5) is None
    assert live_destination(table(failed, ACTIVE), NOW + 5) == ACTIVE


def test_ended_destinations_are_shown_for_a_day() -> None:
    failed = changed(ACTIVE, state="ENABLE_FAILED", stream_arn=ARN + "1")
    ended = changed(ACTIVE, state="DISABLED", stream_arn=ARN + "2", changed_at_seconds=NOW + 10)
    three = table(failed, ended, ACTIVE)
    assert shown_destinations(three, NOW + DAY - 1) == [failed, ended, ACTIVE]
    assert shown_destinations(three, NOW + DAY) == [ended, ACTIVE]
    assert shown_destinations(three, NOW + DAY + 10) == [ACTIVE]


def test_a_destination_replaces_the_one_of_the_same_stream() -> None:
    failed = changed(ACTIVE, state="ENABLE_FAILED")
    other = changed(failed, stream_arn=ARN + "2")
    new = changed(ACTIVE, feed_label="kinesis/2", state="ENABLING")
    assert with_destination(table(failed, other), new, NOW).kinesis_destinations == (other, new)
    assert with_destination(table(failed, other), new, NOW + DAY).kinesis_destinations == (new,)


def test_the_number_of_ended_destinations_is_bounded() -> None:
    many = [changed(ACTIVE, state="ENABLE_FAILED", stream_arn=f"{ARN}{number}") for number in range(200)]
    found = TABLE
    for one in many:
        found = with_destination(found, one, NOW)
    assert found.kinesis_destinations == tuple(many[-KINESIS_DESTINATIONS_SHOWN_MAX:])


def test_where_the_changes_of_a_feed_go() -> None:
    found = table(
        changed(ACTIVE, state="ENABLE_FAILED", stream_arn=ARN + "1", feed_label="kinesis/1"),
        changed(ACTIVE, state="DISABLED", stream_arn=ARN + "2", feed_label="kinesis/2", precision="MICROSECOND"),
        changed(ACTIVE, state="ENABLING", stream_arn=ARN + "3", feed_label="kinesis/3"),
    )
    assert feed_target(found, "kinesis/1") is None
    assert feed_target(found, "kinesis/2") == FeedTarget(ARN + "2", "MICROSECOND", is_found=True)
    assert feed_target(found, "kinesis/3") == FeedTarget(ARN + "3", None, is_found=False)
    assert feed_target(found, "kinesis/4") is None


@pytest.mark.parametrize(
    ("arn", "expected"),
    [
        (ARN, ArnParts("kinesis", "us-east-1", "000000000000", "changes")),
        ("arn:aws-cn:kinesis:cn-north-1:1:stream/a_b.C-9", ArnParts("kinesis", "cn-north-1", "1", "a_b.C-9")),
        (ARN + "/consumer/app:1", ArnParts("kinesis", "us-east-1", "000000000000", None)),
        ("arn:aws:kinesis:us-east-1:1:stream/" + "x" * 129, ArnParts("kinesis", "us-east-1", "1", None)),
        ("arn:aws:dynamodb:us-east-1:1:table/t", ArnParts("dynamodb", "us-east-1", "1", None)),
        ("arn:aws:firehose:us-east-1:1:stream/x", ArnParts("firehose", "us-east-1", "1", None)),
        ("arn:aws:kinesis:us-east-1:1:stream/changes\n", ArnParts("kinesis", "us-east-1", "1", None)),
        ("arn:aws:kinesis:us-east-1", None),
        ("changes", None),
        ("", None),
    ],
)
def test_arns_are_taken_apart(arn: str, expected: ArnParts | None) -> None:
    assert read_arn(arn) == expected


def test_deadlines_of_a_clock_that_was_set_back_end() -> None:
    one = changed(ACTIVE, changed_at_seconds=NOW + 100, changing_until_seconds=NOW + 100)
    (ended,) = without_overlong_deadlines(table(one), NOW, 5.0).kinesis_destinations
    assert ended == changed(ACTIVE, changed_at_seconds=NOW, changing_until_seconds=NOW)
    soon = changed(ACTIVE, changing_until_seconds=NOW + 5)
    assert without_overlong_deadlines(table(soon), NOW, 5.0).kinesis_destinations == (soon,)

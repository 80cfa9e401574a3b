"""The pure parts of delivery: which shards, what a reply means, what follows a failure,
windows, checkpoints, and the agenda.
"""

import json
from math import inf
from random import Random
from typing import Any, cast

import msgspec
import pytest

from hashrange.errors import StorageCorruption
from hashrange.items.steps import PIECE_BYTES
from hashrange.limits import INVOCATION_PAYLOAD_BYTES_MAX, RECORD_RETENTION_SECONDS
from hashrange.tables.partitions import WHOLE
from hashrange.tables.streams import Shard, sequence_at, sequence_text
from hashrange.triggers.agenda import STALE_ENTRIES_MAX, Agenda
from hashrange.triggers.batches import Batch, final_batch
from hashrange.triggers.checkpoints import decode_checkpoint, encode_checkpoint, lane_positions
from hashrange.triggers.consumers import ConsumedShard
from hashrange.triggers.events import encode_event, record_filter
from hashrange.triggers.filter_operators import InvalidPattern
from hashrange.triggers.lanes import BatchTerms, Lane, ReadAhead, take_records
from hashrange.triggers.lineage import shards_to_read
from hashrange.triggers.mapping import EventSourceMapping
from hashrange.triggers.outcomes import BatchResponse, read_response
from hashrange.triggers.retries import batches_after_failure, batches_of_age, pause_seconds
from hashrange.triggers.windows import TumblingWindow, window_start

NOW = 1_800_000_000.0
FIRST = sequence_at(NOW)


def mapping(**members: Any) -> EventSourceMapping:
    usual: dict[str, Any] = {
        "uuid": "u",
        "account": "0",
        "region": "r",
        "stream_arn": "s",
        "function_arn": "f",
        "starting_position": "LATEST",
    }
    return EventSourceMapping(**usual | members)


def batch(count: int, at_seconds: float = NOW, step_seconds: float = 0.0) -> Batch:
    made = Batch(at_seconds, 1_000)
    for number in range(count):
        made.add(sequence_at(at_seconds + number * step_seconds) + number, b"{%d}" % number)
    made.is_complete = True
    return made


def places(batches: list[Batch]) -> list[list[int]]:
    return [[int(one[1:-1]) for one in each.records] for each in batches]


# --- shards -------------------------------------------------------------------------------------------


def shard(number: int, parent: int = 0, last: int | None = None) -> Shard:
    return Shard(1, number, parent, 1, WHOLE, number * 100, last)


def test_children_wait_for_their_parent() -> None:
    shards = [shard(1, last=199), shard(2, 1), shard(3, 1)]
    assert [one.number for one in shards_to_read(shards, 0, set())[0]] == [1]
    assert [one.number for one in shards_to_read(shards, 0, {1})[0]] == [2, 3]
    assert shards_to_read(shards, 0, {1, 7})[1] == {1}, "what is deleted is forgotten"


def test_a_deleted_parent_holds_nothing_back() -> None:
    assert [one.number for one in shards_to_read([shard(5, 2), shard(6, 4)], 0, set())[0]] == [5, 6]


def test_shards_that_ended_before_the_start_are_drained() -> None:
    shards = [shard(1, last=199), shard(2, 1, last=299), shard(3, 2)]
    assert [one.number for one in shards_to_read(shards, 200, set())[0]] == [2]
    assert shards_to_read(shards, 200, set())[1] == {1}
    assert [one.number for one in shards_to_read(shards, 199, set())[0]] == [1]


# --- replies ------------------------------------------------------------------------------------------

SEQUENCES = [FIRST, FIRST + 1, FIRST + 2]


def reply(value: Any) -> bytes:
    return value if isinstance(value, bytes) else json.dumps(value).encode()


def failures(*identifiers: Any) -> dict[str, Any]:
    return {"batchItemFailures": [{"itemIdentifier": one} for one in identifiers]}


def read(value: Any, *, reports: bool = True, state: bool = False) -> BatchResponse:
    return read_response(reply(value), SEQUENCES, reports_failures=reports, has_state=state)


@pytest.mark.parametrize(
    "value", [None, {}, [], {"batchItemFailures": []}, {"batchItemFailures": None}, {"statusCode": 200}, b" null "]
)
def test_replies_that_mean_success(value: Any) -> None:
    assert read(value).failed_from is None


@pytest.mark.parametrize(
    "value",
    [
        failures(""),
        failures(None),
        failures("1"),
        failures(7),
        failures(sequence_text(FIRST + 1), "unknown"),
        {"batchItemFailures": [{"itemIdentifer": sequence_text(FIRST + 1)}]},
        {"batchItemFailures": [sequence_text(FIRST + 1)]},
        {"batchItemFailures": [None]},
        {"batchItemFailures": {}},
        {"batchItemFailures": "x"},
        {"batchItemFailures": 0},
        "done",
        5,
        [1],
        b"{",
        b"",
        b"\xff",
        failures(sequence_text(FIRST)),
    ],
)
def test_replies_that_mean_that_the_whole_batch_failed(value: Any) -> None:
    assert read(value).failed_from == 0


NAMED = b'{"itemIdentifier": "%b"}' % sequence_text(FIRST + 2).encode()
LONG = b'{"itemIdentifier": "%b", "why": "%b"}' % (sequence_text(FIRST + 1).encode(), b"x" * 2 * PIECE_BYTES)


@pytest.mark.parametrize(
    ("last", "failed_from"),
    [
        (NAMED, 2),
        (LONG, 1),
        (b"null", 0),
        (b"[" + NAMED + b"]", 0),
        (b'{"itemIdentifier": 1}', 0),
        (b'{"itemIdentifier": "1"}', 0),
        (b"{", 0),
        (b'"\xff"', 0),
    ],
)
def test_a_long_reply_means_what_a_short_one_means_and_is_read_in_pieces(
    last: bytes, failed_from: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that named 200,000 records was one step of 35 to 48 ms."""
    sizes: list[int] = []
    decode = msgspec.json.decode

    def noted(text: bytes) -> Any:
        sizes.append(len(text))
        return decode(text)

    monkeypatch.setattr(msgspec.json, "decode", noted)
    for count in (1, 20_000):
        payload = b'{"batchItemFailures": [%b]}' % b", ".join([*[NAMED] * count, last])
        assert read(payload).failed_from == failed_from
    assert len(payload) > 20 * PIECE_BYTES
    assert max(sizes, default=0) < 3 * PIECE_BYTES


def test_the_lowest_sequence_number_counts() -> None:
    assert read(failures(sequence_text(FIRST + 2))).failed_from == 2
    assert read(failures(sequence_text(FIRST + 2), sequence_text(FIRST + 1))).failed_from == 1


def test_without_the_setting_a_reply_is_not_read() -> None:
    assert read(b"\xff", reports=False).failed_from is None
    assert read(failures(""), reports=False).failed_from is None


def test_with_windows_a_reply_must_have_a_state() -> None:
    assert read({"state": {"1": 2}}, reports=False, state=True) == BatchResponse(None, b'{"1": 2}')
    assert read({"state": None}, reports=False, state=True) == BatchResponse(None, b"{}")
    without: list[Any] = [{}, None, [], {"batchItemFailures": []}, "x"]
    for value in without:
        assert read(value, reports=False, state=True).failed_from == 0
    both = failures(sequence_text(FIRST + 1)) | {"state": [1]}
    assert read(both, state=True) == BatchResponse(1, b"[1]", reported=1)
    assert read(both, reports=False, state=True) == BatchResponse(None, b"[1]")
    assert read(failures("") | {"state": [1]}, state=True).failed_from == 0


# --- failures -----------------------------------------------------------------------------------------


def test_pauses_double_up_to_a_minute() -> None:
    assert [pause_seconds(number) for number in range(1, 10)] == [0.5, 1, 2, 4, 8, 16, 32, 60, 60]
    assert pause_seconds(10_000) == 60


def test_a_failed_batch_is_retried_as_often_as_it_may() -> None:
    failed = batch(3)
    for number in range(2):
        (failed,) = batches_after_failure(failed, 0, mapping(retry_attempts_max=2), NOW)
        assert (failed.discard, failed.retries, places([failed])) == (None, number + 1, [[0, 1, 2]])
        assert failed.due_seconds == NOW + pause_seconds(number + 1)
    (failed,) = batches_after_failure(failed, 0, mapping(retry_attempts_max=2), NOW)
    assert failed.discard == "RetryAttemptsExhausted"


def test_retries_without_limit() -> None:
    failed = batch(1)
    for _ in range(100):
        (failed,) = batches_after_failure(failed, 0, mapping(), NOW)
    assert (failed.discard, failed.retries) == (None, 100)


def test_what_is_left_of_a_batch_has_one_retry_less() -> None:
    (rest,) = batches_after_failure(batch(4), 3, mapping(retry_attempts_max=1), NOW)
    assert (places([rest]), rest.retries) == ([[3]], 1)
    (rest,) = batches_after_failure(rest, 0, mapping(retry_attempts_max=1), NOW)
    assert rest.discard == "RetryAttemptsExhausted"


def test_a_bisected_batch_loses_no_retry() -> None:
    one = mapping(is_bisecting=True, retry_attempts_max=0)
    halves = batches_after_failure(batch(5), 0, one, NOW)
    assert places(halves) == [[0, 1], [2, 3, 4]]
    assert {(half.retries, half.due_seconds, half.discard) for half in halves} == {(0, 0.0, None)}
    (single, other) = batches_after_failure(halves[0], 0, one, NOW)
    assert places([single, other]) == [[0], [1]]
    (given_up,) = batches_after_failure(single, 0, one, NOW)
    assert given_up.discard == "RetryAttemptsExhausted"


def test_a_batch_is_bisected_where_the_function_said() -> None:
    one = mapping(is_bisecting=True, retry_attempts_max=0, reports_item_failures=True)
    assert places(batches_after_failure(batch(5), 3, one, NOW)) == [[3, 4]]


def test_old_records_are_given_up_and_past_ones_dropped() -> None:
    old = batch(4, NOW, 100.0)
    assert batches_of_age(old, mapping(), NOW + 10_000) == [old]
    assert batches_of_age(old, mapping(record_age_seconds_max=100), NOW + 100) == [old]
    given_up, rest = batches_of_age(old, mapping(record_age_seconds_max=100), NOW + 250)
    assert (places([given_up, rest]), given_up.discard, rest.discard) == ([[0, 1], [2, 3]], "RecordAgeExceeded", None)
    (given_up,) = batches_of_age(old, mapping(record_age_seconds_max=100), NOW + 1_000)
    assert (places([given_up]), given_up.discard) == ([[0, 1, 2, 3]], "RecordAgeExceeded")
    assert batches_of_age(given_up, mapping(record_age_seconds_max=100), NOW + 1_000) == [given_up]
    after = NOW + RECORD_RETENTION_SECONDS
    assert places(batches_of_age(old, mapping(), after + 50)) == [[1, 2, 3]]
    assert places(batches_of_age(old, mapping(record_age_seconds_max=RECORD_RETENTION_SECONDS - 100), after + 50)) == [
        [1],
        [2, 3],
    ]
    assert batches_of_age(old, mapping(), after + 1_000) == []


# --- windows and events -------------------------------------------------------------------------------


def test_windows_follow_each_other_from_the_epoch_on() -> None:
    assert window_start(sequence_at(1_800_000_059.999), 60) == 1_800_000_000
    assert window_start(sequence_at(1_800_000_060.0), 60) == 1_800_000_060
    end_sequence = sequence_at(1_800_000_000 + 60)
    assert sequence_at(1_800_000_059.999) < end_sequence == sequence_at(1_800_000_060.0)
    assert window_start(end_sequence - 1, 60) == 1_800_000_000


def test_an_event_of_a_window() -> None:
    one = batch(2)
    one.records = [b'{"a":1}', b'{"b":2}']
    assert json.loads(encode_event(one, None, 0, "shard", "arn")) == {"Records": [{"a": 1}, {"b": 2}]}
    one.window_start_seconds = int(NOW)
    event = json.loads(encode_event(one, TumblingWindow(int(NOW), b'{"sum": 5}'), 120, "shard", "arn"))
    assert event == {
        "Records": [{"a": 1}, {"b": 2}],
        "window": {"start": "2027-01-15T08:00:00Z", "end": "2027-01-15T08:02:00Z"},
        "state": {"sum": 5},
        "shardId": "shard",
        "eventSourceARN": "arn",
        "isFinalInvokeForWindow": False,
        "isWindowTerminatedEarly": False,
    }
    assert json.loads(encode_event(one, None, 120, "shard", "arn"))["state"] == {}
    last = final_batch(int(NOW))
    event = json.loads(encode_event(last, TumblingWindow(int(NOW), b"[]"), 120, "shard", "arn"))
    assert (event["Records"], event["isFinalInvokeForWindow"], event["isWindowTerminatedEarly"]) == ([], True, False)


def test_a_filter_decodes_what_its_patterns_name() -> None:
    assert record_filter([]) is None
    matches = record_filter(['{"eventName": ["INSERT"]}', '{"dynamodb": {"Keys": {"id": {"S": ["a"]}}}}'])
    assert matches is not None
    assert matches(b'{"eventName":"INSERT"}')
    assert matches(b'{"eventName":"MODIFY","dynamodb":{"Keys":{"id":{"S":"a"}}}}')
    assert not matches(b'{"eventName":"MODIFY","dynamodb":{"Keys":{"id":{"S":"b"}}}}')
    absent = record_filter(['{"userIdentity": [{"exists": false}]}'])
    assert absent is not None
    assert absent(b'{"eventName":"INSERT"}')
    with pytest.raises(InvalidPattern):
        record_filter(["{"])


# --- taking records -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("state_bytes", "count"), [(0, 5), (1_000_000, 4)])
def test_records_and_state_fit_into_one_event_together(state_bytes: int, count: int) -> None:
    start = window_start(FIRST, 900)
    lane = Lane(0, FIRST, TumblingWindow(start, b'"%b"' % (b"x" * state_bytes)))
    records = [(FIRST + place, b"") for place in range(10)]
    terms = BatchTerms(lambda _sequence, _record: b"0" * 1_150_000, None, 900, lambda: Batch(NOW, 100))
    take_records(lane, ReadAhead(FIRST, FIRST + 10, [records], is_end=True, is_all=True), terms)
    (batch,) = lane.batches
    assert (len(batch.records), batch.is_complete, lane.position) == (count, True, FIRST + count)
    assert len(encode_event(batch, lane.window, 900, "shard", "arn")) <= INVOCATION_PAYLOAD_BYTES_MAX


# --- checkpoints --------------------------------------------------------------------------------------


def test_a_checkpoint_has_the_positions_of_all_lanes() -> None:
    lanes = [Lane(0, FIRST), Lane(1, FIRST + 5)]
    lanes[1].batches.append(batch(2))
    lanes[1].batches[0].sequences = [FIRST + 2, FIRST + 3]
    found = decode_checkpoint("name", encode_checkpoint(lanes))
    assert (found.positions, found.window) == ([FIRST, FIRST + 2], None)
    one = Lane(0, FIRST, TumblingWindow(60, b'{"a": [1]}'))
    assert decode_checkpoint("name", encode_checkpoint([one])).window == one.window
    with pytest.raises(StorageCorruption, match="name"):
        decode_checkpoint("name", b'{"next": ["x"]}')


def test_other_lanes_begin_where_nothing_is_missed() -> None:
    found = decode_checkpoint("name", encode_checkpoint([Lane(0, FIRST + 9), Lane(1, FIRST + 5)]))
    assert lane_positions(None, FIRST, 3) == [FIRST] * 3
    assert lane_positions(found, FIRST, 2) == [FIRST + 9, FIRST + 5]
    assert lane_positions(found, FIRST, 3) == [FIRST + 5] * 3
    assert lane_positions(found, FIRST + 7, 2) == [FIRST + 9, FIRST + 7]


# --- the agenda ---------------------------------------------------------------------------------------


def test_lanes_come_up_at_their_times() -> None:
    agenda, at = Agenda(), cast("ConsumedShard", None)
    one, other, third = (Lane(number, 0) for number in range(3))
    agenda.set_time(at, one, 5.0)
    agenda.set_time(at, other, 3.0)
    agenda.set_time(at, third, 4.0)
    agenda.set_time(at, other, 6.0)
    assert agenda.next_due_seconds() == 4.0
    agenda.set_time(at, third, None)
    assert agenda.next_due_seconds() == 5.0
    agenda.mark_due(4.9)
    assert not agenda.has_marked
    agenda.mark_due(6.0)
    assert [agenda.take()[1], agenda.take()[1]] == [one, other]
    assert not agenda.has_marked
    assert agenda.next_due_seconds() == inf


@pytest.mark.parametrize("seed", range(3))
def test_the_agenda_keeps_no_more_than_it_needs(seed: int) -> None:
    chance = Random(seed)
    agenda, at = Agenda(), cast("ConsumedShard", None)
    lanes = [Lane(number, 0) for number in range(10)]
    times: dict[Lane, float] = {}
    for _ in range(5_000):
        lane = chance.choice(lanes)
        seconds = chance.choice((None, chance.uniform(0, 1_000)))
        agenda.set_time(at, lane, seconds)
        times.pop(lane, None)
        if seconds is not None:
            times[lane] = seconds
        assert agenda.next_due_seconds() == min(times.values(), default=inf)
        assert len(agenda._queue) <= 2 * len(lanes) + STALE_ENTRIES_MAX + 1

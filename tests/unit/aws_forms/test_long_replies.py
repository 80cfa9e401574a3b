"""Long replies, such as of 100,800 datapoints, are written where work can give way to requests,
and look whether to do so.
"""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from greenlet import getcurrent

from hashrange.cloudwatch.api.registry import cloudwatch_api
from hashrange.items import steps
from hashrange.items.growing_bytes import PacedBytes
from hashrange.server.protocols.aws_forms import replies
from hashrange.server.protocols.aws_forms.replies import WireForm
from hashrange.server.protocols.http_call import WrittenReply
from hashrange.service.workers import Worker
from hashrange.testing.database import Database
from tests.support.working import give_way_always
from tests.unit.aws_forms.test_forms import FORMS, around_now, ask


@pytest.mark.parametrize("form", FORMS)
def test_a_long_reply_can_give_way(database: Database, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[bool, bool]] = []
    looks: list[None] = []
    write = WireForm.reply

    def observed(wire: WireForm, members: Any) -> WrittenReply:
        with monkeypatch.context() as patched:
            patched.setattr(steps, "_look", lambda: looks.append(None))
            reply = write(wire, members)
        seen.append((isinstance(getcurrent(), Worker), bool(looks)))
        return reply

    monkeypatch.setattr(WireForm, "reply", observed)
    asked = around_now(database) | {"MetricDataQueries": [{"Id": "e1", "Expression": "TIME_SERIES(1)", "Period": 60}]}
    asked["StartTime"] = datetime.fromtimestamp(database.clock.now(), UTC) - timedelta(days=2)
    status, found, _ = ask(database, form, "GetMetricData", asked)
    assert status == 200
    assert len(found["MetricDataResults"][0]["Values"]) > 2_000
    assert seen == [(True, True)]


class NotedBytes(PacedBytes):
    """Bytes that note how many are written between two looks."""

    since = most = 0

    def write(self, piece: Any) -> int:
        length = super().write(piece)
        NotedBytes.since += length
        NotedBytes.most = max(NotedBytes.most, NotedBytes.since)
        return length


TIMES = [datetime.fromtimestamp(1_800_000_000 + 60 * number, UTC) for number in range(20_000)]
ACTIONS = [f"http://127.0.0.1/{number}/".ljust(1_024, "x") for number in range(5)]
LONG_REPLIES: dict[str, dict[str, Any]] = {
    "datapoints": {"MetricDataResults": [{"Id": "a", "Timestamps": TIMES, "Values": [1.25] * len(TIMES)}]},
    "alarms": {"MetricAlarms": [{"AlarmName": str(one), "OKActions": ACTIONS, "Unit": None} for one in range(500)]},
}


@pytest.mark.parametrize("reply", LONG_REPLIES)
@pytest.mark.parametrize("form", FORMS)
def test_a_long_reply_is_written_in_pieces(form: Any, reply: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """5,000 alarms with 15 actions of 1,024 characters, 80 MB, took 100 to 370 ms in one step, and 100,800 datapoints
    12 to 56.
    """

    def look() -> None:
        NotedBytes.since = 0

    monkeypatch.setattr(replies, "PacedBytes", NotedBytes)
    monkeypatch.setattr(steps, "_look", look)
    monkeypatch.setattr(NotedBytes, "most", 0)
    look()
    unused: Any = None
    api = cloudwatch_api(unused, unused)
    written = WireForm(form, api, "DescribeAlarmsForMetric", "id").reply(LONG_REPLIES[reply])
    assert len(written.body) > 10 * NotedBytes.most > 0


@pytest.mark.parametrize("form", FORMS)
def test_a_reply_is_the_same_whether_others_run_in_between(form: Any) -> None:
    unused: Any = None
    reply = {"Metrics": [{"Id": str(one), "Timestamps": TIMES[:70], "Values": []} for one in range(6)], "Next": None}
    wire = WireForm(form, cloudwatch_api(unused, unused), "ListMetrics", "id")
    meanwhile: list[bytes] = []

    async def write() -> bytes:
        return wire.reply(reply).body

    ways_given, body = give_way_always(write(), lambda: meanwhile.append(wire.reply(reply).body))
    assert ways_given > 10
    assert {body, *meanwhile} == {wire.reply(reply).body}


@pytest.mark.parametrize("form", FORMS)
def test_lists_of_any_length_are_written_whole(database: Database, form: str) -> None:
    for minutes in (1, 63, 64, 65, 128, 129):
        asked = around_now(database) | {
            "MetricDataQueries": [{"Id": "e", "Expression": "TIME_SERIES(1)", "Period": 60}]
        }
        asked["EndTime"] = asked["EndTime"].replace(second=0)
        asked["StartTime"] = asked["EndTime"] - timedelta(minutes=minutes)
        (found,) = ask(database, form, "GetMetricData", asked)[1]["MetricDataResults"]
        assert [float(one) for one in found["Values"]] == [1.0] * minutes
        assert len(set(map(str, found["Timestamps"]))) == minutes

"""Long replies, such as of 100,800 datapoints, are written where work can give way to requests,
and look whether to do so.
"""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from greenlet import getcurrent

from hashrange.items import steps
from hashrange.server.protocols.aws_forms.replies import WireForm
from hashrange.server.protocols.http_call import WrittenReply
from hashrange.service.workers import Worker
from hashrange.testing.database import Database
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

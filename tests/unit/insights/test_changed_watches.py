"""A watch that another server changes while a request is about to change it: the request follows from what is kept."""

import msgspec
import pytest

from hashrange.operations.insights.watching import BeginTimes, Watch, find_watch, kept_watches, watch_path
from hashrange.testing.database import Database
from tests.support.samples import finish
from tests.unit.insights.seen import TABLE, watch


def test_a_watch_that_another_server_begins_meanwhile_is_changed_and_not_begun_anew(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, store = database.client(), database._process.service.store
    client.create_table(**TABLE)
    table = store.catalog.find("000000000000", "us-east-1", "visits")
    assert table is not None
    kept, free_ms = kept_watches(store.documents), BeginTimes.free_ms
    own = Watch("000000000000", "us-east-1", "visits", table.table_id, None, 0, "THROTTLED_KEYS", 5, 0.0, 0.0)
    begun: list[int] = []

    def overtaken_ms(begin_times: BeginTimes, now_seconds: float) -> int:
        if not begun:
            finish(kept.write(kept.change(own, *watch_path(own))))
        begun.append(1)
        return free_ms(begin_times, now_seconds)

    monkeypatch.setattr(BeginTimes, "free_ms", overtaken_ms)
    watch(client)
    found = find_watch(store.documents, table.schema, None)
    assert found is not None
    assert found == msgspec.structs.replace(
        own,
        mode="ACCESSED_AND_THROTTLED_KEYS",
        changed_seconds=found.changed_seconds,
        settled_seconds=found.settled_seconds,
    )
    assert begun == [1]

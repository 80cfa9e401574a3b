"""Service time that begins in the past: advances make a past that ends now."""

import time
from pathlib import Path

import pytest

from hashrange.settings import Settings, SettingUnusable
from hashrange.testing import server
from tests.unit.testing.music import create

WEEK_SECONDS = 7 * 86_400.0


def test_a_week_is_made_and_ends_now() -> None:
    before_seconds = time.time()
    with server(Settings(data_dir=None, clock_behind_seconds=WEEK_SECONDS)) as database:
        assert database.clock.now() <= time.time() - WEEK_SECONDS
        create(database.client())
        database.clock.advance(WEEK_SECONDS)
        assert before_seconds <= database.clock.now() <= time.time()


def test_a_reset_returns_to_the_same_distance_and_a_snapshot_to_its_own() -> None:
    with server(Settings(data_dir=None, clock_behind_seconds=WEEK_SECONDS)) as database:
        database.clock.advance(86_400)
        snapshot = database.snapshot()
        database.reset()
        assert database.clock.now() <= time.time() - WEEK_SECONDS
        database.restore(snapshot)
        assert time.time() - WEEK_SECONDS <= database.clock.now() <= time.time() - WEEK_SECONDS + 86_400


def test_content_that_exists_does_not_go_back_in_time(tmp_path: Path) -> None:
    with server(Settings(data_dir=str(tmp_path / "data"))) as database:
        create(database.client())
    with pytest.raises(SettingUnusable, match="--clock-behind"):
        server(Settings(data_dir=str(tmp_path / "data"), clock_behind_seconds=WEEK_SECONDS)).__enter__()

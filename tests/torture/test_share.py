"""A small, seeded share of `make torture`: some kills and cuts of a server under writers,
and every process of a measured slice once.
"""

import os
import random
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the torture reads /proc and sets limits of processes")

if sys.platform == "linux":
    from torture.figures import LossFigure
    from torture.kinds.table import BY_NAME
    from torture.loss.cuts import run_cuts
    from torture.loss.disk import run_full_disk
    from torture.loss.judging import Score
    from torture.loss.kills import run_kills, write_and_kill
    from torture.loss.writers import MAKE_TABLE, Team
    from torture.stalls import run
    from torture.stalls.section import run_stalls

SEED = 3


def is_held(figure: "LossFigure", rounds: int) -> None:
    """Fail if data was lost, or if nothing was acknowledged."""
    assert figure.is_met, figure
    assert figure.rounds == rounds
    assert figure.acknowledged > 0


def test_kills_lose_nothing(tmp_path: Path) -> None:
    is_held(run_kills(tmp_path, 2, random.Random(SEED)), 2)


def test_power_cuts_lose_nothing(tmp_path: Path) -> None:
    for figure in run_cuts(tmp_path, 1, random.Random(SEED), ("synced", "torn")):
        is_held(figure, 1)


def test_a_full_disk_loses_nothing(tmp_path: Path) -> None:
    for figure in run_full_disk(tmp_path, 2, random.Random(SEED)):
        is_held(figure, 1)


def test_a_log_that_is_lost_is_found_out(tmp_path: Path) -> None:
    score, team = Score("a lost log"), Team()
    server = score.start(tmp_path)
    assert server is not None
    server.call(*MAKE_TABLE)
    server.stop()
    server = score.start(tmp_path)
    assert server is not None
    write_and_kill(server, team, random.Random(SEED))
    for log in (server.data / "engine").glob("*.log"):
        os.truncate(log, 0)
    (server.data / "synced").unlink()  # without it the server refuses to start; another test checks that
    again = score.start(tmp_path)
    assert again is not None
    score.judge(again, team)
    again.stop()
    assert team.acknowledged > 0
    assert score.lost > 0
    assert not score.figure().is_met


@pytest.mark.parametrize("name", ["put-number-set-90000", "dax-large-items"])
def test_a_kind_is_measured_beside_its_control(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(run, "SLICES", 1)
    said: list[str] = []
    (figure,) = run_stalls(tmp_path, [BY_NAME[name]], 0.1, said.append)
    assert figure.answer.startswith("200 (")
    assert figure.max_ms > 0
    assert figure.control_max_ms > 0
    assert figure.peak_mb > 0
    assert figure.faults == ()
    assert len(said) == 1

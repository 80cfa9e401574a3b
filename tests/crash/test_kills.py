"""After a kill without warning, or a power cut, the store has lost nothing acknowledged
and keeps no half of a write.
"""

import random
import shutil
import sys
from pathlib import Path

import pytest

from tests.crash import harness, writer

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL and RLIMIT_FSIZE")


@pytest.mark.parametrize("first_round", range(0, harness.ROUNDS, harness.ROUNDS_PER_FOLDER))
def test_a_kill_loses_nothing_acknowledged(tmp_path: Path, first_round: int) -> None:
    folder = tmp_path / "data"
    acknowledged: dict[int, int] = {}
    for number in range(first_round, first_round + harness.ROUNDS_PER_FOLDER):
        chance = random.Random(number)
        outcome = harness.run_and_kill(folder, chance.randint(1, 600))
        acknowledged.update(outcome.acknowledged)
        assert harness.faults_of(folder, acknowledged) == [], f"round {number}"


@pytest.mark.parametrize("first_round", range(0, harness.ROUNDS, harness.ROUNDS_PER_FOLDER))
def test_a_power_cut_loses_nothing_acknowledged(tmp_path: Path, first_round: int) -> None:
    folder = tmp_path / "data"
    acknowledged: dict[int, int] = {}
    for number in range(first_round, first_round + harness.ROUNDS_PER_FOLDER):
        chance = random.Random(1_000_000 + number)
        outcome = harness.run_and_kill(folder, chance.randint(1, 600), logs=chance.randint(1, 3))
        harness.cut_power(folder, outcome.synced_bytes, chance)
        acknowledged.update(outcome.acknowledged)
        assert harness.faults_of(folder, acknowledged) == [], f"round {number}"


def test_without_the_sync_power_cuts_lose_acknowledged_writes(tmp_path: Path) -> None:
    """The control of the test above: a store that only claims to sync is detected."""
    lost = 0
    for number in range(3):
        folder = tmp_path / str(number)
        outcome = harness.run_and_kill(folder, 400, does_sync=False)
        harness.cut_power(folder, outcome.synced_bytes, random.Random(number))
        lost += bool(harness.faults_of(folder, outcome.acknowledged))
    assert lost > 0


def test_every_cut_of_the_unsynced_tail_is_accepted(tmp_path: Path) -> None:
    """The logs of one crash are cut at many places: at each, the store opens and nothing acknowledged is lost."""
    folder = tmp_path / "data"
    outcome = harness.run_and_kill(folder, 200)
    for number in range(15):
        copy = tmp_path / f"copy{number}"
        shutil.copytree(folder, copy)
        harness.cut_power(copy, outcome.synced_bytes, random.Random(number))
        assert harness.faults_of(copy, outcome.acknowledged) == [], f"cut {number}"


@pytest.mark.parametrize("limit_bytes", [120_000, 300_000])
def test_a_full_disk_loses_nothing_and_heals_without_a_restart(tmp_path: Path, limit_bytes: int) -> None:
    folder = tmp_path / "data"
    here, there = harness.context.Pipe(duplex=False)
    process = harness.context.Process(target=writer.write_into_a_full_disk, args=(str(folder), limit_bytes, there))
    process.start()
    there.close()
    step, acknowledged, kind = here.recv()
    assert (step, kind) == ("failed", "StorageFull")
    assert acknowledged > 10
    step, told, _ = here.recv()
    assert step == "reads"
    assert acknowledged <= told <= acknowledged + 1
    assert here.recv() == ("still refuses", told, "StorageFull")
    assert here.recv() == ("healed", told, ""), "what was read is what the disk held"
    step, number, _ = here.recv()
    assert step == "went on"
    process.join()
    assert harness.faults_of(folder, {0: number}) == []

"""Does a server keep what it acknowledged when power fails?
Its logs are cut back to the last completed sync, or to any place after it.

A killed process's writes stay with the kernel; a power cut loses unsynced writes. So each kill gives several folders:
copies in which the logs keep less and less of the unsynced bytes.
"""

import os
import random
import shutil
from collections.abc import Sequence
from pathlib import Path

from torture.figures import LossFigure
from torture.loss.judging import Score
from torture.loss.kills import write_and_kill
from torture.loss.noting import synced_bytes
from torture.loss.writers import FILLER_BYTES, MAKE_TABLE, Team

ROUNDS_PER_FOLDER = 5
CUTS = ("synced", "torn", "zeros")
ZEROS_MAX = 8192
MODULE = "torture.loss.noting"


def run_cuts(folder: Path, rounds: int, chance: random.Random, cuts: Sequence[str] = CUTS) -> list[LossFigure]:
    """Kill a server this many times, and judge a copy of its folder for every kind of cut."""
    scores = {
        "synced": Score("power cut: all that was not synced is gone"),
        "torn": Score("power cut: logs end anywhere after the last sync"),
        "zeros": Score("power cut: so, and the newest log ends in zeros"),
    }
    done = 0
    while done < rounds:
        place = folder / f"cuts-{done}"
        team = Team(FILLER_BYTES[done // ROUNDS_PER_FOLDER % 2])
        server = scores["torn"].start(place, module=MODULE)
        if server is None:
            break
        try:
            server.call(*MAKE_TABLE)
            for _ in range(min(ROUNDS_PER_FOLDER, rounds - done)):
                done += 1
                write_and_kill(server, team, chance)
                for cut in cuts:
                    try_cut(scores[cut], place, cut, team, chance)
                again = scores["torn"].start(place, module=MODULE)
                if again is None:
                    break
                server = again
                scores["torn"].judge(server, team)
        finally:
            server.stop()
        for score in scores.values():
            score.add(team)
    return [scores[cut].figure() for cut in cuts]


def try_cut(score: Score, place: Path, cut: str, team: Team, chance: random.Random) -> None:
    """Cut the logs in a copy of a killed server's folder, and judge a new server on it."""
    score.rounds += 1
    copy = place.with_name(f"{place.name}-{cut}")
    shutil.copytree(place, copy)
    try:
        cut_logs(copy / "data" / "engine", synced_bytes(copy), cut, chance)
        server = score.start(copy)
        if server is None:
            return
        try:
            score.judge(server, team, is_final=False)
        finally:
            server.stop()
        score.check(server.data)
    finally:
        shutil.rmtree(copy)


def cut_logs(engine: Path, safe_bytes: dict[str, int], cut: str, chance: random.Random) -> None:
    """Remove all unsynced bytes from each log, or a part of them; the newest log may get zeros at its end."""
    logs = sorted(engine.glob("*.log"), key=lambda path: int(path.stem))
    for log in logs:
        size = log.stat().st_size
        safe = min(safe_bytes.get(log.name, 0), size)
        os.truncate(log, safe if cut == "synced" else chance.randint(safe, size))
    if cut == "zeros" and logs:
        with logs[-1].open("ab") as file:
            file.write(bytes(chance.randint(1, ZEROS_MAX)))

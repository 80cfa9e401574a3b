"""What does a server do when its data folder disappears? It must not acknowledge lost writes,
nor create and serve an empty folder.

If the folder is moved away and back, everything acknowledged before, meanwhile and after must be there.
If it is deleted, nothing may be acknowledged after a second.
"""

import random
import shutil
import time
from pathlib import Path

from torture.figures import LossFigure
from torture.loss.judging import Score
from torture.loss.writers import MAKE_TABLE, Team
from torture.server import ServerProcess

BEFORE_SECONDS = (0.1, 0.5)
AWAY_SECONDS = 2.5
NOTICE_SECONDS = 1.0
"""Time after which a server must have noticed that its folder is deleted: it checks only at intervals."""
BACK_SECONDS = 0.5
FOLDER_FILLER_BYTES = (100, 20_000)
"""Sizes of items: small ones stay in one log; large ones make the engine create new files, which may fail."""
ENGINE_SIGN = Path("engine", "CURRENT")
"""A file that every new store has."""


def run_lost_folders(folder: Path, rounds: int, chance: random.Random) -> list[LossFigure]:
    """Alternate rounds: the folder is moved or deleted, with small items and large ones."""
    moved, deleted = Score("folder moved away and back"), Score("folder deleted")
    for number in range(rounds):
        score = (moved, deleted)[number % 2]
        score.rounds += 1
        place = folder / f"folder-{number}"
        team = Team(FOLDER_FILLER_BYTES[number // 2 % 2])
        server = score.start(place)
        if server is None:
            continue
        try:
            server.call(*MAKE_TABLE)
            team.start(server.port)
            time.sleep(chance.uniform(*BEFORE_SECONDS))
            (move_away if score is moved else delete)(score, server, team)
        finally:
            server.kill()
            team.end()
        score.add(team)
    return [moved.figure(), deleted.figure()]


def move_away(score: Score, server: ServerProcess, team: Team) -> None:
    """Move the folder away and back, kill the server, and judge a new one on the folder."""
    aside = server.data.with_name("aside")
    server.data.rename(aside)
    time.sleep(AWAY_SECONDS)
    if (server.data / ENGINE_SIGN).exists():
        score.faults["a new, empty store was made"] += 1
    if server.data.exists():
        server.data.rename(server.data.with_name("new"))
    aside.rename(server.data)
    time.sleep(BACK_SECONDS)
    server.kill()
    team.end()
    again = score.start(server.folder)
    if again is not None:
        try:
            score.judge(again, team)
        finally:
            again.stop()
        score.check(again.data)


def delete(score: Score, server: ServerProcess, team: Team) -> None:
    """Delete the folder, and count writers with writes acknowledged after the server should have noticed."""
    shutil.rmtree(server.data, ignore_errors=True)
    deadline = time.perf_counter() + NOTICE_SECONDS
    time.sleep(AWAY_SECONDS)
    late = [writer for writer in team.members if writer.newest_sent_at > deadline]
    score.lost += len(late)
    if late:
        score.faults[
            f"{len(late)} writers got writes acknowledged {NOTICE_SECONDS:g} s after the folder was gone, and later"
        ] += 1
    if (server.data / ENGINE_SIGN).exists():
        score.faults["a new, empty store was made"] += 1

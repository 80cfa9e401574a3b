"""What does a server do whose folder is taken away? It must not acknowledge what nobody will find, nor make an empty folder and serve that.

Moved away and back: everything acknowledged, before, meanwhile and after, is there. Deleted: a second later nothing is acknowledged any more.
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
"""A server may look after its folder now and then only."""
BACK_SECONDS = 0.5
FOLDER_FILLER_BYTES = (100, 20_000)
"""Small items stay in one log meanwhile; with large ones the engine makes new files, or finds that it cannot."""
ENGINE_SIGN = Path("engine", "CURRENT")
"""What a new store has."""


def run_lost_folders(folder: Path, rounds: int, chance: random.Random) -> list[LossFigure]:
    """In turns: moved and deleted, with small items and large ones."""
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
    """And back; then kill the server, and judge what the next one finds."""
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
    """And count what is acknowledged later than the server may need to notice."""
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

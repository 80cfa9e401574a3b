"""Does a server keep what it acknowledged when the disk is full?
Files may not grow over a limit, until the limit is lifted.

RLIMIT_FSIZE stands for the disk: writes beyond it fail, as on a full disk, and it can be lifted for a running process.
"""

import random
import time
from collections.abc import Callable
from pathlib import Path

from torture.figures import LossFigure
from torture.loss.judging import Score
from torture.loss.writers import MAKE_TABLE, Team
from torture.server import Limits, ServerProcess

FILE_BYTES = (300_000, 2_000_000)
DISK_FILLER_BYTES = 1_000
FULL_SECONDS_MAX = 20.0
HEAL_SECONDS_MAX = 15.0
REFUSALS = 10
"""Number of refused writes after which the disk counts as full."""
LOOK_SECONDS = 0.01
MORE_SECONDS = 0.2


def run_full_disk(folder: Path, rounds: int, chance: random.Random) -> list[LossFigure]:
    """Alternate rounds: the limit is lifted while the server runs, or the server is killed while the disk is full."""
    healed, killed = Score("full disk, then room again"), Score("full disk, killed, then room again")
    for number in range(rounds):
        score = (healed, killed)[number % 2]
        score.rounds += 1
        limits = Limits(file_bytes=chance.randint(*FILE_BYTES))
        run_round(score, folder / f"disk-{number}", limits, does_heal=score is healed)
    return [healed.figure(), killed.figure()]


def run_round(score: Score, place: Path, limits: Limits, *, does_heal: bool) -> None:
    """Write until the disk is full, lift the limit or not, kill, and judge a server without limits."""
    team = Team(DISK_FILLER_BYTES)
    server = score.start(place, limits)
    if server is None:
        return
    try:
        server.call(*MAKE_TABLE)
        team.start(server.port)
        if not comes_true(lambda: team.refused >= REFUSALS, FULL_SECONDS_MAX):
            score.faults["the disk was never full"] += 1
        if does_heal:
            heal(score, server, team)
        server.kill()
        team.end()
        again = score.start(place)
        if again is not None:
            server = again
            score.judge(server, team)
    finally:
        server.kill()
        team.end()
    score.check(server.data)
    score.add(team)


def heal(score: Score, server: ServerProcess, team: Team) -> None:
    """Lift the limit, and check that writes are acknowledged again."""
    acknowledged = team.acknowledged
    began = time.perf_counter()
    server.allow_large_files()
    if comes_true(lambda: team.acknowledged > acknowledged, HEAL_SECONDS_MAX):
        score.served_after(time.perf_counter() - began)
    else:
        asking = sum(writer.is_alive() for writer in team.members)
        status = server.process.poll()
        score.faults[
            f"no write was taken within {HEAL_SECONDS_MAX:.0f} s of room: {asking} writers still ask ({team.ends()}),"
            f" the server's status is {status}, its last words: {server.last_words()}"
        ] += 1
    time.sleep(MORE_SECONDS)


def comes_true(condition: Callable[[], bool], seconds_max: float) -> bool:
    """True if the condition holds before the time is over."""
    deadline = time.perf_counter() + seconds_max
    while time.perf_counter() < deadline:
        if condition():
            return True
        time.sleep(LOOK_SECONDS)
    return False

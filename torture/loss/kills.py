"""Does a killed server keep what it acknowledged? SIGKILL at random times, start, compare;
then a check of the whole folder.
"""

import random
import time
from pathlib import Path

from torture.figures import LossFigure
from torture.loss.judging import Score
from torture.loss.writers import FILLER_BYTES, MAKE_TABLE, Team
from torture.server import ServerProcess

ROUNDS_PER_FOLDER = 10
WRITE_SECONDS = (0.02, 0.6)
"""The kill comes at a random time between these."""


def run_kills(folder: Path, rounds: int, chance: random.Random) -> LossFigure:
    """Kill a server this many times, with a new folder after every tenth kill."""
    score = Score("kill -9")
    while score.rounds < rounds:
        place = folder / f"kills-{score.rounds}"
        team = Team(FILLER_BYTES[score.rounds // ROUNDS_PER_FOLDER % 2])
        server = score.start(place)
        if server is None:
            break
        try:
            server.call(*MAKE_TABLE)
            for _ in range(min(ROUNDS_PER_FOLDER, rounds - score.rounds)):
                score.rounds += 1
                write_and_kill(server, team, chance)
                again = score.start(place)
                if again is None:
                    break
                server = again
                score.judge(server, team)
        finally:
            server.stop()
        score.check(server.data)
        score.add(team)
    return score.figure()


def write_and_kill(server: ServerProcess, team: Team, chance: random.Random) -> None:
    """Let the team write for a random time, then kill the server."""
    team.start(server.port)
    time.sleep(chance.uniform(*WRITE_SECONDS))
    server.kill()
    team.end()

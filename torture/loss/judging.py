"""How much data survives a crash? Reads every writer's items and compares them with its history."""

import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.client import ReplyError
from torture.figures import LossFigure
from torture.loss.history import Verdict
from torture.loss.writers import TABLE, Team
from torture.server import NO_LIMITS, ROOT, Limits, Refused, ServerProcess

SHOWN_KEYS = 3
SHOWN_CHARACTERS = 300
CHECK_SECONDS_MAX = 120


class Score:
    """The counts of all rounds of one way of losing data."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.rounds = self.acknowledged = self.lost = self.invented = self.refused_starts = 0
        self.serve_seconds_max = 0.0
        self.faults: Counter[str] = Counter()

    def start(self, folder: Path, limits: Limits = NO_LIMITS, module: str = "hashrange") -> ServerProcess | None:
        """Start a server on the folder; return None and count it when the server refuses."""
        try:
            server = ServerProcess(folder, limits, module)
        except Refused as refusal:
            self.refused_starts += 1
            self.faults[f"a start was refused: {refusal}"] += 1
            return None
        self.served_after(server.ready_seconds)
        return server

    def served_after(self, seconds: float) -> None:
        """Note the seconds until the server answered again."""
        self.serve_seconds_max = max(self.serve_seconds_max, seconds)

    def judge(self, server: ServerProcess, team: Team, *, is_final: bool = True) -> None:
        """Count lost and invented items; with `is_final` the items found become the team's history."""
        for name, history in team.histories.items():
            try:
                found = items_of(server, name)
            except (ReplyError, OSError) as error:
                self.faults[f"what was written could not be read: {str(error)[:150]}"] += 1
                return
            verdict = history.judge(found)
            self._count(name, verdict)
            if is_final:
                history.settle(found)

    def _count(self, name: str, verdict: Verdict) -> None:
        self.lost += len(verdict.lost)
        self.invented += len(verdict.invented)
        for word, keys in (("lost", verdict.lost), ("invented", verdict.invented)):
            if keys:
                self.faults[f"{word}: {name} {', '.join(keys[:SHOWN_KEYS])}"] += 1

    def check(self, data: Path) -> None:
        """Run `hashrange check` on a folder that no server uses."""
        command = [sys.executable, "-m", "hashrange", "check", str(data)]
        environment = {"PYTHONPATH": str(ROOT / "src")}
        done = subprocess.run(
            command, capture_output=True, text=True, env=environment, timeout=CHECK_SECONDS_MAX, check=False
        )
        if done.returncode:
            said = " ".join((done.stdout + done.stderr).split()).replace(f"{data.parent}/", "")[-SHOWN_CHARACTERS:]
            self.faults[f"hashrange check: {said}"] += 1

    def add(self, team: Team) -> None:
        """Add the counts of a team that has ended."""
        self.acknowledged += team.acknowledged
        self.faults.update(team.faults)

    def figure(self) -> LossFigure:
        """Return the figure for the table."""
        return LossFigure(
            name=self.name,
            rounds=self.rounds,
            acknowledged=self.acknowledged,
            lost=self.lost,
            invented=self.invented,
            refused_starts=self.refused_starts,
            serve_seconds_max=self.serve_seconds_max,
            faults=tuple(f"{fault} ({count} times)" if count > 1 else fault for fault, count in self.faults.items()),
        )


def items_of(server: ServerProcess, name: str) -> dict[str, str]:
    """Return key → data of every item of a writer, read consistently."""
    request: dict[str, Any] = {
        "TableName": TABLE,
        "KeyConditionExpression": "pk = :pk",
        "ExpressionAttributeValues": {":pk": {"S": name}},
        "ConsistentRead": True,
    }
    found: dict[str, str] = {}
    while True:
        reply = server.call("Query", request)
        found |= {item["sk"]["S"]: item["d"]["S"] for item in reply["Items"]}
        if "LastEvaluatedKey" not in reply:
            return found
        request["ExclusiveStartKey"] = reply["LastEvaluatedKey"]

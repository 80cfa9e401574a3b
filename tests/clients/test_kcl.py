"""The Kinesis Client Library with the DynamoDB Streams adapter: its workers read a stream whose shards split meanwhile.

Leases, checkpoints and leadership are kept in tables of the same server.
"""

import json
import os
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clients.programs import java
from tests.clients.serving import ServerProcess
from tests.clients.stories import HERE
from tests.clients.streaming import Change, Journal
from tests.support.waiting import wait_until

FOLDER = HERE / "kcl"
PARTITION_BYTES = 65_536
OPTIONS = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")

pytestmark = pytest.mark.packaging


class Application:
    """The running program of tests/clients/kcl, and the lines that it has printed."""

    def __init__(self, endpoint: str, stream_arn: str, errors: Path) -> None:
        classes = os.pathsep.join(("target/classes", str(Path("target/lib/*"))))
        self.errors = errors
        with errors.open("w") as written:
            self.process = subprocess.Popen(
                [java(FOLDER), *OPTIONS, "-cp", classes, "kcl.Main", endpoint, stream_arn],
                cwd=FOLDER,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=written,
                encoding="utf-8",
            )
        self.lines: list[dict[str, Any]] = []
        self.listener = threading.Thread(target=self._listen)
        self.listener.start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        self.lines.extend(json.loads(line) for line in self.process.stdout)

    def tell(self, command: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()

    def said(self, member: str) -> list[dict[str, Any]]:
        """The printed lines that have that member."""
        assert self.process.poll() is None, self.errors.read_text()
        return [line for line in list(self.lines) if member in line]

    def heard(self) -> list[Change]:
        """All changes received so far."""
        return [Change(*change) for line in self.said("heard") for change in line["heard"]]

    def shards_heard(self) -> set[str]:
        """The shards from which a change was received."""
        return {line["shard"] for line in self.said("heard")}

    def stop_worker(self) -> None:
        """Stop the running worker, at any point of its work."""
        before = len(self.said("stopped"))
        self.tell("stop")
        wait_until(lambda: len(self.said("stopped")) > before)

    def end(self) -> None:
        """Kill the program."""
        self.process.kill()
        self.process.communicate()
        self.listener.join()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProcess]:
    """A server whose partitions split early; on disk, so that it can be restarted."""
    running = ServerProcess(tmp_path / "data", "--partition-size", str(PARTITION_BYTES))
    yield running
    running.stop()


def test_workers_hear_every_change_once_and_in_order_while_shards_split(server: ServerProcess, tmp_path: Path) -> None:
    java(FOLDER)
    journal = Journal(server.endpoint)
    application = Application(server.endpoint, journal.stream_arn, tmp_path / "errors")
    try:
        open_shard = first_worker(journal, application)
        count_of_lines = len(application.lines)
        server.restart()
        second_worker(journal, application)
    finally:
        application.end()
    journal.check([Change(*change) for line in application.lines for change in line.get("heard", [])])
    check_lineage(journal.shards(), application.lines)
    check_going_on(open_shard, application.lines[:count_of_lines], application.lines[count_of_lines:])


def first_worker(journal: Journal, application: Application) -> str:
    """Run a worker while the first shard splits, then stop it; return a shard that it has not read to its end."""
    journal.put(range(40))
    application.tell("start one")
    wait_until(lambda: len(application.heard()) == journal.count())
    assert len(journal.shards()) == 1
    journal.put(range(200))
    wait_until(lambda: application.said("ended"))
    journal.put(range(200))
    wait_until(lambda: journal.open_shards() & application.shards_heard())
    application.stop_worker()
    return min(journal.open_shards() & application.shards_heard())


def second_worker(journal: Journal, application: Application) -> None:
    """Run a second worker, which reads on from the checkpoints, through shards that split in between."""
    journal.put(range(100, 400))
    journal.remove(range(0, 400, 3))
    assert 0 < len(application.heard()) < journal.count()
    application.tell("start two")
    wait_until(lambda: len(application.heard()) >= journal.count())
    application.stop_worker()


def check_lineage(shards: list[dict[str, Any]], lines: list[dict[str, Any]]) -> None:
    """Fail unless each shard was begun only after its parent had ended."""
    parents = {one["ShardId"]: one["ParentShardId"] for one in shards if "ParentShardId" in one}
    assert len(parents) == len(shards) - 1
    assert len(set(parents.values())) > 1
    for shard, parent in parents.items():
        begun = min(number for number, line in enumerate(lines) if line.get("shard") == shard)
        ended = max(number for number, line in enumerate(lines) if line.get("shard") == parent)
        assert "ended" in lines[ended]
        assert ended < begun


def check_going_on(shard: str, before: list[dict[str, Any]], after: list[dict[str, Any]]) -> None:
    """Fail unless the second worker began at the first one's checkpoint."""
    last = [line["heard"][-1] for line in before if line.get("shard") == shard and "heard" in line][-1]
    begun = next(line["begun"] for line in after if line.get("shard") == shard)
    assert begun == Change(*last).sequence

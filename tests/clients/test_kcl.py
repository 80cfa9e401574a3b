"""The Kinesis Client Library with the DynamoDB Streams adapter: its workers read a stream whose shards split meanwhile.

Their leases, checkpoints and leadership are tables of the same server.
"""

import json
import os
import subprocess
import threading
from pathlib import Path
from typing import IO, Any

import pytest

from tests.clients.programs import java
from tests.clients.serving import ServerProcess
from tests.clients.stories import HERE
from tests.clients.streaming import Change, Journal
from tests.support.waiting import wait_until

FOLDER = HERE / "kcl"
PARTITION_BYTES = 65_536
OPTIONS = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Dorg.slf4j.simpleLogger.defaultLogLevel=info", "-Dorg.slf4j.simpleLogger.showDateTime=true")

pytestmark = pytest.mark.packaging


class Application:
    """The program of tests/clients/kcl, and the lines that it has said."""

    def __init__(self, endpoint: str, stream_arn: str, errors: IO[str]) -> None:
        classes = os.pathsep.join(("target/classes", str(Path("target/lib/*"))))
        self.process = subprocess.Popen(
            [java(FOLDER), *OPTIONS, "-cp", classes, "kcl.Main", endpoint, stream_arn],
            cwd=FOLDER,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
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

    def stop_worker(self) -> None:
        """Wherever it is."""
        before = len(self.said("stopped"))
        self.tell("stop")
        wait_until(lambda: len(self.said("stopped")) > before)

    def said(self, member: str) -> list[dict[str, Any]]:
        assert self.process.poll() is None, "the program has ended"
        return [line for line in list(self.lines) if member in line]

    def heard(self) -> list[Change]:
        return [Change(*change) for line in self.said("heard") for change in line["heard"]]

    def end(self) -> None:
        """Whatever its workers do."""
        self.process.kill()
        self.process.communicate()
        self.listener.join()


def test_workers_hear_every_change_once_and_in_order_while_shards_split(tmp_path: Path) -> None:
    java(FOLDER)
    server = ServerProcess(None, "--partition-size", str(PARTITION_BYTES))
    try:
        journal = Journal(server.endpoint)
        with (tmp_path / "errors").open("w") as errors:
            application = Application(server.endpoint, journal.stream_arn, errors)
            try:
                lines = work(journal, application)
            finally:
                application.end()
        check_lineage(journal, lines)
        print((tmp_path / "errors").read_text())
    finally:
        server.stop()


def work(journal: Journal, application: Application) -> list[dict[str, Any]]:
    """Two workers, one after the other, while the table grows; what they have said."""
    journal.put(range(40))
    application.tell("start one")
    wait_until(lambda: len(application.heard()) == journal.count())
    assert len(journal.shards()) == 1
    journal.put(range(200))
    wait_until(lambda: len(application.said("ended")) > 0)
    journal.put(range(200))
    application.stop_worker()
    heard_by_the_first = len(application.heard())
    journal.put(range(100, 400))
    journal.remove(range(0, 400, 3))
    application.tell("start two")
    wait_until(lambda: len(application.heard()) >= journal.count())
    application.stop_worker()
    assert 0 < heard_by_the_first < journal.count()
    journal.check(application.heard())
    return application.lines


def check_lineage(journal: Journal, lines: list[dict[str, Any]]) -> None:
    """Each shard was begun only after its parent had ended."""
    shards = journal.shards()
    parents = {one["ShardId"]: one["ParentShardId"] for one in shards if "ParentShardId" in one}
    assert len(parents) == len(shards) - 1
    assert len(set(parents.values())) > 1
    for shard, parent in parents.items():
        begun = next(number for number, line in enumerate(lines) if line.get("shard") == shard)
        ended = max(number for number, line in enumerate(lines) if line.get("shard") == parent)
        assert ended < begun

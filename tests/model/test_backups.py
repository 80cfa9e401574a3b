"""Backups and restores through the API, compared with everything that the table has been: while it is written, split,
deleted and made anew, gets and loses an index, and while the store is killed.

Rows are moved in slices of three, so that each backup and each restore takes several, with anything between them.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from hashrange.errors import ApiError
from tests.model.walks import PREFIXES_OF_RECOVERY, Items, TableWalk
from tests.support.seeds import seeds
from tests.unit.jobs.world import TABLE, drive

STEPS = 250
DAY_SECONDS = 86_400
ON = {"PointInTimeRecoveryEnabled": True}


class Walk(TableWalk):
    """A world with recovery on, everything that the table has been, and what backups and restores must have."""

    def __init__(self, data_dir: Path, seed: int) -> None:
        super().__init__(data_dir, seed)
        self.backups: dict[str, Items] = {}
        """ARN → items."""
        self.restores: dict[str, Items] = {}
        """Name of a table that is being restored → items."""
        self.has_index = False
        self.names = 0
        self.checked = 0
        self.switch_on()

    # --- the table --------------------------------------------------------------------------------

    def switch_on(self) -> None:
        self.world.clock.advance(self.chance.choice((0.0, 1.3)))
        self.world.ask("UpdateContinuousBackups", PointInTimeRecoverySpecification=ON)
        self.history = [(self.now_seconds, dict(self.items))]
        self.world.clock.advance(0.002)

    def note(self) -> None:
        self.history.append((self.now_seconds, dict(self.items)))
        self.world.clock.advance(self.chance.choice((0.002, 0.002, 0.4, 3.0)))

    @property
    def now_seconds(self) -> float:
        """Service time in whole milliseconds, which is how changes are dated."""
        return int(self.world.clock.service_time() * 1000 + 0.0005) / 1000

    def change_index(self) -> None:
        if self.has_index:
            self.world.delete("by-x")
        else:
            self.world.create("by-x", "x")
            self.world.finish()
        self.has_index = not self.has_index

    def replace_table(self) -> None:
        """Delete the table, which leaves a backup of its own, and make another one of the same name."""
        expected = dict(self.items)
        self.world.clock.advance(0.002)
        self.world.ask("DeleteTable")
        arn = self.world.request("ListBackups", TableName=TABLE, BackupType="SYSTEM")["BackupSummaries"][-1][
            "BackupArn"
        ]
        self.backups[arn] = expected
        self.world.create_table()
        self.items, self.has_index = {}, False
        self.switch_on()

    def switch_off_and_on(self) -> None:
        off = {"PointInTimeRecoveryEnabled": False}
        self.world.ask("UpdateContinuousBackups", PointInTimeRecoverySpecification=off)
        self.switch_on()

    # --- backups and restores ---------------------------------------------------------------------

    def create_backup(self) -> None:
        self.world.clock.advance(0.002)
        arn = self.world.ask("CreateBackup", BackupName="one-of-many")["BackupDetails"]["BackupArn"]
        self.backups[arn] = dict(self.items)

    def restore_backup(self) -> None:
        if self.backups:
            arn = self.chance.choice(list(self.backups))
            self.restore("RestoreTableFromBackup", self.backups[arn], BackupArn=arn)

    def restore_to_time(self) -> None:
        described = self.world.ask("DescribeContinuousBackups")["ContinuousBackupsDescription"]
        window = described["PointInTimeRecoveryDescription"]
        earliest, latest = window["EarliestRestorableDateTime"], window["LatestRestorableDateTime"]
        if self.chance.random() < 0.3:
            self.restore("RestoreTableToPointInTime", self.items, SourceTableName=TABLE, UseLatestRestorableTime=True)
            return
        second = self.chance.randrange(earliest, latest + 1)
        moment = max(float(second), self.history[0][0])
        expected = [items for at, items in self.history if at <= moment][-1]
        self.restore("RestoreTableToPointInTime", expected, SourceTableName=TABLE, RestoreDateTime=second)

    def restore(self, operation: str, expected: Items, **members: Any) -> None:
        self.names += 1
        name = f"restored-{self.names}"
        try:
            self.world.request(operation, TargetTableName=name, **members)
        except ApiError as refusal:
            assert refusal.code == "BackupInUseException", refusal.message
        else:
            self.restores[name] = dict(expected)

    def delete_backup(self) -> None:
        if self.backups:
            arn = self.chance.choice(list(self.backups))
            try:
                self.world.request("DeleteBackup", BackupArn=arn)
            except ApiError as refusal:
                assert refusal.code == "BackupInUseException" or arn.endswith("-00000000")
            else:
                del self.backups[arn]

    def move(self) -> None:
        drive(self.world.copying.run_slice())
        self.look()

    def look(self) -> None:
        """Compare the tables that have become ACTIVE, and delete them."""
        for name, expected in list(self.restores.items()):
            described = self.world.request("DescribeTable", TableName=name)["Table"]
            if described["TableStatus"] == "CREATING":
                assert described["RestoreSummary"]["RestoreInProgress"] is True
                with pytest.raises(ApiError, match="not found"):
                    self.world.request("Scan", TableName=name)
                continue
            self.compare(name, expected, [one["IndexName"] for one in described.get("GlobalSecondaryIndexes", [])])
            self.world.request("DeleteTable", TableName=name)
            del self.restores[name]
            self.checked += 1

    def compare(self, name: str, expected: Items, index_names: list[str]) -> None:
        found = self.world.request("Scan", TableName=name)["Items"]
        assert {one["id"]["S"]: one for one in found} == expected, name
        for index_name in index_names:
            entries = self.world.request("Scan", TableName=name, IndexName=index_name)["Items"]
            assert {one["id"]["S"]: one for one in entries} == expected, name

    def kill(self) -> None:
        self.world.kill()
        for name in self.restores:
            assert self.world.request("DescribeTable", TableName=name)

    def tend(self) -> None:
        drive(self.world.recovery_job.run_slice())

    # --- the walk ---------------------------------------------------------------------------------

    def actions(self) -> Mapping[Callable[[], object], float]:
        return {
            self.write: 20,
            self.create_backup: 3,
            self.restore_backup: 3,
            self.restore_to_time: 4,
            self.delete_backup: 1,
            self.move: 25,
            self.world.split: 2,
            self.tend: 3,
            self.kill: 2,
            self.change_index: 1,
            self.replace_table: 0.7,
            self.switch_off_and_on: 0.3,
        }

    def close(self) -> None:
        """End everything: each backup is restored once more, and nothing is left of what has been deleted."""
        self.world.copy()
        self.look()
        assert not self.restores
        for arn in self.backups:
            self.restore("RestoreTableFromBackup", self.backups[arn], BackupArn=arn)
            self.world.copy()
            self.look()
        for arn in list(self.backups):
            if not arn.endswith("-00000000"):
                self.world.request("DeleteBackup", BackupArn=arn)
        self.world.ask(
            "UpdateContinuousBackups", PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": False}
        )
        while drive(self.world.recovery_job.run_slice()) is not None:
            pass
        self.world.clock.advance(36 * DAY_SECONDS)
        assert self.world.copy() is None
        assert self.world.request("ListBackups", BackupType="ALL") == {"BackupSummaries": []}
        self.require_no_rows(PREFIXES_OF_RECOVERY)
        assert [name for name, _ in self.world.store.documents.below("")] == []
        assert self.world.close() == []


@pytest.mark.parametrize("seed", seeds(4, 60))
def test_restores_have_what_the_table_had(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    walk = Walk(tmp_path / "data", seed)
    walk.walk(STEPS, monkeypatch)
    assert walk.checked > 5

"""What does an application wait for, and when does it send a request again?"""

from typing import Any, cast

import pytest

from hashrange.templates.requests import TemplateRequest
from hashrange.templates.stack import Locality, Stack
from hashrange.templates.wanted import WantedStack, WantedTable
from hashrange.toolkit.deployment import Deployment
from hashrange.toolkit.failures import ToolkitFailure
from hashrange.toolkit.target import Target

TABLE = WantedTable("T", "orders", {}, None, None, {}, None, None)
RECOVERY = TemplateRequest("dynamodb", "UpdateContinuousBackups", {"TableName": "orders"}, "table orders", "recovery")


class Scripted:
    """A target that answers requests for one operation with these codes, one after the other, then with success."""

    def __init__(self, codes: list[str], states: list[list[str]]) -> None:
        self.codes, self.states = codes, states
        self.unseen: list[str] = []
        """Codes that refuse the first requests for a description."""
        self.asked: list[str] = []

    def ask(self, service: str, operation: str, /, **members: Any) -> Any:
        self.asked.append(operation)
        if operation == "describe_table":
            if self.unseen:
                raise ToolkitFailure("there is no table", self.unseen.pop())
            table, *indexes = self.states.pop(0) if len(self.states) > 1 else self.states[0]
            described = [{"IndexName": "I", "IndexStatus": index} for index in indexes]
            return {"Table": {"TableStatus": table, "GlobalSecondaryIndexes": described}}
        if self.codes:
            raise ToolkitFailure("refused", self.codes.pop(0))
        return {}


class Noted:
    """Notes what is told."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.waited: list[list[str]] = []

    def begin(self, request: TemplateRequest) -> None:
        self.begun.append(request.operation)

    def wait(self, request: TemplateRequest, states: list[str]) -> None:
        self.waited.append(states)


def carried_out(target: Scripted, request: TemplateRequest) -> Noted:
    wanted, progress = WantedStack([TABLE], [], {}, []), Noted()
    place = Locality("1", "us-east-1")
    Deployment(cast("Target", target), place, Stack("s", {}, "."), wanted).carry_out([request], progress)
    return progress


def test_recovery_of_a_new_table_is_asked_for_again() -> None:
    target = Scripted(["ContinuousBackupsUnavailableException"] * 2, [["ACTIVE"]])
    assert carried_out(target, RECOVERY).begun == ["UpdateContinuousBackups"]
    assert target.asked.count("update_continuous_backups") == 3


def test_other_refusals_end_it() -> None:
    target = Scripted(["ValidationException"], [["ACTIVE"]])
    with pytest.raises(ToolkitFailure):
        carried_out(target, RECOVERY)
    assert target.asked.count("update_continuous_backups") == 1


def test_a_table_that_somebody_changes_is_waited_for_before_and_its_indexes_after() -> None:
    update = RECOVERY._replace(operation="UpdateTable", is_waited_for=True)
    states = [["UPDATING"], ["ACTIVE"], ["ACTIVE", "CREATING"], ["ACTIVE", "ACTIVE"]]
    target = Scripted([], states)
    assert carried_out(target, update).waited == [["UPDATING"], ["I CREATING"]]
    assert target.asked[:5] == ["describe_table", "describe_table", "update_table", "describe_table", "describe_table"]


@pytest.mark.parametrize("code", ["ResourceInUseException", "ResourceConflictException"])
def test_a_change_that_meets_one_of_somebody_else_is_sent_again(code: str) -> None:
    target = Scripted([code] * 2, [["ACTIVE"]])
    carried_out(target, RECOVERY._replace(operation="UpdateTable"))
    assert target.asked.count("update_table") == 3
    target = Scripted([code], [["ACTIVE"]])
    with pytest.raises(ToolkitFailure):
        carried_out(target, CREATION)
    assert target.asked.count("create_table") == 1, "somebody else has created it"


CREATION = RECOVERY._replace(operation="CreateTable", is_waited_for=True)


def test_a_new_table_that_is_not_yet_described_is_waited_for() -> None:
    target = Scripted([], [["CREATING"], ["CREATING"], ["ACTIVE"]])
    target.unseen = ["ResourceNotFoundException"] * 2
    assert carried_out(target, CREATION).waited == [["CREATING"]]


def test_an_old_table_that_is_gone_is_not_waited_for() -> None:
    target = Scripted([], [["ACTIVE"]])
    target.unseen = ["ResourceNotFoundException"] * 2
    with pytest.raises(ToolkitFailure, match="there is no table"):
        carried_out(target, CREATION._replace(operation="UpdateTable"))
    assert target.asked == ["describe_table"]


def test_a_table_that_no_waiting_helps_ends_it() -> None:
    target = Scripted([], [["INACCESSIBLE_ENCRYPTION_CREDENTIALS"]])
    with pytest.raises(ToolkitFailure, match="the table orders is INACCESSIBLE_ENCRYPTION_CREDENTIALS, and takes no"):
        carried_out(target, RECOVERY._replace(is_waited_for=True))

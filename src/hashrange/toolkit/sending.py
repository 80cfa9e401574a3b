"""How is a request of a template or a design carried out? It is sent, and what it changes is waited for."""

from typing import Any, Protocol

from hashrange.templates.requests import TemplateRequest
from hashrange.toolkit.failures import NO_TABLE_CODES, ToolkitFailure
from hashrange.toolkit.patience import BEING_MADE_CODES, pauses, reply_when_made
from hashrange.toolkit.target import Target

READY = ("ACTIVE", "Active", "Inactive", "Successful")
"""Ends of the states of tables, indexes and functions that are ready."""
DELETING = "DELETING"
STUCK = ("ARCHIVED", "INACCESSIBLE_ENCRYPTION_CREDENTIALS", "REPLICATION_NOT_AUTHORIZED")
"""States of tables that do not end by themselves."""
BUSY_CODES = {"ResourceConflictException", "ResourceInUseException"}
"""Codes that refuse a change because of another one, which somebody else may have begun."""
UNSEEN_TRIES = 20
"""Looks at a table that has just been created: DescribeTable of AWS may not know it yet."""


class SendingProgress(Protocol):
    """Who is told what happens."""

    def begin(self, request: TemplateRequest) -> None:
        """A request is sent."""

    def wait(self, request: TemplateRequest, states: list[str]) -> None:
        """It is waited for; `states`: of what is not ready."""


class UnseenProgress:
    """Progress that is told to nobody."""

    def begin(self, request: TemplateRequest) -> None:
        """Do nothing."""

    def wait(self, request: TemplateRequest, states: list[str]) -> None:
        """Do nothing."""


class Sender:
    """Sends requests to one target."""

    def __init__(self, target: Target, progress: SendingProgress) -> None:
        self._target, self._progress = target, progress
        self.sent = 0
        """Requests that the endpoint has taken."""

    def carry_out(self, request: TemplateRequest) -> None:
        """Send a request, and wait until the next one is taken. Raises ToolkitFailure."""
        self._progress.begin(request)
        codes = BEING_MADE_CODES if request.operation.startswith("Create") else BEING_MADE_CODES | BUSY_CODES
        reply_when_made(lambda: reply_to(self._target, _without_hash(request)), codes)
        self.sent += 1
        if request.operation == "CreateTable":
            name = request.members["TableName"]
            reply_when_made(lambda: self._table_states(name), NO_TABLE_CODES, UNSEEN_TRIES)
        if request.is_waited_for:
            self.wait_until_ready(request)

    def wait_until_ready(self, request: TemplateRequest) -> None:
        """Wait until the table with its indexes, or the function, takes the next request. Raises ToolkitFailure."""
        name = request.members.get("TableName") or request.members.get("FunctionName")
        if name is None:
            return
        states = self._table_states if request.service == "dynamodb" else self._function_states
        for _ in pauses():
            pending = [state for state in states(name) if not state.endswith(READY)]
            if not pending:
                return
            self._progress.wait(request, pending)

    def wait_until_gone(self, request: TemplateRequest) -> None:
        """Wait until a table of this name, if somebody is deleting one, can be created. Raises ToolkitFailure."""
        for _ in pauses():
            try:
                states = self._table_states(request.members["TableName"])
            except ToolkitFailure as failure:
                if failure.code in NO_TABLE_CODES:
                    return
                raise
            if states[0] != DELETING:
                return
            self._progress.wait(request, states)

    def _table_states(self, name: str) -> list[str]:
        table = self._target.ask("dynamodb", "describe_table", TableName=name)["Table"]
        if table["TableStatus"] in STUCK:
            raise ToolkitFailure(
                f"the table {name} is {table['TableStatus']}, and takes no changes before that is mended."
            )
        indexes = table.get("GlobalSecondaryIndexes", [])
        return [table["TableStatus"], *(f"{index['IndexName']} {index['IndexStatus']}" for index in indexes)]

    def _function_states(self, name: str) -> list[str]:
        function = self._target.ask("lambda", "get_function_configuration", FunctionName=name)
        states = [function.get("State", "Active"), function.get("LastUpdateStatus", "Successful")]
        if "Failed" in states:
            reason = function.get("StateReason") or function.get("LastUpdateStatusReason") or "no reason is given"
            raise ToolkitFailure(f"the function {name} has failed: {reason.rstrip('.')}.")
        return states


def reply_to(target: Target, request: TemplateRequest) -> Any:
    """The reply to a request. Raises ToolkitFailure."""
    return target.ask(request.service, words_of(request.operation, "_"), **request.members)


def words_of(operation: str, between: str) -> str:
    """The name of an operation in small letters: `update_table`, as in boto3, or `update-table`, as in the AWS CLI."""
    return "".join(f"{between}{one.lower()}" if one.isupper() else one for one in operation).removeprefix(between)


def _without_hash(request: TemplateRequest) -> TemplateRequest:
    code = request.members.get("Code")
    return (
        request if code is None else request._replace(members={**request.members, "Code": {"ZipFile": code["ZipFile"]}})
    )

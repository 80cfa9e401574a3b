"""How does a template become tables at an endpoint? It is compared with what the service describes; then the requests
that are missing are sent, and each is waited for.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from hashrange.templates.companion_requests import companion_reading, companion_requests, resource_words
from hashrange.templates.late_values import fill_in, late_names, readable
from hashrange.templates.requests import (
    PresentTable,
    TemplateRequest,
    scaling_bounds,
    table_requests,
    why_replaced,
)
from hashrange.templates.stack import FUNCTION_TYPE, LeftOut, Locality, Stack
from hashrange.templates.wanted import WantedCompanion, WantedStack, WantedTable
from hashrange.toolkit.dropped import DroppedSearch
from hashrange.toolkit.failures import ToolkitFailure
from hashrange.toolkit.function_code import packed_code
from hashrange.toolkit.sending import DELETING, Sender, SendingProgress, reply_to
from hashrange.toolkit.target import Target

NOT_THERE_CODES = {
    "ObjectNotFoundException", "PolicyNotFoundException", "ResourceNotFoundException", "UnknownOperationException",
}  # fmt: skip
"""Codes that say that nothing is described, the last of them from servers without the operation."""


class Compared(NamedTuple):
    """A template compared with what is there."""

    requests: list[TemplateRequest]
    unchanged: list[str]
    kept: list[tuple[str, str]]
    """What is not touched, although the template drops it, or gives a table other keys; and why."""


class Deployment:
    """One stack at one target."""

    def __init__(self, target: Target, place: Locality, stack: Stack, wanted: WantedStack) -> None:
        self._target, self._place, self._stack, self.wanted = target, place, stack, wanted
        self._known: dict[str, str] = {}
        """Name of a late value → the value."""
        self._companions = [self._with_code(companion) for companion in wanted.companions]

    def _with_code(self, companion: WantedCompanion) -> WantedCompanion:
        if companion.type != FUNCTION_TYPE:
            return companion
        return companion._replace(
            members={**companion.members, "Code": packed_code(companion.members, self._stack.folder)}
        )

    # --- comparing ------------------------------------------------------------------------------

    def compare(self) -> Compared:
        """What is to be done. Raises ToolkitFailure."""
        scaled = scaling_bounds(self.wanted.companions)
        compared = Compared([], [], [])
        for table in self.wanted.tables:
            present = self._present(table)
            reason = None if present is None else why_replaced(table, present.description)
            if reason is not None:
                compared.kept.append((f"table {table.name}", f"{reason}. A table is never replaced here"))
                continue
            requests = table_requests(table, present, self._stack.name, scaled)
            compared.requests.extend(requests)
            if not requests:
                compared.unchanged.append(f"table {table.name}")
        companions = [one._replace(members=fill_in(one.members, self._known)) for one in self._companions]
        self._compare_companions(compared)
        dropped = DroppedSearch(self._target, self._place, self._stack.name)
        reason = "the template does not make it any more. Nothing but an index is ever deleted here"
        compared.kept.extend((name, reason) for name in dropped.tables(self.wanted.tables))
        compared.kept.extend((name, reason) for name in dropped.companions(companions))
        return compared

    def _compare_companions(self, compared: Compared) -> None:
        offered = []
        for companion in self._companions:
            try:
                requests = self._requests_of(companion)
            except ToolkitFailure as failure:
                if self._target.is_aws or not failure.code:
                    raise
                self.wanted.left_out.append(LeftOut(companion.place, companion.type, str(failure)))  # not offered there
                continue
            offered.append(companion)
            compared.requests.extend(requests)
            if not requests:
                compared.unchanged.append(resource_words(companion))
        self._companions = offered

    def _requests_of(self, companion: WantedCompanion) -> list[TemplateRequest]:
        filled = companion._replace(members=fill_in(companion.members, self._known))
        reading = companion_reading(filled)
        known = {name: one for name, one in reading.members.items() if not late_names(one)}
        reply = self._described(reading._replace(members=known))  # asked in any case: the endpoint may not offer it
        return companion_requests(filled, reply if known == reading.members else None, self._stack.name)

    def _present(self, table: WantedTable) -> PresentTable | None:
        name = table.name
        reply = self._describe("describe_table", TableName=name)
        if reply is None or reply["Table"]["TableStatus"] == DELETING:
            return None
        description = reply["Table"]
        self._know(table, description)
        time_to_live = self._describe("describe_time_to_live", TableName=name) or {}
        of_ttl = time_to_live.get("TimeToLiveDescription", {})
        backups = self._describe("describe_continuous_backups", TableName=name) or {}
        recovery = backups.get("ContinuousBackupsDescription", {}).get("PointInTimeRecoveryDescription", {})
        is_recovering = recovery.get("PointInTimeRecoveryStatus") == "ENABLED"
        policy = self._describe("get_resource_policy", ResourceArn=description["TableArn"])
        return PresentTable(
            description,
            of_ttl.get("AttributeName") if of_ttl.get("TimeToLiveStatus") in {"ENABLED", "ENABLING"} else None,
            recovery.get("RecoveryPeriodInDays", 35) if is_recovering else None,
            self._insights(name),
            self._tags(description["TableArn"]),
            None if policy is None else policy["Policy"],
            self._kinesis_streams(name) if table.kinesis_stream is not None else frozenset(),
        )

    def _insights(self, name: str) -> dict[str, str | None]:
        found = {}
        for one in self._all("list_contributor_insights", "ContributorInsightsSummaries", TableName=name):
            if str(one.get("ContributorInsightsStatus", "")).startswith("ENABL"):
                found[one.get("IndexName", "")] = one.get("ContributorInsightsMode")
        return found

    def _tags(self, arn: str) -> dict[str, str]:
        return {one["Key"]: one["Value"] for one in self._all("list_tags_of_resource", "Tags", ResourceArn=arn)}

    def _kinesis_streams(self, name: str) -> frozenset[str]:
        reply = self._describe("describe_kinesis_streaming_destination", TableName=name) or {}
        ones = reply.get("KinesisDataStreamDestinations", [])
        return frozenset(one["StreamArn"] for one in ones if one["DestinationStatus"] in {"ACTIVE", "ENABLING"})

    def _all(self, operation: str, member: str, **members: Any) -> Iterator[Any]:
        """The members of every page of a reply."""
        token: dict[str, Any] = {}
        while (reply := self._describe(operation, **members, **token)) is not None:
            yield from reply.get(member, [])
            if not reply.get("NextToken"):
                break
            token = {"NextToken": reply["NextToken"]}

    def _describe(self, operation: str, **members: Any) -> Any:
        return self._described(TemplateRequest("dynamodb", operation, members, "", ""))

    def _described(self, request: TemplateRequest) -> Any:
        """The reply to a request that reads; None if there is nothing."""
        try:
            return reply_to(self._target, request)
        except ToolkitFailure as failure:
            if failure.code in NOT_THERE_CODES:
                return None
            raise

    def _know(self, table: WantedTable, description: Any) -> None:
        if "LatestStreamArn" in description:
            self._known[f"{table.place}.StreamArn"] = description["LatestStreamArn"]

    # --- carrying out -----------------------------------------------------------------------------

    def carry_out(self, requests: list[TemplateRequest], progress: SendingProgress) -> None:
        """Send the requests of `compare`, in order; those of companions are found anew, because they may need what
        tables have got. Raises ToolkitFailure.
        """
        by_table = {f"table {table.name}": table for table in self.wanted.tables}
        sender, begun = Sender(self._target, progress), set[str]()
        for request in requests:
            if request.resource in by_table:
                if request.operation == "CreateTable":
                    sender.wait_until_gone(request)
                elif request.resource not in begun:
                    sender.wait_until_ready(request)  # somebody else may have changed it
                begun.add(request.resource)
                sender.carry_out(request)
        for table in by_table.values():
            self._know(table, (self._describe("describe_table", TableName=table.name) or {}).get("Table", {}))
        changed = {request.resource for request in requests}
        for companion in self._companions:
            if resource_words(companion) in changed:
                for request in self._requests_of(companion):
                    sender.carry_out(request)

    # --- afterwards -------------------------------------------------------------------------------

    def outputs(self) -> dict[str, str]:
        """The template's outputs, as far as they are known."""
        return {name: readable(fill_in(value, self._known)) for name, value in self.wanted.outputs.items()}

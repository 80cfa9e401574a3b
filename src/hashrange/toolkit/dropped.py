"""Which resources has an earlier template of a stack made that this one drops? They are known by the stack's tag.

Policies of auto scaling have no tags; those of a dropped target go with it. The search is bounded, and what the caller
may not list, or the endpoint does not offer, counts as not there.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from hashrange.templates.companion_requests import COMPANION_KINDS
from hashrange.templates.requests import STACK_TAG
from hashrange.templates.stack import ALARM_TYPE, FUNCTION_TYPE, MAPPING_TYPE, TARGET_TYPE, Locality
from hashrange.templates.wanted import WantedCompanion, WantedTable
from hashrange.toolkit.failures import ToolkitFailure
from hashrange.toolkit.target import Target

OTHERS_MAX = 100
"""Resources of each kind whose tags are read."""
OF_POLICIES = "TargetTracking-"
"""How names of alarms begin that belong to policies of auto scaling."""
SPACE = {TARGET_TYPE: {"ServiceNamespace": "dynamodb"}}
"""Members of the listing of a type."""


class TaggedKind(NamedTuple):
    """How resources of a type are listed with their tags."""

    listing: str
    found_in: str
    arn: str
    """Member of one that is listed."""
    tags_reading: str
    tags_of: str
    """Member of that operation that takes the ARN."""


TAGGED_KINDS = {
    FUNCTION_TYPE: TaggedKind("list_functions", "Functions", "FunctionArn", "list_tags", "Resource"),
    MAPPING_TYPE: TaggedKind(
        "list_event_source_mappings", "EventSourceMappings", "EventSourceMappingArn", "list_tags", "Resource"
    ),
    TARGET_TYPE: TaggedKind(
        "describe_scalable_targets", "ScalableTargets", "ScalableTargetARN", "list_tags_for_resource", "ResourceARN"
    ),
    ALARM_TYPE: TaggedKind("describe_alarms", "MetricAlarms", "AlarmArn", "list_tags_for_resource", "ResourceARN"),
}


class DroppedSearch:
    """Searches a target for resources of one stack."""

    def __init__(self, target: Target, place: Locality, stack: str) -> None:
        self._target, self._place, self._stack = target, place, stack

    def tables(self, wanted: list[WantedTable]) -> Iterator[str]:
        """The tables that are not wanted: `table orders`."""
        names = {table.name for table in wanted}
        reply = self._asked(self._target.ask, "dynamodb", "list_tables", Limit=OTHERS_MAX)
        for name in reply.get("TableNames", []):
            arn = f"arn:{self._place.partition}:dynamodb:{self._place.region}:{self._place.account}:table/{name}"
            if name not in names and self._is_own("dynamodb", "list_tags_of_resource", ResourceArn=arn):
                yield f"table {name}"

    def companions(self, wanted: list[WantedCompanion]) -> Iterator[str]:
        """The functions, mappings, targets and alarms that are not wanted: `function archiver`.

        At AWS, only services of which something is wanted are asked: others may not be reachable or permitted.
        """
        kept = {(one.type, identity(one.type, one.members)) for one in wanted}
        used = {COMPANION_KINDS[one.type].service for one in wanted}
        for type_, kind in TAGGED_KINDS.items():
            service = COMPANION_KINDS[type_].service
            if self._target.is_aws and service not in used:
                continue
            paging = {"PaginationConfig": {"MaxItems": OTHERS_MAX}}
            reply = self._asked(self._target.ask_all, service, kind.listing, **SPACE.get(type_, {}), **paging)
            for one in reply.get(kind.found_in, []):
                named = identity(type_, one)
                if named[0].startswith(OF_POLICIES):
                    continue
                if (type_, named) not in kept and self._is_own(
                    service, kind.tags_reading, **{kind.tags_of: one.get(kind.arn)}
                ):
                    yield f"{COMPANION_KINDS[type_].noun} {' '.join(map(_shortened, named))}"

    def _is_own(self, service: str, operation: str, **members: Any) -> bool:
        """True if a resource has the stack's tag."""
        tags = self._asked(self._target.ask, service, operation, **members).get("Tags", [])
        found = tags if isinstance(tags, dict) else {one["Key"]: one["Value"] for one in tags}
        return found.get(STACK_TAG) == self._stack

    def _asked(self, ask: Callable[..., Any], service: str, operation: str, **members: Any) -> Mapping[str, Any]:
        """A reply; an empty one if the request is refused."""
        try:
            reply: Mapping[str, Any] = ask(service, operation, **members)
        except ToolkitFailure as failure:
            if not failure.code:
                raise
            return {}
        return reply


def _shortened(name: str) -> str:
    """The table of a stream's ARN, any other name as it is."""
    return name.partition(":table/")[2].partition("/")[0] or name


def identity(type_: str, members: Mapping[str, Any]) -> tuple[str, ...]:
    """By what a resource is told from others of its type, whether it is wanted or described."""
    if type_ == MAPPING_TYPE:
        function = str(members.get("FunctionArn") or members.get("FunctionName"))
        return function.rpartition(":function:")[2], str(members.get("EventSourceArn"))
    if type_ == TARGET_TYPE:
        return str(members.get("ResourceId")), str(members.get("ScalableDimension"))
    return (str(members.get("FunctionName") or members.get("AlarmName")),)

"""What does a template want? Its tables, each as the members of CreateTable and what is set beside them; what belongs
to tables: functions, event source mappings, scaling and alarms; and what of the template is left out, with the reason.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from hashrange.templates.custom_resources import only_for_custom_resources
from hashrange.templates.global_tables import single_table, why_not_here
from hashrange.templates.late_values import late_names, readable
from hashrange.templates.members import allowed_members, typed, without_late
from hashrange.templates.resolving import Resolver
from hashrange.templates.sam import expand_serverless, is_sam
from hashrange.templates.shapes import require_shape
from hashrange.templates.stack import (
    ALARM_TYPE,
    FUNCTION_TYPE,
    GLOBAL_TABLE_TYPE,
    MAPPING_TYPE,
    POLICY_TYPE,
    TABLE_TYPE,
    TARGET_TYPE,
    LeftOut,
    Locality,
    Stack,
    TypedResource,
    unapplied,
)
from hashrange.templates.terraform import is_terraform, terraform_resources
from hashrange.templates.texts import TemplateError, require_shallow

SILENT_TYPES = {"AWS::CDK::Metadata"}
"""Resources that mean nothing to anybody but the tool that wrote them."""

CREATION = frozenset({
    "AttributeDefinitions", "BillingMode", "DeletionProtectionEnabled", "GlobalSecondaryIndexes", "KeySchema",
    "LocalSecondaryIndexes", "OnDemandThroughput", "ProvisionedThroughput", "SSESpecification", "StreamSpecification",
    "TableClass", "TableName", "Tags", "WarmThroughput",
})  # fmt: skip
"""Properties of a table that are members of CreateTable, by the same names."""
BESIDE = frozenset({
    "ContributorInsightsSpecification", "KinesisStreamSpecification", "PointInTimeRecoverySpecification",
    "ResourcePolicy", "TimeToLiveSpecification",
})  # fmt: skip
ESSENTIAL = {
    "AttributeDefinitions",
    "BillingMode",
    "GlobalSecondaryIndexes",
    "KeySchema",
    "LocalSecondaryIndexes",
    "TableName",
}
COMPANION_MEMBERS = {
    TARGET_TYPE: frozenset({
        "MaxCapacity", "MinCapacity", "ResourceId", "RoleARN", "ScalableDimension", "ServiceNamespace",
    }),
    POLICY_TYPE: frozenset({
        "PolicyName", "PolicyType", "ResourceId", "ScalableDimension", "ServiceNamespace",
        "TargetTrackingScalingPolicyConfiguration",
    }),
    ALARM_TYPE: frozenset({
        "ActionsEnabled", "AlarmActions", "AlarmDescription", "AlarmName", "ComparisonOperator", "DatapointsToAlarm",
        "Dimensions", "EvaluateLowSampleCountPercentile", "EvaluationPeriods", "ExtendedStatistic",
        "InsufficientDataActions", "MetricName", "Metrics", "Namespace", "OKActions", "Period", "Statistic", "Tags",
        "Threshold", "ThresholdMetricId", "TreatMissingData", "Unit",
    }),
    FUNCTION_TYPE: frozenset({
        "Architectures", "Code", "Description", "Environment", "FunctionName", "Handler", "MemorySize", "Role",
        "Runtime", "Tags", "Timeout",
    }),
    MAPPING_TYPE: frozenset({
        "BatchSize", "BisectBatchOnFunctionError", "DestinationConfig", "Enabled", "EventSourceArn", "FilterCriteria",
        "FunctionName", "FunctionResponseTypes", "MaximumBatchingWindowInSeconds", "MaximumRecordAgeInSeconds",
        "MaximumRetryAttempts", "ParallelizationFactor", "StartingPosition", "StartingPositionTimestamp",
        "TumblingWindowInSeconds",
    }),
}  # fmt: skip
"""Type → the properties that become members of its requests. The order is that in which companions are made:
functions come last, because their code may not load."""
ESSENTIAL_OF_COMPANIONS = {
    "AlarmName", "Dimensions", "FunctionName", "Metrics", "PolicyName", "ResourceId", "Role", "ScalingTargetId",
}  # fmt: skip
"""Members without which a companion is left out."""
NAME_MEMBERS = {FUNCTION_TYPE: "FunctionName", ALARM_TYPE: "AlarmName"}


class WantedTable(NamedTuple):
    """A table."""

    place: str
    name: str
    creation: dict[str, Any]
    """Members of CreateTable."""
    time_to_live: str | None
    recovery: dict[str, Any] | None
    """The specification of point-in-time recovery, if it is to be on."""
    insights: Mapping[str, str | None] = {}
    """Name of an index, empty for the table → the mode of Contributor Insights, if that is given."""
    policy: Any = None
    kinesis_stream: str | None = None


class WantedCompanion(NamedTuple):
    """What belongs to tables: a function, an event source mapping, a scalable target, a scaling policy or an alarm."""

    place: str
    type: str
    members: dict[str, Any]


class WantedStack(NamedTuple):
    """All that a template wants, and does not get."""

    tables: list[WantedTable]
    companions: list[WantedCompanion]
    outputs: dict[str, str]
    left_out: list[LeftOut]
    exports: Mapping[str, str] = {}
    """Name → value of the outputs that other stacks may import, except those that are known only later."""


def wanted_together(
    stacks: Sequence[Stack], place: Locality, parameters: Mapping[str, str]
) -> list[tuple[Stack, WantedStack]]:
    """What each of several stacks wants, which may import what others export. Raises TemplateError.

    Of several, each has the parameters that it declares.
    """
    exports: dict[str, str] = {}

    def wanted(stack: Stack) -> WantedStack:
        if len(stacks) == 1:
            return wanted_of(stack, place, parameters)
        declared = stack.document.get("Parameters")
        own = {name: one for name, one in parameters.items() if isinstance(declared, dict) and name in declared}
        try:
            return wanted_of(stack, place, own, exports)
        except TemplateError as error:
            raise TemplateError(f"stack {stack.name}: {error}") from None

    for stack in stacks if len(stacks) > 1 else ():
        exports |= wanted(stack).exports
    return [(stack, wanted(stack)) for stack in stacks]


def wanted_of(
    stack: Stack, place: Locality, parameters: Mapping[str, str], exports: Mapping[str, str] | None = None
) -> WantedStack:
    """What a stack wants. `exports`: those of other stacks. Raises TemplateError."""
    try:
        if is_terraform(stack.document):
            if parameters:
                raise TemplateError("a Terraform plan has its variables' values in it; leave out --parameter.")
            resources, left_out = terraform_resources(stack.document, place)
            outputs, own = _terraform_outputs(stack.document), dict[str, str]()
        else:
            resources, (outputs, own), left_out = _resolved(stack, place, parameters, exports or {})
        for resource in resources:
            require_shape(resource)
        resources = [_with_code(one, stack.assets) if one.type == FUNCTION_TYPE else one for one in resources]
        return _assembled(resources, outputs, left_out, place)._replace(exports=own)
    except RecursionError:
        raise TemplateError("it is nested too deeply.") from None


def _with_code(resource: TypedResource, assets: Mapping[str, str]) -> TypedResource:
    """A function whose code, if it is a path or an asset of the CDK, is `{"LocalPath": …}`."""
    code = resource.properties.get("Code")
    path = code if isinstance(code, str) else assets.get(str(code.get("S3Key"))) if isinstance(code, dict) else None
    if path is None or path.startswith("s3:"):
        return resource
    return resource._replace(properties={**resource.properties, "Code": {"LocalPath": path}})


def _terraform_outputs(document: Mapping[str, Any]) -> dict[str, str]:
    outputs = (document.get("planned_values") or document.get("values") or {}).get("outputs")
    if not isinstance(outputs, dict):
        return {}
    return {name: str(one["value"]) for name, one in outputs.items() if isinstance(one, dict) and "value" in one}


def _resolved(
    stack: Stack, place: Locality, parameters: Mapping[str, str], exports: Mapping[str, str]
) -> tuple[list[TypedResource], tuple[dict[str, str], dict[str, str]], list[LeftOut]]:
    """The resources of a template with their properties resolved, its outputs and exports, and what is left out."""
    document, left_out = dict(stack.document), list[LeftOut]()
    _require_resources(document)
    if is_sam(document):
        document, left_out = expand_serverless(document)
    resolver = Resolver(stack._replace(document=document), place, parameters, exports)
    idle = only_for_custom_resources(document["Resources"])
    found = []
    for name, resource in document["Resources"].items():
        kind = resource["Type"]
        if kind in SILENT_TYPES or not resolver.is_there(name):
            continue
        if kind not in {TABLE_TYPE, GLOBAL_TABLE_TYPE, *COMPANION_MEMBERS}:
            left_out.append(unapplied(name, kind))
            continue
        if name in idle:
            left_out.append(LeftOut(name, kind, "it serves custom resources only", is_for_aws=True))
            continue
        where = f"Resources.{name}.Properties"
        properties = resolver.value(resource.get("Properties") or {}, where)
        if not isinstance(properties, dict):
            raise TemplateError(f"{where} is no object.")
        naming = {TABLE_TYPE: "TableName", GLOBAL_TABLE_TYPE: "TableName", **NAME_MEMBERS}.get(kind)
        if naming is not None:
            properties[naming] = resolver.physical_name(name)
        found.append(TypedResource(name, kind, typed(properties, where)))
    return found, _outputs(resolver, document), left_out


def _require_resources(document: Mapping[str, Any]) -> None:
    resources = document.get("Resources")
    if not isinstance(resources, dict) or not resources:
        raise TemplateError("it has no Resources; a template of CloudFormation has them.")
    for name, resource in resources.items():
        if name.startswith("Fn::"):
            function = "::".join(name.split("::")[:2])
            raise TemplateError(f"Resources.{name}: {function} is not resolved here; write its resources out.")
        if not isinstance(resource, dict) or not isinstance(resource.get("Type"), str):
            raise TemplateError(f"Resources.{name} has no Type, such as {TABLE_TYPE}.")
    require_shallow(document)


def _outputs(resolver: Resolver, document: Mapping[str, Any]) -> tuple[dict[str, str], dict[str, str]]:
    """The outputs, and those of them that are exported and known."""
    found, exported = {}, {}
    outputs = document.get("Outputs") or {}
    for name, output in outputs.items() if isinstance(outputs, dict) else ():
        where = f"Outputs.{name}"
        if not isinstance(output, dict) or "Value" not in output:
            raise TemplateError(f"{where} has no Value.")
        if "Condition" in output and not resolver.condition(output["Condition"], f"{where}.Condition"):
            continue
        found[name] = resolver.text(output["Value"], f"{where}.Value")
        export = output.get("Export")
        if isinstance(export, dict) and "Name" in export and not late_names(found[name]):
            exported[resolver.text(export["Name"], f"{where}.Export.Name")] = found[name]
    return found, exported


# --- from resources to what is wanted ---------------------------------------------------------------


def _assembled(
    resources: list[TypedResource], outputs: dict[str, str], left_out: list[LeftOut], place: Locality
) -> WantedStack:
    tables: list[WantedTable] = []
    others: list[TypedResource] = []
    for resource in resources:
        if resource.type == GLOBAL_TABLE_TYPE:
            reason = why_not_here(resource.properties, place.region)
            if reason is not None:
                left_out.append(LeftOut(resource.place, resource.type, reason))
                continue
            properties, scaling = single_table(resource.place, resource.properties, resource.properties["TableName"])
            others += scaling
            resource = TypedResource(resource.place, TABLE_TYPE, properties)
        if resource.type == TABLE_TYPE:
            tables += _table(resource, left_out)
        else:
            others.append(resource)
    names = [table.name for table in tables]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise TemplateError(f"it has several tables with the name {twice}.")
    streams = {f"{table.place}.StreamArn" for table in tables if "StreamSpecification" in table.creation}
    companions = [companion for one in others for companion in _companion(one, streams, left_out)]
    companions = list(_without_orphans(companions, others, left_out))
    kinds = list(COMPANION_MEMBERS)
    companions.sort(key=lambda companion: kinds.index(companion.type))
    return WantedStack(tables, companions, outputs, left_out)


def _without_orphans(
    companions: list[WantedCompanion], resources: list[TypedResource], left_out: list[LeftOut]
) -> Iterator[WantedCompanion]:
    """The companions without mappings of functions that are left out."""
    functions = {str(one.properties["FunctionName"]) for one in resources if one.type == FUNCTION_TYPE}
    absent = functions - {one.members["FunctionName"] for one in companions if one.type == FUNCTION_TYPE}
    for companion in companions:
        name = str(companion.members.get("FunctionName")).rpartition(":function:")[2]
        if companion.type == MAPPING_TYPE and name in absent:
            left_out.append(LeftOut(companion.place, companion.type, f"the function {name} is left out"))
        else:
            yield companion


def _table(resource: TypedResource, left_out: list[LeftOut]) -> Iterator[WantedTable]:
    place = resource.place
    late = late_names({name: one for name, one in resource.properties.items() if name in ESSENTIAL})
    if late:
        left_out.append(LeftOut(place, resource.type, f"{late[0]} is not known here"))
        return
    members = allowed_members(resource.properties, CREATION | BESIDE, place, left_out)
    members = without_late(members, set(), place, left_out)
    beside = {name: members.pop(name) for name in BESIDE if name in members}
    insights: dict[str, str | None] = {}
    _take_insights(beside, "", insights)
    indexes = []
    for index in members.get("GlobalSecondaryIndexes") or []:
        own = {name: index[name] for name in index if name != "ContributorInsightsSpecification"}
        _take_insights(index, str(index.get("IndexName")), insights)
        indexes.append(own)
    time_to_live = beside.get("TimeToLiveSpecification") or {}
    recovery = beside.get("PointInTimeRecoverySpecification") or {}
    kinesis = beside.get("KinesisStreamSpecification") or {}
    yield WantedTable(
        place=place,
        name=members["TableName"],
        creation=_creation({**members, **({"GlobalSecondaryIndexes": indexes} if indexes else {})}, place, left_out),
        time_to_live=time_to_live.get("AttributeName") if time_to_live.get("Enabled") else None,
        recovery=recovery if recovery.get("PointInTimeRecoveryEnabled") else None,
        insights=insights,
        policy=(beside.get("ResourcePolicy") or {}).get("PolicyDocument"),
        kinesis_stream=kinesis.get("StreamArn"),
    )


def _take_insights(owner: Mapping[str, Any], name: str, insights: dict[str, str | None]) -> None:
    specification = owner.get("ContributorInsightsSpecification") or {}
    if specification.get("Enabled"):
        insights[name] = specification.get("Mode")


def _creation(members: dict[str, Any], place: str, left_out: list[LeftOut]) -> dict[str, Any]:
    """The members of CreateTable; empty lists are not there."""
    made = {name: one for name, one in members.items() if one not in ([], {})}
    stream = made.pop("StreamSpecification", None)
    if stream is not None and stream.get("StreamViewType"):
        made["StreamSpecification"] = {"StreamEnabled": True, "StreamViewType": stream["StreamViewType"]}
        if "ResourcePolicy" in stream:
            left_out.append(
                LeftOut(
                    f"{place}.StreamSpecification.ResourcePolicy", "property", "policies of streams are not applied"
                )
            )
    encryption = made.pop("SSESpecification", None)
    if encryption is not None:
        others = {name: one for name, one in encryption.items() if name != "SSEEnabled"}
        made["SSESpecification"] = {"Enabled": bool(encryption.get("SSEEnabled", bool(others))), **others}
    return {"BillingMode": "PROVISIONED", **made}


def _companion(resource: TypedResource, streams: set[str], left_out: list[LeftOut]) -> Iterator[WantedCompanion]:
    place, kind = resource.place, resource.type
    members = dict(resource.properties)
    reason = _why_not(kind, members, streams)
    if reason is not None:
        left_out.append(LeftOut(place, kind, reason))
        return
    target = members.pop("ScalingTargetId", None)
    if target is not None:
        names = ("ResourceId", "ScalableDimension", "ServiceNamespace")
        members |= dict(zip(names, target.split("|"), strict=False))
    members = allowed_members(members, COMPANION_MEMBERS[kind], place, left_out)
    yield WantedCompanion(place, kind, without_late(members, streams, place, left_out))


def _why_not(kind: str, members: Mapping[str, Any], streams: set[str]) -> str | None:
    """Why a companion is left out; None if it is not."""
    if kind == MAPPING_TYPE:
        source = str(members.get("EventSourceArn", ""))
        late = late_names(source)
        if not streams.issuperset(late):
            return f"its source is {readable(source)}, which is not the stream of a table here"
        if ":dynamodb:" not in source and not late:
            return "its source is not the stream of a table"
    if kind == FUNCTION_TYPE and not has_code(members.get("Code")):
        return "its code is not in a folder or file here"
    for name in late_names([one for member, one in members.items() if member in ESSENTIAL_OF_COMPANIONS]):
        if name not in streams:
            return f"{name} is not known here"
    target = str(members.get("ScalingTargetId", ""))
    namespace = str(members.get("ServiceNamespace", target.rpartition("|")[2]))
    if kind in {TARGET_TYPE, POLICY_TYPE} and namespace != "dynamodb":
        return f"it scales {readable(namespace) or 'nothing'}, not DynamoDB"
    return None


def has_code(code: Any) -> bool:
    """True if a function's code is in the template, or beside it."""
    return isinstance(code, dict) and not code.keys().isdisjoint({"ZipFile", "LocalPath"})

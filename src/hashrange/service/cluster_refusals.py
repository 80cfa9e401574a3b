"""What do servers of a cluster (`--store`) refuse? `LACKED_BY_CLUSTERS` names all of it, with the noun of its sentence:
options are refused at the start, requests before anything is changed.

What only describes or lists is served, and answers as for a table that never had any of it.
`tests/unit/server/test_cluster_refusals.py` names everything that is served, so that whatever is new must be put on
one side.
"""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, NoReturn

import msgspec

from hashrange.aws_services.operation import Operation, Run, ServiceApi, ServiceError
from hashrange.errors import UnsupportedOperationException
from hashrange.messages.cluster_refusals import CLUSTER_LACKS, CLUSTER_LACKS_SETTING, STORE_MISSING
from hashrange.operations.operation import JsonWire
from hashrange.settings import Settings, SettingUnusable, options
from hashrange.soon import Soon

Wants = Callable[[Any], object]
"""True if the value of a member, which is not None, asks for what is refused."""


class Lacked(NamedTuple):
    """Something that servers of a cluster do not have."""

    what: str
    """A noun in the plural, or without an article."""
    settings: tuple[str, ...] = ()
    """Fields of Settings which must have their defaults."""
    operations: tuple[str, ...] = ()
    """Operations of DynamoDB."""
    members: Mapping[str, Wants] = MappingProxyType({})
    """`Operation.Member` of DynamoDB → when a request with this member asks for it."""
    services: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    """Name with which the requests of another service are signed → its operations."""
    endpoints: tuple[str, ...] = ()
    """Those of the admin API."""


def _makes_or_deletes_index(updates: Any) -> bool:
    return any(one.Create is not None or one.Delete is not None for one in updates)


def _is_on(stream: Any) -> Any:
    return stream.StreamEnabled


LACKED_BY_CLUSTERS = (
    Lacked(
        "online index changes",
        members={"UpdateTable.GlobalSecondaryIndexUpdates": _makes_or_deletes_index},
    ),
    Lacked("delayed index entries", settings=("index_delay_seconds", "like_aws")),
    Lacked(
        "vector indexes",
        settings=("vector_index_delay_seconds", "vector_memory_bytes"),
        operations=("SearchVectors",),
        members={"CreateTable.VectorIndexes": bool, "UpdateTable.VectorIndexUpdates": bool},
    ),
    Lacked(
        "streams",
        members={"CreateTable.StreamSpecification": _is_on, "UpdateTable.StreamSpecification": _is_on},
    ),
    Lacked(
        "time to live",
        settings=("ttl_delay_seconds", "ttl_cooldown_seconds"),
        operations=("UpdateTimeToLive",),
        endpoints=("POST ttl/expire",),
    ),
    Lacked(
        "delivery to Kinesis",
        settings=("kinesis_endpoint",),
        operations=(
            "EnableKinesisStreamingDestination",
            "UpdateKinesisStreamingDestination",
            "DisableKinesisStreamingDestination",
        ),
    ),
    Lacked("functions", settings=("functions",)),
    Lacked("triggers", settings=("triggers",)),
    Lacked("Contributor Insights", operations=("UpdateContributorInsights",)),
    Lacked(
        "alarms",
        settings=("sns_endpoint",),
        services={
            "monitoring": (
                "PutMetricAlarm",
                "PutCompositeAlarm",
                "DeleteAlarms",
                "SetAlarmState",
                "EnableAlarmActions",
                "DisableAlarmActions",
                "TagResource",
                "UntagResource",
            )
        },
    ),
    Lacked(
        "auto scaling",
        services={
            "application-autoscaling": (
                "RegisterScalableTarget",
                "DeregisterScalableTarget",
                "PutScalingPolicy",
                "DeleteScalingPolicy",
                "PutScheduledAction",
                "DeleteScheduledAction",
                "TagResource",
                "UntagResource",
            )
        },
    ),
    Lacked(
        "DAX",
        settings=("dax_port", "dax_advertise", "dax_memory_bytes"),
        services={
            "dax": (
                "CreateCluster",
                "UpdateCluster",
                "DeleteCluster",
                "IncreaseReplicationFactor",
                "DecreaseReplicationFactor",
                "RebootNode",
                "CreateParameterGroup",
                "UpdateParameterGroup",
                "DeleteParameterGroup",
                "CreateSubnetGroup",
                "UpdateSubnetGroup",
                "DeleteSubnetGroup",
                "TagResource",
                "UntagResource",
            )
        },
    ),
    Lacked(
        "enforced throughput",
        settings=("throughput", "adaptive_capacity"),
        endpoints=("POST tables/NAME/throughput",),
    ),
    Lacked(
        "partitions that split",
        settings=("initial_partitions", "partition_size_bytes"),
        endpoints=("POST tables/NAME/split",),
    ),
    Lacked("faults", settings=("faults",), endpoints=("POST faults", "DELETE faults")),
    Lacked(
        "snapshots",
        settings=("snapshot",),
        endpoints=(
            "POST snapshots",
            "POST snapshots/NUMBER/restore",
            "POST snapshots/NUMBER/rows",
            "POST snapshots/NUMBER/files",
            "POST snapshots/NUMBER/files/NAME",
            "DELETE snapshots/NUMBER",
        ),
    ),
    Lacked("forks", endpoints=("POST forks", "DELETE forks/PORT")),
    Lacked("reset", endpoints=("POST reset",)),
    Lacked("initial content", settings=("init",)),
    Lacked(
        "virtual time",
        settings=("clock_behind_seconds",),
        endpoints=("POST clock/advance", "POST clock/freeze", "POST clock/resume"),
    ),
    Lacked("backups", operations=("CreateBackup", "DeleteBackup")),
    Lacked(
        "point-in-time recovery",
        settings=("recovery_lag_seconds", "recovery_max_mb"),
        operations=("UpdateContinuousBackups",),
    ),
    Lacked("restores of tables", operations=("RestoreTableFromBackup", "RestoreTableToPointInTime")),
    Lacked(
        "exports",
        settings=("s3_endpoint", "s3_region", "s3_addressing"),
        operations=("ExportTableToPointInTime",),
    ),
    Lacked("imports", operations=("ImportTable",)),
    Lacked("bulk puts", operations=("StartBulkPutItems", "CancelBulkOperation")),
    Lacked("S3 folder", settings=("s3_folder",)),
)
"""In the order of docs/cluster-refusals.md."""
OF_CLUSTERS = (
    "store_user",
    "store_password_file",
    "store_ca",
    "store_datacenter",
    "single_node",
)
"""Fields of Settings that say how a cluster is reached."""


def sentence_on(what: str) -> str:
    """What the client of a request hears that asks for a lacked feature."""
    return CLUSTER_LACKS.format(what=what)


# --- options ----------------------------------------------------------------------------------------


def check_settings(settings: Settings) -> None:
    """Raise SettingUnusable for an option that a cluster refuses, or that needs one."""
    if settings.store is None:
        for flag in _given(settings, OF_CLUSTERS):
            raise SettingUnusable(STORE_MISSING.format(flag=flag))
        return
    for lacked in LACKED_BY_CLUSTERS:
        for flag in _given(settings, lacked.settings):
            raise SettingUnusable(CLUSTER_LACKS_SETTING.format(flag=flag, what=lacked.what))


def _given(settings: Settings, fields: tuple[str, ...]) -> Iterator[str]:
    """Flags of those of these fields that have other values than their defaults."""
    return (one.flag for one in options() if one.field in fields and getattr(settings, one.field) != one.default)


# --- requests ---------------------------------------------------------------------------------------


def without_refused(operations: Mapping[str, Operation[JsonWire]]) -> Mapping[str, Operation[JsonWire]]:
    """The operations of DynamoDB, as servers of a cluster serve or refuse them."""
    served = dict(operations)
    for lacked in LACKED_BY_CLUSTERS:
        for name in lacked.operations:
            if name in served:
                served[name] = msgspec.structs.replace(served[name], run=_refusing(lacked.what))
        for place, wants in lacked.members.items():
            name, _, member = place.partition(".")
            if name in served:
                run = _refusing_member(served[name].run, member, wants, lacked.what)
                served[name] = msgspec.structs.replace(served[name], run=run)
    return served


def _refusing(what: str) -> Run:
    def refuse(*_: Any) -> NoReturn:
        raise UnsupportedOperationException(sentence_on(what))

    return refuse


def _refusing_member(run: Run, member: str, wants: Wants, what: str) -> Run:
    def run_without(scope: Any, request: Any, *meters: Any) -> Soon[Any]:
        value = getattr(request, member)
        if value is not None and wants(value):
            raise UnsupportedOperationException(sentence_on(what))
        return run(scope, request, *meters)

    return run_without


def served_by_cluster(api: ServiceApi) -> ServiceApi:
    """The API of another service, as servers of a cluster serve or refuse its operations."""
    refused = {name: lacked.what for lacked in LACKED_BY_CLUSTERS for name in lacked.services.get(api.signing_name, ())}

    def refusing(what: str) -> Run:
        def refuse(*_: Any) -> NoReturn:
            raise ServiceError(UnsupportedOperationException.code, sentence_on(what))

        return refuse

    return api._replace(
        operations=[
            msgspec.structs.replace(one, run=refusing(refused[one.name])) if one.name in refused else one
            for one in api.operations
        ]
    )


def lacked_for_endpoint(name: str) -> str | None:
    """What a cluster lacks of which an endpoint of the admin API is part; None: it is served."""
    return next((lacked.what for lacked in LACKED_BY_CLUSTERS if name in lacked.endpoints), None)

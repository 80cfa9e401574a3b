"""What do servers of a cluster refuse? Everything in `LACKED_BY_CLUSTERS`, each with its noun; all else is in the lists
of this file. Whatever is new has to be put on one side.
"""

import asyncio
import json
from collections.abc import Iterator, Mapping
from typing import Any

import boto3
import msgspec
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from hashrange.autoscaling.api.registry import SCALING_OPERATIONS
from hashrange.aws_services.operation import ServiceApi, ServiceError
from hashrange.clock import SystemClock
from hashrange.cloudwatch.api.registry import ALARM_OPERATIONS, METRIC_OPERATIONS
from hashrange.dax.api.registry import CLUSTER_OPERATIONS
from hashrange.insights.api.insight_rules import OPERATIONS as RULE_OPERATIONS
from hashrange.operations.pending import PENDING_NAMES
from hashrange.operations.registry import ALL_OPERATIONS
from hashrange.operations.tables.requests import CreateTableRequest, UpdateTableRequest
from hashrange.server.protocols.admin.registry import ENDPOINTS
from hashrange.service.cluster_refusals import (
    LACKED_BY_CLUSTERS,
    OF_CLUSTERS,
    check_settings,
    sentence_on,
    served_by_cluster,
)
from hashrange.service.features import FEATURES
from hashrange.service.opening import open_service
from hashrange.settings import Settings, SettingUnusable, options
from tests.conformance.vectors import vector_index
from tests.support import signing
from tests.support.bodies import BACKUP_ARN, BODIES, NEW_TABLE
from tests.support.bodies import TABLE as NAME
from tests.support.raw_client import RawClient
from tests.support.servers import ThreadServer
from tests.support.stores import make_store
from tests.support.wrapped_stores.clustered import ClusteredStore

SERVED_OPERATIONS = {
    "BatchExecuteStatement",
    "BatchGetItem",
    "BatchWriteItem",
    "CreateTable",
    "DeleteItem",
    "DeleteResourcePolicy",
    "DeleteTable",
    "DescribeBackup",
    "DescribeBulkOperation",
    "DescribeContinuousBackups",
    "DescribeContributorInsights",
    "DescribeEndpoints",
    "DescribeExport",
    "DescribeImport",
    "DescribeKinesisStreamingDestination",
    "DescribeLimits",
    "DescribeStream",
    "DescribeTable",
    "DescribeTableReplicaAutoScaling",
    "DescribeTimeToLive",
    "ExecuteStatement",
    "ExecuteTransaction",
    "GetItem",
    "GetRecords",
    "GetResourcePolicy",
    "GetShardIterator",
    "ListBackups",
    "ListBulkOperations",
    "ListContributorInsights",
    "ListExports",
    "ListGlobalTables",
    "ListImports",
    "ListStreams",
    "ListTables",
    "ListTagsOfResource",
    "PutItem",
    "PutResourcePolicy",
    "Query",
    "Scan",
    "TagResource",
    "TransactGetItems",
    "TransactWriteItems",
    "UntagResource",
    "UpdateItem",
    "UpdateTable",
}
SERVED_MEMBERS = {
    "CreateTable": {
        "AttributeDefinitions",
        "BillingMode",
        "DeletionProtectionEnabled",
        "GlobalSecondaryIndexes",
        "GlobalTableSettingsReplicationMode",  # refused by every server, as the next one
        "GlobalTableSourceArn",
        "KeySchema",
        "LocalSecondaryIndexes",
        "OnDemandThroughput",
        "ProvisionedThroughput",
        "ResourcePolicy",
        "SSESpecification",
        "TableClass",
        "TableName",
        "Tags",
        "WarmThroughput",
    },
    "UpdateTable": {
        "AttributeDefinitions",
        "BillingMode",
        "DeletionProtectionEnabled",
        "DisassociationProtectionEnabled",  # refused by every server, as the next three
        "GlobalTableSettingsReplicationMode",
        "GlobalTableWitnessUpdates",
        "MultiRegionConsistency",
        "OnDemandThroughput",
        "ProvisionedThroughput",
        "ReplicaUpdates",  # refused by every server
        "SSESpecification",
        "TableClass",
        "TableName",
        "WarmThroughput",
    },
}
SERVED_OF_SERVICES = {
    "monitoring": {
        "DescribeAlarmHistory",
        "DescribeAlarms",
        "DescribeAlarmsForMetric",
        "DescribeInsightRules",
        "GetInsightRuleReport",
        "GetMetricData",
        "GetMetricStatistics",
        "ListMetrics",
        "ListTagsForResource",
        "PutMetricData",
    },
    "application-autoscaling": {
        "DescribeScalableTargets",
        "DescribeScalingActivities",
        "DescribeScalingPolicies",
        "DescribeScheduledActions",
        "GetPredictiveScalingForecast",
        "ListTagsForResource",
    },
    "dax": {
        "DescribeClusters",
        "DescribeDefaultParameters",
        "DescribeEvents",
        "DescribeParameterGroups",
        "DescribeParameters",
        "DescribeSubnetGroups",
        "ListTags",
    },
}
"""Of services beside DynamoDB. All of STS is served, which uses no store; Lambda and S3 are there only with options
that are refused (`test_services_that_need_a_refused_option`).
"""
SERVED_ENDPOINTS = {
    "GET backups",
    "GET dax",
    "GET faults",
    "GET forks",
    "GET info",
    "GET ready",
    "GET snapshots",
    "GET tables/NAME/throughput",
    "GET transfers",
}
SERVED_SETTINGS = {
    "access_log",
    "admin",
    "admin_from",
    "allowed_hosts",
    "allowed_origins",
    "credentials",
    "data_dir",  # not used
    "host",
    "in_memory",  # not used
    "item_collection_limit_bytes",
    "log_level",
    "max_connections",
    "metrics",
    "metrics_from",
    "others",
    "otlp_endpoint",
    "port",
    "shared_db",
    "store",
    "table_state_delay_seconds",
    "tls_cert",
    "tls_key",
}
ADDRESS = "cassandra://127.0.0.1/hashrange"
REFUSED_OPERATIONS = {name: lacked.what for lacked in LACKED_BY_CLUSTERS for name in lacked.operations}
REFUSED_ENDPOINTS = {name: lacked.what for lacked in LACKED_BY_CLUSTERS for name in lacked.endpoints}
REFUSED_SETTINGS = {name: lacked.what for lacked in LACKED_BY_CLUSTERS for name in lacked.settings}
OPERATIONS_OF_SERVICES = {
    "monitoring": (*METRIC_OPERATIONS, *ALARM_OPERATIONS, *RULE_OPERATIONS),
    "application-autoscaling": SCALING_OPERATIONS,
    "dax": CLUSTER_OPERATIONS,
}


def parted(all_names: set[str], served: set[str], refused: Mapping[str, Any] | set[str]) -> None:
    """Assert that each name is on exactly one side."""
    assert not served & set(refused), "both served and refused"
    assert all_names - served - set(refused) == set(), "new: serve it, or add it to LACKED_BY_CLUSTERS"
    assert served | set(refused) <= all_names, "there is none of this name"


# --- nothing is forgotten ---------------------------------------------------------------------------


def test_each_operation_is_served_or_refused() -> None:
    parted(set(ALL_OPERATIONS) - set(PENDING_NAMES), SERVED_OPERATIONS, REFUSED_OPERATIONS)


@pytest.mark.parametrize(
    ("name", "request_type"), [("CreateTable", CreateTableRequest), ("UpdateTable", UpdateTableRequest)]
)
def test_each_member_of_tables_is_served_or_refused(name: str, request_type: type[msgspec.Struct]) -> None:
    members = {field.name for field in msgspec.structs.fields(request_type)}
    places = [place.partition(".") for lacked in LACKED_BY_CLUSTERS for place in lacked.members]
    parted(members, SERVED_MEMBERS[name], {member for operation, _, member in places if operation == name})
    assert {operation for operation, _, _ in places} == set(SERVED_MEMBERS)


def test_each_operation_of_other_services_is_served_or_refused() -> None:
    assert {name for feature in FEATURES for name in feature.apis} == set(SERVED_OF_SERVICES)
    assert {name for lacked in LACKED_BY_CLUSTERS for name in lacked.services} == set(SERVED_OF_SERVICES)
    for service, served in SERVED_OF_SERVICES.items():
        refused = {name for lacked in LACKED_BY_CLUSTERS for name in lacked.services.get(service, ())}
        parted({one.name for one in OPERATIONS_OF_SERVICES[service]}, served, refused)


def test_each_endpoint_is_served_or_refused() -> None:
    parted({one.name for one in ENDPOINTS}, SERVED_ENDPOINTS, REFUSED_ENDPOINTS)


def test_each_setting_is_served_or_refused() -> None:
    parted({one.field for one in options()}, SERVED_SETTINGS | set(OF_CLUSTERS), REFUSED_SETTINGS)


# --- options ----------------------------------------------------------------------------------------


def other_value(field: str) -> Any:
    """A value of a setting that is not its default."""
    option = next(one for one in options() if one.field == field)
    match option.kind:
        case "switch":
            return not option.default
        case "choice":
            return next(one for one in option.choices if one != option.default)
        case "text":
            return "given"
        case _:
            return option.most if option.default != option.most else option.least


@pytest.mark.parametrize("field", REFUSED_SETTINGS)
def test_a_refused_option_is_refused_at_the_start(field: str) -> None:
    """Before anything else is looked at: no cluster is asked, and no file that the option names."""
    settings = msgspec.structs.replace(Settings(store=ADDRESS), **{field: other_value(field)})
    flag = next(one.flag for one in options() if one.field == field)
    with pytest.raises(SettingUnusable) as refusal:
        asyncio.run(open_service(settings, SystemClock()))
    sentence = f"{flag} is set, but servers of a cluster (--store) have no {REFUSED_SETTINGS[field]} ("
    assert str(refusal.value).startswith(sentence)


@pytest.mark.parametrize("field", OF_CLUSTERS)
def test_an_option_of_clusters_needs_one(field: str) -> None:
    given = {field: other_value(field)}
    check_settings(msgspec.structs.replace(Settings(store=ADDRESS), **given))
    with pytest.raises(SettingUnusable, match=f"--{field.replace('_', '-')} is set, but --store is not"):
        check_settings(msgspec.structs.replace(Settings(), **given))


# --- requests ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def server() -> Iterator[ThreadServer]:
    settings = Settings(port=0, data_dir=None, admin=True)
    running = ThreadServer(lambda: ClusteredStore(make_store()), ALL_OPERATIONS, settings=settings)
    client = RawClient("127.0.0.1", running.port)
    assert client("CreateTable", created()).status == 200
    yield running
    running.stop()


def created() -> dict[str, Any]:
    return {**NEW_TABLE, "TableName": NAME, "StreamSpecification": {"StreamEnabled": False}}


def client_of(service: str, server: ThreadServer) -> Any:
    return boto3.client(
        service,
        endpoint_url=server.endpoint,
        region_name=signing.REGION,
        aws_access_key_id=signing.ACCESS_KEY,
        aws_secret_access_key=signing.SECRET_KEY,
        config=Config(retries={"total_max_attempts": 1}, parameter_validation=False),
    )


def refusal_of(client: RawClient, name: str, body: Mapping[str, Any]) -> tuple[str, str]:
    """Code and message."""
    reply = client(name, dict(body)).json()
    return reply["__type"].rpartition("#")[2], reply.get("message", "")


def content(server: ThreadServer) -> Any:
    """All that requests could have changed."""
    store = server.store
    return server.call(lambda: ([one.schema for one in store.catalog.all_tables()], store.position()))


@pytest.mark.parametrize("name", REFUSED_OPERATIONS)
def test_a_refused_operation_changes_nothing(server: ThreadServer, name: str) -> None:
    client, before = RawClient("127.0.0.1", server.port), content(server)
    for body in BODIES[name]:
        refusal = refusal_of(client, name, body)
        assert refusal == ("UnsupportedOperationException", sentence_on(REFUSED_OPERATIONS[name]))
    assert content(server) == before


INDEX = {
    "IndexName": "later",
    "KeySchema": [{"AttributeName": "other", "KeyType": "HASH"}],
    "Projection": {"ProjectionType": "ALL"},
    "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1},
}
REFUSED_MEMBERS: list[tuple[str, dict[str, Any], str]] = [
    ("CreateTable", {"StreamSpecification": {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}}, "streams"),
    ("UpdateTable", {"StreamSpecification": {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}}, "streams"),
    ("UpdateTable", {"GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "global"}}]}, "online index changes"),
    (
        "UpdateTable",
        {"GlobalSecondaryIndexUpdates": [{"Create": INDEX}]},
        "online index changes",
    ),
    ("CreateTable", {"VectorIndexes": [vector_index()]}, "vector indexes"),
    ("UpdateTable", {"VectorIndexUpdates": [{"Delete": {"IndexName": "near"}}]}, "vector indexes"),
]


@pytest.mark.parametrize(("name", "members", "what"), REFUSED_MEMBERS)
def test_a_refused_member_changes_nothing(server: ThreadServer, name: str, members: dict[str, Any], what: str) -> None:
    client, before = RawClient("127.0.0.1", server.port), content(server)
    body = {**created(), "TableName": "other"} if name == "CreateTable" else {"TableName": NAME}
    assert refusal_of(client, name, body | members) == ("UnsupportedOperationException", sentence_on(what))
    assert content(server) == before


def test_the_same_members_are_served_where_they_ask_for_nothing_refused(server: ThreadServer) -> None:
    client = RawClient("127.0.0.1", server.port)
    units = {"ReadCapacityUnits": 2, "WriteCapacityUnits": 2}
    updates = [{"Update": {"IndexName": "global", "ProvisionedThroughput": units}}]
    assert client("UpdateTable", {"TableName": NAME, "GlobalSecondaryIndexUpdates": updates}).status == 200
    off = client("UpdateTable", {"TableName": NAME, "StreamSpecification": {"StreamEnabled": False}}).json()
    assert off["__type"].endswith("#ValidationException")  # as for every table without a stream


def test_a_fault_of_the_request_comes_before_the_refusal(server: ThreadServer) -> None:
    client = RawClient("127.0.0.1", server.port)
    assert refusal_of(client, "UpdateTimeToLive", {"TableName": NAME})[0] == "ValidationException"


@pytest.mark.parametrize("service", OPERATIONS_OF_SERVICES)
def test_refused_operations_of_other_services(service: str) -> None:
    operations = OPERATIONS_OF_SERVICES[service]
    api = ServiceApi("", service, "", "", "", operations, lambda _: ServiceError("", ""), {}, "")
    for given, served in zip(operations, served_by_cluster(api).operations, strict=True):
        if given.name in SERVED_OF_SERVICES[service]:
            assert served is given
            continue
        with pytest.raises(ServiceError) as refusal:
            served.run(None, None)
        assert refusal.value.code == "UnsupportedOperationException"
        assert refusal.value.message.startswith("Servers of a cluster have no ")


@pytest.mark.parametrize(
    ("service", "method", "members", "what"),
    [
        ("cloudwatch", "delete_alarms", {"AlarmNames": ["busy"]}, "alarms"),
        (
            "application-autoscaling",
            "deregister_scalable_target",
            {
                "ServiceNamespace": "dynamodb",
                "ResourceId": f"table/{NAME}",
                "ScalableDimension": "dynamodb:table:ReadCapacityUnits",
            },
            "auto scaling",
        ),
        ("dax", "delete_cluster", {"ClusterName": "fast"}, "DAX"),
    ],
)
def test_sdks_are_told(server: ThreadServer, service: str, method: str, members: dict[str, Any], what: str) -> None:
    with pytest.raises(ClientError) as refusal:
        getattr(client_of(service, server), method)(**members)
    error = refusal.value.response["Error"]
    assert (error["Code"], error["Message"]) == ("UnsupportedOperationException", sentence_on(what))


def test_services_that_need_a_refused_option(server: ThreadServer) -> None:
    with pytest.raises(ClientError) as refusal:
        client_of("lambda", server).list_functions()
    assert refusal.value.response["Error"]["Message"] == sentence_on("functions")
    assert {"functions", "triggers", "s3_folder"} <= set(REFUSED_SETTINGS)


@pytest.mark.parametrize("name", REFUSED_ENDPOINTS)
def test_a_refused_endpoint_changes_nothing(server: ThreadServer, name: str) -> None:
    client, before = RawClient("127.0.0.1", server.port), content(server)
    method, _, path = name.partition(" ")
    path = path.replace("files/NAME", "files/a").replace("NAME", NAME).replace("NUMBER", "1").replace("PORT", "1")
    reply = client.send(method, f"/_hashrange/v1/{path}", {}, b"")
    assert (reply.status, reply.json()) == (409, {"error": sentence_on(REFUSED_ENDPOINTS[name])})
    assert content(server) == before


# --- what describes and lists -----------------------------------------------------------------------


def test_a_table_is_described_as_one_that_never_had_any_of_it(server: ThreadServer) -> None:
    client = client_of("dynamodb", server)

    def told(method: str, **members: Any) -> Any:
        reply = getattr(client, method)(**members)
        del reply["ResponseMetadata"]
        return reply

    assert told("describe_time_to_live", TableName=NAME) == {"TimeToLiveDescription": {"TimeToLiveStatus": "DISABLED"}}
    recovery = told("describe_continuous_backups", TableName=NAME)["ContinuousBackupsDescription"]
    assert recovery["PointInTimeRecoveryDescription"] == {"PointInTimeRecoveryStatus": "DISABLED"}
    assert told("describe_contributor_insights", TableName=NAME)["ContributorInsightsStatus"] == "DISABLED"
    assert told("describe_kinesis_streaming_destination", TableName=NAME)["KinesisDataStreamDestinations"] == []
    assert told("list_backups") == {"BackupSummaries": []}
    assert told("list_contributor_insights") == {"ContributorInsightsSummaries": []}
    assert told("list_exports") == {"ExportSummaries": []}
    assert told("list_imports") == {"ImportSummaryList": []}
    with pytest.raises(client.exceptions.BackupNotFoundException):
        client.describe_backup(BackupArn=BACKUP_ARN)
    assert client_of("dynamodbstreams", server).list_streams()["Streams"] == []


def test_other_services_describe_nothing(server: ThreadServer) -> None:
    cloudwatch, scaling, dax = (client_of(name, server) for name in ("cloudwatch", "application-autoscaling", "dax"))
    assert cloudwatch.describe_alarms()["MetricAlarms"] == []
    assert cloudwatch.describe_insight_rules()["InsightRules"] == []
    assert scaling.describe_scalable_targets(ServiceNamespace="dynamodb")["ScalableTargets"] == []
    assert dax.describe_clusters()["Clusters"] == []


@pytest.mark.parametrize("name", sorted(SERVED_ENDPOINTS))
def test_endpoints_that_tell_are_served(server: ThreadServer, name: str) -> None:
    path = name.partition(" ")[2].replace("NAME", NAME)
    reply = RawClient("127.0.0.1", server.port).send("GET", f"/_hashrange/v1/{path}", {}, b"")
    assert reply.status == 200, reply
    assert json.loads(reply.body)


def test_metrics_are_served(server: ThreadServer) -> None:
    reply = RawClient("127.0.0.1", server.port).send("GET", "/metrics", {}, b"")
    assert reply.status == 200, reply
    assert b"hashrange_" in reply.body
    assert client_of("cloudwatch", server).list_metrics(Namespace="AWS/DynamoDB")["ResponseMetadata"]


def test_items_and_tables_are_served(server: ThreadServer) -> None:
    client = client_of("dynamodb", server)
    client.create_table(**created() | {"TableName": "other"})
    key = {"pk": {"S": "a"}, "sk": {"S": "b"}}
    item = key | {"other": {"S": "c"}}
    client.put_item(TableName="other", Item=item)
    client.transact_write_items(TransactItems=[{"Put": {"TableName": "other", "Item": item | {"sk": {"S": "d"}}}}])
    assert client.get_item(TableName="other", Key=key, ConsistentRead=True)["Item"] == item
    condition = {"other": {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": "c"}]}}
    assert client.query(TableName="other", IndexName="global", KeyConditions=condition)["Count"] == 2
    client.delete_table(TableName="other")
    assert "other" not in client.list_tables()["TableNames"]

"""What do Terraform and CloudFormation (and so CDK, SAM and Pulumi) call to keep a function,
a permission and a mapping? These calls, in this order.

Neither tool is run here; the calls and their members are those of Terraform's AWS provider 6, which Pulumi uses too:

| resource | create | read | update | delete |
|---|---|---|---|---|
| aws_lambda_function | CreateFunction, GetFunction until Active, PutFunctionConcurrency if reserved | GetFunction, ListVersionsByFunction, GetFunctionCodeSigningConfig | UpdateFunctionConfiguration and UpdateFunctionCode with what has changed, GetFunction until Successful after each; PutFunctionConcurrency, DeleteFunctionConcurrency; UntagResource, TagResource | DeleteFunction, GetFunction until it is not found |
| aws_lambda_permission | AddPermission | GetPolicy | | RemovePermission, GetPolicy until the statement is not found |
| aws_lambda_event_source_mapping | CreateEventSourceMapping, GetEventSourceMapping until Enabled or Disabled | GetEventSourceMapping, ListTags | UpdateEventSourceMapping, GetEventSourceMapping until Enabled or Disabled; UntagResource, TagResource | DeleteEventSourceMapping, GetEventSourceMapping until it is not found |

After each of these, a plan must be empty: a read returns what was configured, or the provider's default.
CloudFormation's reads, according to the permissions that its resource types ask for, add GetRuntimeManagementConfig
and GetFunctionRecursionConfig.
"""  # noqa: E501

import base64
import hashlib
import io
import json
import zipfile
from collections.abc import Callable, Iterator
from typing import Any

import boto3
import pytest
from botocore import xform_name
from botocore.exceptions import ClientError

from tests.clients.serving import ServerProcess
from tests.support.waiting import wait_until

NAME = "orders-worker"
ARN = f"arn:aws:lambda:us-east-1:000000000000:function:{NAME}"
ROLE = "arn:aws:iam::000000000000:role/worker"
TOPIC = "arn:aws:sns:us-east-1:000000000000:orders"
STATEMENT_ID = "terraform-20261125000000000000000001"
NOT_FOUND = "ResourceNotFoundException"
DELAY_SECONDS = "0.05"
"""How long states take, so that there is something to wait for."""


class Provider:
    """Calls Lambda as the provider does, and notes the operations."""

    def __init__(self, endpoint: str) -> None:
        access = {"region_name": "us-east-1", "aws_access_key_id": "key", "aws_secret_access_key": "secret"}
        self.lambda_client = boto3.client("lambda", endpoint_url=endpoint, **access)
        self.tables = boto3.client("dynamodb", endpoint_url=endpoint, **access)
        self.called: list[str] = []

    def close(self) -> None:
        """Close the connections."""
        self.lambda_client.close()
        self.tables.close()

    def call(self, operation: str, **members: Any) -> Any:
        """The reply of an operation. Operations that are repeated are noted once."""
        if self.called[-1:] != [operation]:
            self.called.append(operation)
        reply = getattr(self.lambda_client, xform_name(operation))(**members)
        return {name: member for name, member in reply.items() if name != "ResponseMetadata"}

    def is_found(self, operation: str, **members: Any) -> bool:
        """False if the operation is refused with ResourceNotFoundException, and status 404."""
        try:
            self.call(operation, **members)
        except ClientError as error:
            told: Any = error.response
            assert (told["Error"]["Code"], told["ResponseMetadata"]["HTTPStatusCode"]) == (NOT_FOUND, 404)
            return False
        return True

    def wait(self, read: Callable[[], str], pending: set[str], target: set[str]) -> None:
        """Read a state until it is one of `target`; any state but `pending` ends the provider's run."""

        def is_reached() -> bool:
            state = read()
            assert state in pending | target
            return state in target

        wait_until(is_reached)

    def take_called(self) -> list[str]:
        """The operations since the last time."""
        called, self.called = self.called, []
        return called

    # --- aws_lambda_function ----------------------------------------------------------------------

    def create_function(self, zipped: bytes, **others: Any) -> None:
        """The members without a default are always sent, whatever the configuration says."""
        reply = self.call(
            "CreateFunction",
            FunctionName=NAME,
            Code={"ZipFile": zipped},
            Description="",
            MemorySize=128,
            PackageType="Zip",
            Publish=False,
            Role=ROLE,
            Timeout=3,
            Handler="app.handler",
            Runtime="python3.12",
            **others,
        )
        assert reply["State"] == "Pending"
        self.wait(lambda: self.configuration()["State"], {"Pending"}, {"Active", "ActiveNonInvocable"})

    def configuration(self) -> Any:
        """Configuration in the reply to GetFunction, without which the provider takes the function for missing."""
        reply = self.call("GetFunction", FunctionName=NAME)
        assert reply["Code"]
        return reply["Configuration"]

    def read_function(self) -> dict[str, Any]:
        """The attributes of the resource, by the names of the API's members."""
        reply = self.call("GetFunction", FunctionName=NAME)
        latest = self.call("ListVersionsByFunction", FunctionName=NAME, MaxItems=10_000)
        assert "NextMarker" not in latest
        signing = self.call("GetFunctionCodeSigningConfig", FunctionName=NAME)
        return {
            **reply["Configuration"],
            "Tags": reply.get("Tags", {}),
            "Reserved": reply.get("Concurrency", {}).get("ReservedConcurrentExecutions", -1),
            "QualifiedArn": latest["Versions"][-1]["FunctionArn"],
            "LatestVersion": latest["Versions"][-1]["Version"],
            "CodeSigningConfigArn": signing.get("CodeSigningConfigArn", ""),
        }

    def update_function(self, operation: str, **members: Any) -> None:
        """Send what has changed, and wait."""
        reply = self.call(operation, FunctionName=NAME, **members)
        assert reply["LastUpdateStatus"] == "InProgress"
        self.wait(lambda: self.configuration()["LastUpdateStatus"], {"InProgress"}, {"Successful"})

    def delete_function(self) -> None:
        """Delete, and wait until it is gone."""
        self.call("DeleteFunction", FunctionName=NAME)
        wait_until(lambda: not self.is_found("GetFunction", FunctionName=NAME))

    # --- aws_lambda_permission --------------------------------------------------------------------

    def find_statement(self, statement_id: str) -> Any:
        """The statement of the policy; None if it, or the policy, is not found."""
        if not self.is_found("GetPolicy", FunctionName=NAME):
            return None
        policy = json.loads(self.call("GetPolicy", FunctionName=NAME)["Policy"])
        return next((one for one in policy["Statement"] if one["Sid"] == statement_id), None)

    # --- aws_lambda_event_source_mapping ----------------------------------------------------------

    def wait_for_mapping(self, uuid: str, pending: set[str]) -> None:
        """Wait until the mapping is enabled or disabled."""
        self.wait(lambda: str(self.call("GetEventSourceMapping", UUID=uuid)["State"]), pending, {"Enabled", "Disabled"})

    def read_mapping(self, uuid: str) -> dict[str, Any]:
        """The attributes of the resource, by the names of the API's members."""
        reply = self.call("GetEventSourceMapping", UUID=uuid)
        return {**reply, "Tags": self.call("ListTags", Resource=reply["EventSourceMappingArn"])["Tags"]}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server that knows a destination, and whose states take a moment."""
    folder = tmp_path_factory.mktemp("triggers")
    file = folder / "triggers.toml"
    file.write_text(f'[destinations]\n"{TOPIC}" = {{ file = "{folder / "failed.jsonl"}" }}\n')
    running = ServerProcess(None, "--functions", "--triggers", str(file), "--table-state-delay", DELAY_SECONDS)
    yield running
    running.stop()


@pytest.fixture
def provider(server: ServerProcess) -> Iterator[Provider]:
    made = Provider(server.endpoint)
    yield made
    if made.is_found("GetFunction", FunctionName=NAME):
        made.delete_function()
    made.close()


def zip_of(text: str) -> bytes:
    zipped = io.BytesIO()
    with zipfile.ZipFile(zipped, "w") as archive:
        archive.writestr("app.py", text)
    return zipped.getvalue()


FIRST = zip_of("def handler(event, context):\n    return 1\n")
SECOND = zip_of("def handler(event, context):\n    return 2\n")
READ_FUNCTION = ["GetFunction", "ListVersionsByFunction", "GetFunctionCodeSigningConfig"]


def test_a_function_is_created_updated_and_destroyed(provider: Provider) -> None:
    assert not provider.is_found("GetFunction", FunctionName=NAME)
    provider.take_called()
    provider.create_function(FIRST, Environment={"Variables": {"STAGE": "test"}}, Tags={"team": "orders", "old": "1"})
    found = provider.read_function()
    assert provider.take_called() == ["CreateFunction", *READ_FUNCTION]
    assert found.items() >= expected_function(FIRST).items()
    assert not {"DeadLetterConfig", "KMSKeyArn", "Layers", "FileSystemConfigs", "ImageConfigResponse"} & set(found)
    assert not found.get("VpcConfig")

    provider.call("UntagResource", Resource=ARN, TagKeys=["old"])
    provider.call("TagResource", Resource=ARN, Tags={"stage": "live"})
    changes = {"Description": "Works", "Environment": {"Variables": {}}, "MemorySize": 256, "Timeout": 30}
    provider.update_function("UpdateFunctionConfiguration", **changes, DeadLetterConfig={"TargetArn": ""})
    provider.update_function("UpdateFunctionCode", ZipFile=SECOND)
    provider.call("PutFunctionConcurrency", FunctionName=NAME, ReservedConcurrentExecutions=2)
    found = provider.read_function()
    assert provider.take_called() == [
        *("UntagResource", "TagResource", "UpdateFunctionConfiguration", "GetFunction", "UpdateFunctionCode"),
        *("GetFunction", "PutFunctionConcurrency", *READ_FUNCTION),
    ]
    changed = expected_function(SECOND) | changes | {"Tags": {"team": "orders", "stage": "live"}, "Reserved": 2}
    del changed["Environment"]
    assert found.items() >= changed.items()
    assert not found.get("Environment", {}).get("Variables")

    provider.call("DeleteFunctionConcurrency", FunctionName=NAME)
    assert provider.read_function()["Reserved"] == -1
    provider.delete_function()


def expected_function(zipped: bytes) -> dict[str, Any]:
    """The attributes of the function, so that a plan is empty."""
    return {
        "FunctionName": NAME,
        "FunctionArn": ARN,
        "QualifiedArn": f"{ARN}:$LATEST",
        "LatestVersion": "$LATEST",
        "Architectures": ["x86_64"],
        "CodeSha256": base64.b64encode(hashlib.sha256(zipped).digest()).decode(),
        "CodeSize": len(zipped),
        "CodeSigningConfigArn": "",
        "Description": "",
        "Environment": {"Variables": {"STAGE": "test"}},
        "EphemeralStorage": {"Size": 512},
        "Handler": "app.handler",
        "LoggingConfig": {"LogFormat": "Text", "LogGroup": f"/aws/lambda/{NAME}"},
        "MemorySize": 128,
        "PackageType": "Zip",
        "Reserved": -1,
        "Role": ROLE,
        "Runtime": "python3.12",
        "SnapStart": {"ApplyOn": "None", "OptimizationStatus": "Off"},
        "Tags": {"team": "orders", "old": "1"},
        "Timeout": 3,
        "TracingConfig": {"Mode": "PassThrough"},
    }


def test_a_permission_is_created_and_destroyed(provider: Provider) -> None:
    provider.create_function(FIRST)
    provider.take_called()
    assert provider.find_statement(STATEMENT_ID) is None
    provider.call(
        "AddPermission",
        Action="lambda:InvokeFunction",
        FunctionName=NAME,
        Principal="sns.amazonaws.com",
        SourceArn=TOPIC,
        StatementId=STATEMENT_ID,
    )
    # The provider reads the condition's values as texts, and the function's name from the resource.
    assert provider.find_statement(STATEMENT_ID) == {
        "Sid": STATEMENT_ID,
        "Effect": "Allow",
        "Principal": {"Service": "sns.amazonaws.com"},
        "Action": "lambda:InvokeFunction",
        "Resource": ARN,
        "Condition": {"ArnLike": {"AWS:SourceArn": TOPIC}},
    }
    provider.call("RemovePermission", FunctionName=NAME, StatementId=STATEMENT_ID)
    assert provider.find_statement(STATEMENT_ID) is None
    assert provider.take_called() == ["GetPolicy", "AddPermission", "GetPolicy", "RemovePermission", "GetPolicy"]
    assert not provider.is_found("RemovePermission", FunctionName=NAME, StatementId=STATEMENT_ID)
    provider.delete_function()


def test_an_event_source_mapping_is_created_updated_and_destroyed(provider: Provider) -> None:
    provider.create_function(FIRST)
    stream = make_stream(provider)
    provider.take_called()
    settings = {
        "BatchSize": 50,
        "BisectBatchOnFunctionError": True,
        "DestinationConfig": {"OnFailure": {"Destination": TOPIC}},
        "FilterCriteria": {"Filters": [{"Pattern": json.dumps({"eventName": ["INSERT"]})}]},
        "FunctionResponseTypes": ["ReportBatchItemFailures"],
        "MaximumBatchingWindowInSeconds": 1,
        "MaximumRecordAgeInSeconds": 3600,
        "MaximumRetryAttempts": 0,
        "ParallelizationFactor": 2,
    }
    members = {"Enabled": True, "FunctionName": ARN, "EventSourceArn": stream, "StartingPosition": "LATEST"}
    made = provider.call("CreateEventSourceMapping", **members, **settings, Tags={"team": "orders", "old": "1"})
    uuid, tagged = made["UUID"], made["EventSourceMappingArn"]
    provider.wait_for_mapping(uuid, {"Creating", "Disabling", "Enabling"})
    found = provider.read_mapping(uuid)
    assert provider.take_called() == ["CreateEventSourceMapping", "GetEventSourceMapping", "ListTags"]
    same = {"UUID": uuid, "FunctionArn": ARN, "EventSourceArn": stream, "StartingPosition": "LATEST"}
    expected = {**same, **settings, "State": "Enabled", "TumblingWindowInSeconds": 0}
    assert found.items() >= (expected | {"Tags": {"team": "orders", "old": "1"}}).items()

    provider.call("UntagResource", Resource=tagged, TagKeys=["old"])
    provider.call("TagResource", Resource=tagged, Tags={"stage": "live"})
    provider.call("UpdateEventSourceMapping", UUID=uuid, BatchSize=10, FilterCriteria={})
    provider.wait_for_mapping(uuid, {"Disabling", "Enabling", "Updating"})
    provider.call("UpdateEventSourceMapping", UUID=uuid, Enabled=False)
    provider.wait_for_mapping(uuid, {"Disabling", "Enabling", "Updating"})
    found = provider.read_mapping(uuid)
    assert "FilterCriteria" not in found
    del expected["FilterCriteria"]
    changes = {"BatchSize": 10, "State": "Disabled", "Tags": {"team": "orders", "stage": "live"}}
    assert found.items() >= (expected | changes).items()

    assert provider.call("DeleteEventSourceMapping", UUID=uuid)["State"] == "Deleting"
    wait_until(lambda: not provider.is_found("GetEventSourceMapping", UUID=uuid))
    provider.delete_function()


def make_stream(provider: Provider) -> str:
    """The ARN of the stream of a new table."""
    provider.tables.create_table(
        TableName="orders",
        KeySchema=[{"AttributeName": "order", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "order", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    )
    wait_until(lambda: provider.tables.describe_table(TableName="orders")["Table"]["TableStatus"] == "ACTIVE")
    return str(provider.tables.describe_table(TableName="orders")["Table"]["LatestStreamArn"])


def test_what_cloudformation_reads_besides(provider: Provider) -> None:
    provider.create_function(FIRST)
    runtime = provider.call("GetRuntimeManagementConfig", FunctionName=NAME)
    assert runtime == {"UpdateRuntimeOn": "Auto", "FunctionArn": f"{ARN}:$LATEST"}
    assert provider.call("GetFunctionRecursionConfig", FunctionName=NAME)["RecursiveLoop"] in {"Allow", "Terminate"}
    assert provider.call("ListTags", Resource=ARN) == {"Tags": {}}
    assert provider.call("GetFunctionConcurrency", FunctionName=NAME) == {}
    provider.delete_function()
    for operation in ("GetRuntimeManagementConfig", "GetFunctionRecursionConfig", "GetFunctionCodeSigningConfig"):
        assert not provider.is_found(operation, FunctionName=NAME)
    assert not provider.is_found("DeleteFunction", FunctionName=NAME)

"""`hashrange apply` against a server: templates become tables; a second time, nothing changes."""

import io
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest

from hashrange.cli.main import DONE, FAILED, INTERRUPTED, WRONG_USE, main
from hashrange.cli.shown_progress import ShownProgress
from hashrange.settings import Settings
from hashrange.templates.requests import TemplateRequest
from hashrange.testing import server
from hashrange.toolkit.target import Target

TEMPLATES = Path(__file__).parent / "templates"
INCOMPLETE = 3
ORDERS = """
Resources:
  Orders:
    Type: AWS::DynamoDB::Table
    Properties:
      TableName: %s
      BillingMode: PAY_PER_REQUEST
      AttributeDefinitions: [{AttributeName: pk, AttributeType: S}]
      KeySchema: [{AttributeName: pk, KeyType: HASH}]
"""
Printed = pytest.CaptureFixture[str]
Row = dict[str, str]


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    """A server that runs functions."""
    with server(Settings(data_dir=None, port=0, functions=True)) as database:
        yield database.endpoint


class Applying:
    """Applies templates to a server, and asks it."""

    def __init__(self, endpoint: str, folder: Path, printed: Printed) -> None:
        self.endpoint, self.folder, self._printed = endpoint, folder, printed
        self.told = ""

    def file(self, text: str, name: str = "template.yaml") -> str:
        """The path of a template with this text."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return str(path)

    def run(self, path: str, *words: str) -> int:
        """Apply a template; the exit code."""
        code = main(["apply", path, "--endpoint", self.endpoint, "--output", "json", *words])
        out, self.told = self._printed.readouterr()
        self.rows: list[Row] = json.loads(out) if out else []
        return code

    def states(self) -> set[str]:
        """What became of resources, without outputs."""
        return {row["state"] for row in self.rows} - {"output"}

    def changes(self) -> list[str]:
        """The requests that were sent, or would be."""
        return [row["request"] for row in self.rows if row["state"] in {"done", "to do"}]

    def client(self, service: str = "dynamodb") -> Any:
        """A client of the server."""
        return boto3.client(
            service,
            endpoint_url=self.endpoint,
            region_name="us-east-1",
            aws_access_key_id="a",
            aws_secret_access_key="b",
        )


@pytest.fixture
def applying(endpoint: str, tmp_path: Path, capsys: Printed) -> Applying:
    return Applying(endpoint, tmp_path, capsys)


def test_the_on_demand_template(applying: Applying) -> None:
    path = str(TEMPLATES / "mission.yaml")
    assert applying.run(path, "--diff", "--parameter", "Environment=prod") == DONE
    assert applying.changes() == ["CreateTable", "UpdateTimeToLive"]
    assert applying.client().list_tables()["TableNames"] == []
    assert applying.run(path, "--parameter", "Environment=prod") == DONE
    assert f"account 000000000000, Region us-east-1, endpoint {applying.endpoint}" in applying.told
    client = applying.client()
    table = client.describe_table(TableName="prod-orders")["Table"]
    assert table["StreamSpecification"] == {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
    assert table["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
    assert [index["IndexName"] for index in table["GlobalSecondaryIndexes"]] == ["GSI1"]
    ttl = client.describe_time_to_live(TableName="prod-orders")["TimeToLiveDescription"]
    assert ttl == {"TimeToLiveStatus": "ENABLED", "AttributeName": "ttl"}
    outputs = {row["resource"]: row["change"] for row in applying.rows if row["state"] == "output"}
    assert outputs == {"StreamArn": table["LatestStreamArn"], "Name": "prod-orders"}
    assert applying.run(path, "--parameter", "Environment=prod") == DONE
    assert applying.states() == {"unchanged"}
    assert not applying.told


def test_the_production_template(applying: Applying) -> None:
    path = str(TEMPLATES / "production.yaml")
    assert applying.run(path) == DONE
    client, scaling = applying.client(), applying.client("application-autoscaling")
    table = client.describe_table(TableName="dev-main")["Table"]
    assert {index["IndexName"] for index in table["GlobalSecondaryIndexes"]} == {"GSI1", "GSI2"}
    backups = client.describe_continuous_backups(TableName="dev-main")["ContinuousBackupsDescription"]
    assert backups["PointInTimeRecoveryDescription"]["PointInTimeRecoveryStatus"] == "ENABLED"
    targets = scaling.describe_scalable_targets(ServiceNamespace="dynamodb")["ScalableTargets"]
    policies = scaling.describe_scaling_policies(ServiceNamespace="dynamodb")["ScalingPolicies"]
    assert (len(targets), len(policies)) == (6, 6)
    alarms = applying.client("cloudwatch").describe_alarms(AlarmNamePrefix="dev-main")["MetricAlarms"]
    assert {alarm["Threshold"] for alarm in alarms} == {100}
    assert len(alarms) == 3
    assert applying.run(path) == DONE
    assert applying.states() == {"unchanged"}
    assert applying.run(path, "--diff", "--parameter", "MaxRead=200") == DONE
    assert applying.changes() == ["RegisterScalableTarget"] * 3
    assert applying.run(path, "--parameter", "BillingMode=PAY_PER_REQUEST") == INCOMPLETE
    assert applying.changes() == ["UpdateTable"]
    kept = [row["resource"] for row in applying.rows if row["state"] == "kept"]
    assert (len(kept), kept[0]) == (6, "scalable target table/dev-main dynamodb:table:ReadCapacityUnits")
    table = client.describe_table(TableName="dev-main")["Table"]
    assert table["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"


CHANGED = """
      DeletionProtectionEnabled: true
      StreamSpecification: {StreamViewType: KEYS_ONLY}
      PointInTimeRecoverySpecification: {PointInTimeRecoveryEnabled: true, RecoveryPeriodInDays: 7}
      ContributorInsightsSpecification: {Enabled: true}
      ResourcePolicy:
        PolicyDocument:
          Version: 2012-10-17
          Statement:
            - Effect: Allow
              Principal: {AWS: "222233334444"}
              Action: dynamodb:GetItem
              Resource: !GetAtt Orders.Arn
      Tags: [{Key: team, Value: a}]
"""
INDEXED = """
Resources:
  Orders:
    Type: AWS::DynamoDB::Table
    Properties:
      TableName: changing
      ProvisionedThroughput: {ReadCapacityUnits: 2, WriteCapacityUnits: 2}
      AttributeDefinitions:
        - {AttributeName: pk, AttributeType: S}
        - {AttributeName: a, AttributeType: S}
        - {AttributeName: b, AttributeType: N}
      KeySchema: [{AttributeName: pk, KeyType: HASH}]
      GlobalSecondaryIndexes:
        - IndexName: OfA
          KeySchema: [{AttributeName: a, KeyType: HASH}]
          Projection: {ProjectionType: ALL}
          ProvisionedThroughput: {ReadCapacityUnits: 1, WriteCapacityUnits: 1}
        - IndexName: OfB
          KeySchema: [{AttributeName: b, KeyType: HASH}]
          Projection: {ProjectionType: KEYS_ONLY}
          ProvisionedThroughput: {ReadCapacityUnits: 1, WriteCapacityUnits: 1}
"""


def test_a_change_and_back(applying: Applying) -> None:
    plain = ORDERS % "changing"
    for text, changes in (
        (plain, ["CreateTable"]),
        (plain + CHANGED, [
            "UpdateTable", "UpdateTable", "UpdateContinuousBackups", "UpdateContributorInsights", "PutResourcePolicy",
            "TagResource",
        ]),
        (plain, [
            "UpdateTable", "UpdateTable", "UpdateContinuousBackups", "UpdateContributorInsights",
            "DeleteResourcePolicy", "UntagResource",
        ]),
        (INDEXED, ["UpdateTable"] * 3),
        (plain, ["UpdateTable"] * 3),
    ):  # fmt: skip
        path = applying.file(text)
        assert applying.run(path) == DONE, applying.told
        assert applying.changes() == changes
    assert applying.run(path, "--diff") == DONE
    assert not applying.changes(), applying.rows


def test_a_table_with_other_keys_is_named_and_not_touched(applying: Applying) -> None:
    assert applying.run(applying.file(ORDERS % "keyed")) == DONE
    path = applying.file((ORDERS % "keyed").replace("AttributeType: S", "AttributeType: N"))
    assert applying.run(path) == INCOMPLETE
    [row] = applying.rows
    assert (row["state"], row["resource"]) == ("kept", "table keyed")
    assert row["change"] == ("its key is pk (S), and the template wants pk (N). A table is never replaced here")


def test_a_table_that_the_template_drops_is_named_and_not_touched(applying: Applying) -> None:
    assert applying.run(applying.file(ORDERS % "first", "dropping.yaml")) == DONE
    assert applying.run(applying.file(ORDERS % "second", "dropping.yaml")) == INCOMPLETE
    assert [row["resource"] for row in applying.rows if row["state"] == "kept"] == ["table first"]
    assert {"first", "second"} <= set(applying.client().list_tables()["TableNames"])


SAM = """
Transform: AWS::Serverless-2016-10-31
Resources:
  Orders:
    Type: AWS::DynamoDB::Table
    Properties:
      BillingMode: PAY_PER_REQUEST
      AttributeDefinitions: [{AttributeName: pk, AttributeType: S}]
      KeySchema: [{AttributeName: pk, KeyType: HASH}]
      StreamSpecification: {StreamViewType: NEW_IMAGE}
  Archiver:
    Type: AWS::Serverless::Function
    Properties:
      FunctionName: archiver
      Runtime: python3.12
      Handler: app.handler
      CodeUri: code
      Timeout: %s
      Environment: {Variables: {STREAM: !GetAtt Orders.StreamArn}}
      Events:
        Changes:
          Type: DynamoDB
          Properties: {Stream: !GetAtt Orders.StreamArn, StartingPosition: LATEST, BatchSize: %s}
  Queue: {Type: AWS::SQS::Queue}
"""


def test_functions_and_mappings_of_sam(applying: Applying) -> None:
    applying.file("def handler(event, context):\n    return {}\n", "code/app.py")
    path = applying.file(SAM % (10, 5), "sam.yaml")
    assert applying.run(path) == INCOMPLETE
    assert applying.changes() == ["CreateTable", "CreateFunction", "CreateEventSourceMapping"]
    assert [row["resource"] for row in applying.rows if row["state"] == "left out"] == ["Queue"]
    client = applying.client("lambda")
    function = client.get_function_configuration(FunctionName="archiver")
    stream = applying.client().describe_table(TableName="sam-Orders")["Table"]["LatestStreamArn"]
    assert function["Environment"]["Variables"] == {"STREAM": stream}
    [mapping] = client.list_event_source_mappings(FunctionName="archiver")["EventSourceMappings"]
    assert (mapping["EventSourceArn"], mapping["BatchSize"]) == (stream, 5)
    assert applying.run(path) == INCOMPLETE
    assert applying.states() == {"unchanged", "left out"}
    applying.file("def handler(event, context):\n    return {'changed': 1}\n", "code/app.py")
    assert applying.run(applying.file(SAM % (20, 6), "sam.yaml")) == INCOMPLETE
    assert applying.changes() == ["UpdateFunctionCode", "UpdateFunctionConfiguration", "UpdateEventSourceMapping"]
    assert client.get_function_configuration(FunctionName="archiver")["Timeout"] == 20


COMPANIONS = """
Resources:
  Orders:
    Type: AWS::DynamoDB::Table
    Properties:
      TableName: companied
      ProvisionedThroughput: {ReadCapacityUnits: 2, WriteCapacityUnits: 2}
      AttributeDefinitions: [{AttributeName: pk, AttributeType: S}]
      KeySchema: [{AttributeName: pk, KeyType: HASH}]
      StreamSpecification: {StreamViewType: NEW_IMAGE}
"""
DROPPED = """
  Dropped:
    Type: AWS::Lambda::Function
    Properties:
      FunctionName: dropped
      Runtime: python3.12
      Handler: index.handler
      Role: arn:aws:iam::000000000000:role/r
      Tags: [{Key: team, Value: a}]
      Code: {ZipFile: "def handler(event, context): pass"}
  Changes:
    Type: AWS::Lambda::EventSourceMapping
    Properties: {FunctionName: !Ref Dropped, EventSourceArn: !GetAtt Orders.StreamArn, StartingPosition: LATEST}
  Reads:
    Type: AWS::ApplicationAutoScaling::ScalableTarget
    Properties:
      ServiceNamespace: dynamodb
      ResourceId: !Sub table/${Orders}
      ScalableDimension: dynamodb:table:ReadCapacityUnits
      MinCapacity: 2
      MaxCapacity: 9
  Alarm:
    Type: AWS::CloudWatch::Alarm
    Properties:
      AlarmName: dropped
      Namespace: AWS/DynamoDB
      MetricName: ThrottledRequests
      Statistic: Sum
      Period: 60
      EvaluationPeriods: 1
      Threshold: 1
      ComparisonOperator: GreaterThanThreshold
"""


def test_companions_that_the_template_drops_are_named_and_stay(
    applying: Applying, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_hand = {"ServiceNamespace": "dynamodb", "ResourceId": "table/companied"}
    assert applying.run(applying.file(COMPANIONS + DROPPED, "companied.yaml")) == DONE
    applying.client("application-autoscaling").register_scalable_target(
        **by_hand, ScalableDimension="dynamodb:table:WriteCapacityUnits", MinCapacity=2, MaxCapacity=9
    )
    assert applying.client("lambda").get_function(FunctionName="dropped")["Tags"] == {
        "team": "a",
        "hashrange:stack": "companied",
    }
    assert applying.run(applying.file(COMPANIONS + DROPPED, "companied.yaml")) == DONE
    assert applying.run(applying.file(COMPANIONS, "companied.yaml"), "--diff") == INCOMPLETE
    assert [row["resource"] for row in applying.rows if row["state"] == "kept"] == [
        "function dropped",
        "event source mapping dropped companied",
        "scalable target table/companied dynamodb:table:ReadCapacityUnits",
        "alarm dropped",
    ]
    [reason] = {row["change"] for row in applying.rows if row["state"] == "kept"}
    assert reason.startswith("the template does not make it any more. Nothing but an index is ever deleted here")
    monkeypatch.setattr(Target, "is_aws", property(lambda _: True, lambda *_: None), raising=False)
    assert applying.run(applying.file(COMPANIONS, "companied.yaml"), "--diff") == DONE, "tables need no other service"


ROLES = """
  Role: {Type: AWS::IAM::Role, Properties: {AssumeRolePolicyDocument: {}}}
  Permission: {Type: AWS::Lambda::Permission, Properties: {Action: lambda:InvokeFunction}}
"""


def test_what_only_aws_needs_is_told_and_leaves_nothing_open(
    applying: Applying, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = applying.file(ORDERS % "roles" + ROLES, "roles.yaml")
    assert applying.run(path) == DONE
    told = [(row["resource"], row["request"]) for row in applying.rows if row["state"] == "not needed"]
    assert told == [("Role", "AWS::IAM::Role"), ("Permission", "AWS::Lambda::Permission")]
    monkeypatch.setattr(Target, "is_aws", property(lambda _: True, lambda *_: None), raising=False)
    assert applying.run(path, "--diff") == INCOMPLETE
    assert [row["resource"] for row in applying.rows if row["state"] == "left out"] == ["Role", "Permission"]


@pytest.mark.skipif(sys.platform == "win32", reason="files are no pipes there")
def test_code_that_is_no_file_or_too_large_is_told_before_anything_is_sent(applying: Applying) -> None:
    path = applying.file(SAM % (10, 5), "sam.yaml")
    applying.file("", "code/app.py")
    os.mkfifo(applying.folder / "code" / "pipe")
    assert applying.run(path) == WRONG_USE
    assert "the code of archiver, " in applying.told
    assert applying.told.endswith("code/pipe, cannot be read: It is no file.\n")
    (applying.folder / "code" / "pipe").unlink()
    os.truncate(applying.folder / "code" / "app.py", 250 * 1024 * 1024 + 1)
    assert applying.run(path) == WRONG_USE
    assert applying.told.endswith("has more than 262,144,000 bytes, Lambda's quota.\n")


def test_a_folder_of_the_cdk(applying: Applying, monkeypatch: pytest.MonkeyPatch) -> None:
    here = json.dumps({"Resources": {
        "Orders": {"Type": "AWS::DynamoDB::GlobalTable", "Properties": {
            "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "Replicas": [{"Region": {"Ref": "AWS::Region"}, "DeletionProtectionEnabled": False}],
        }},
        "Fn": {"Type": "AWS::Lambda::Function", "Properties": {
            "FunctionName": "of-the-cdk", "Runtime": "python3.12", "Handler": "app.handler",
            "Role": "arn:aws:iam::000000000000:role/r",
            "Code": {"S3Bucket": {"Fn::Sub": "cdk-assets-${AWS::AccountId}"}, "S3Key": "abc.zip"},
        }},
        "CDKMetadata": {"Type": "AWS::CDK::Metadata", "Properties": {}, "Condition": "Metadata"},
    }, "Conditions": {"Metadata": {"Fn::Equals": ["a", "a"]}},
       "Parameters": {"BootstrapVersion": {"Type": "AWS::SSM::Parameter::Value<String>", "Default": "/cdk/version"}},
    })  # fmt: skip
    applying.file("def handler(event, context): pass\n", "cdk.out/asset.abc/app.py")
    applying.file(here, "cdk.out/Shop.template.json")
    applying.file(here, "cdk.out/Far.template.json")
    applying.file(json.dumps({"files": {"abc": {
        "source": {"path": "asset.abc", "packaging": "zip"}, "destinations": {"d": {"objectKey": "abc.zip"}},
    }}}), "cdk.out/Shop.assets.json")  # fmt: skip
    stack, nowhere = "aws:cloudformation:stack", "aws://unknown-account/unknown-region"
    applying.file(json.dumps({"artifacts": {
        "Shop.assets": {"type": "cdk:asset-manifest", "properties": {"file": "Shop.assets.json"}},
        "Shop": {"type": stack, "environment": nowhere, "properties": {"templateFile": "Shop.template.json"}},
        "Far": {"type": stack, "environment": "aws://1/eu-west-1", "properties": {"templateFile": "Far.template.json"}},
    }}), "cdk.out/manifest.json")  # fmt: skip
    folder = "cdk.out"  # as people type it
    monkeypatch.chdir(applying.folder)
    assert applying.run(folder) == INCOMPLETE, applying.told
    assert applying.changes() == ["CreateTable", "CreateFunction"]
    [left] = [row for row in applying.rows if row["state"] == "left out"]
    assert (left["resource"], left["change"]) == ("stack Far", "it is for eu-west-1; say --region eu-west-1")
    assert applying.client().describe_table(TableName="Shop-Orders")["Table"]["TableStatus"] == "ACTIVE"
    assert applying.run(folder) == INCOMPLETE
    assert applying.states() == {"unchanged", "left out"}


def test_stacks_of_the_cdk_that_import_of_each_other(applying: Applying) -> None:
    table = {"BillingMode": "PAY_PER_REQUEST",
             "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
             "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]}  # fmt: skip
    name = {"Fn::Join": ["-", [{"Fn::ImportValue": "Base:Name"}, "copy"]]}
    templates: dict[str, Any] = {
        "Base": {
            "Resources": {"T": {"Type": "AWS::DynamoDB::Table", "Properties": {**table, "TableName": "imported"}}},
            "Outputs": {"O": {"Value": {"Ref": "T"}, "Export": {"Name": "Base:Name"}}},
        },
        "Above": {"Resources": {"T": {"Type": "AWS::DynamoDB::Table", "Properties": {**table, "TableName": name}}}},
    }
    kind = "aws:cloudformation:stack"
    artifacts = {
        one: {"type": kind, "properties": {"templateFile": f"{one}.template.json"}} for one in sorted(templates)
    }
    applying.file(json.dumps({"artifacts": artifacts}), "cdk.out/manifest.json")
    for one, template in templates.items():
        applying.file(json.dumps(template), f"cdk.out/{one}.template.json")
    assert applying.run(str(applying.folder / "cdk.out")) == DONE
    assert {"imported", "imported-copy"} <= set(applying.client().list_tables()["TableNames"])


def test_a_plan_of_terraform(applying: Applying) -> None:
    values = {
        "name": "of-terraform", "billing_mode": "PAY_PER_REQUEST", "hash_key": "pk", "read_capacity": None,
        "attribute": [{"name": "pk", "type": "S"}], "ttl": [{"attribute_name": "ttl", "enabled": True}],
        "tags_all": {"team": "a"}, "point_in_time_recovery": [{"enabled": True, "recovery_period_in_days": 35}],
    }  # fmt: skip
    resource = {"address": "aws_dynamodb_table.t", "type": "aws_dynamodb_table", "name": "t", "values": values}
    path = applying.file(json.dumps({"planned_values": {"root_module": {"resources": [resource]}}}), "plan.json")
    assert applying.run(path) == DONE
    assert applying.changes() == ["CreateTable", "UpdateTimeToLive", "UpdateContinuousBackups"]
    assert applying.run(path) == DONE
    assert applying.states() == {"unchanged"}


def test_what_an_endpoint_does_not_offer_is_left_out(tmp_path: Path, capsys: Printed) -> None:
    with server(Settings(data_dir=None, port=0)) as database:
        applying = Applying(database.endpoint, tmp_path, capsys)
        applying.file("def handler(event, context): pass\n", "code/app.py")
        assert applying.run(applying.file(SAM % (10, 5))) == INCOMPLETE
    assert applying.changes() == ["CreateTable"]
    left = {row["resource"]: row["change"] for row in applying.rows if row["state"] == "left out"}
    assert left.keys() == {"Queue", "Archiver", "ArchiverChanges"}
    assert "Lambda's API is switched off" in left["Archiver"]


def test_a_refusal_is_told_with_what_was_refused(applying: Applying) -> None:
    assert applying.run(applying.file((ORDERS % "refused").replace("pk, KeyType", "other, KeyType"))) == FAILED
    assert "refused CreateTable: ValidationException" in applying.told


@pytest.mark.parametrize(
    ("text", "name", "told"),
    [
        ("Resources: [", "a.yaml", "a.yaml: it is no YAML at line 2, column 1"),
        ("hello", "a.yaml", "a.yaml: it holds no members such as Resources."),
        ("", "a.yaml", "a.yaml: it is empty."),
        ("# nothing\n", "a.yaml", "a.yaml: it is empty."),
        ("a: 1", "a.yaml", "a.yaml: it has neither Resources nor planned_values."),
        ("Resources: {}", "a.yaml", "a.yaml cannot be applied: it has no Resources;"),
        ("resource {}", "main.tf", "main.tf: Terraform's own files are not read."),
        ("PK\x03", "plan", "plan: it is a zip file. A template is a file of CloudFormation"),
        ("[" * 200, "a.yaml", "it is nested more than 100 levels deep."),
        ('{"a":' * 200 + "1" + "}" * 200, "a.json", "it is nested more than 100 levels deep."),
        ('{"a":' * 100_000, "a.json", "it is nested too deeply."),
        ('{"a": ' + "9" * 5000 + "}", "a.json", "a number in it has too many digits."),
        ('{"a": NaN}', "a.json", "NaN is no number of JSON."),
        ("a: b\n" * 300_000, "a.yaml", "it has more than 1,048,576 bytes"),
        (ORDERS % "!Ref Nobody", "a.yaml", "a.yaml cannot be applied: Resources.Orders.Properties.TableName: the"),
    ],
)  # fmt: skip
def test_a_template_that_cannot_be_used(applying: Applying, text: str, name: str, told: str) -> None:
    assert applying.run(applying.file(text, name)) == WRONG_USE
    assert told in applying.told


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--parameter", "Environment"], '--parameter is "Environment"; it must be a name and a value'),
        (["--parameter", "Stage=dev"], "mission.yaml cannot be applied: it has no parameter Stage."),
        (["--parameter", "Environment=x"], 'Parameters.Environment is "x"; it must be one of dev, prod.'),
        (["--output", "xml"], '--output is "xml"'),
    ],
)
def test_words_that_cannot_be_used(applying: Applying, words: list[str], told: str) -> None:
    assert applying.run(str(TEMPLATES / "mission.yaml"), *words) == WRONG_USE
    assert told in applying.told


def test_yaml_without_its_library_is_told(applying: Applying, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    assert applying.run(str(TEMPLATES / "mission.yaml")) == WRONG_USE
    assert "it is YAML, and PyYAML is not installed. Install it: pip install" in applying.told


def test_a_file_that_is_not_there(applying: Applying) -> None:
    assert applying.run(str(applying.folder / "missing.yaml")) == WRONG_USE
    assert "missing.yaml: it cannot be read: No such file or directory." in applying.told


def test_a_folder_that_is_none_of_the_cdk(applying: Applying) -> None:
    assert applying.run(str(applying.folder)) == WRONG_USE
    assert "the folder has no manifest.json, so it is no cdk.out." in applying.told


def test_a_manifest_that_names_a_file_elsewhere(applying: Applying) -> None:
    artifact = {"type": "aws:cloudformation:stack", "properties": {"templateFile": "../../secret.json"}}
    applying.file(json.dumps({"artifacts": {"A": artifact}}), "cdk.out/manifest.json")
    assert applying.run(str(applying.folder / "cdk.out")) == WRONG_USE
    assert "which is not inside the folder" in applying.told


# --- interrupts and narrow terminals ------------------------------------------------------------------

TABLE_WITH_ALL = (
    ORDERS % "Interrupted"
    + """
      TimeToLiveSpecification: {AttributeName: t, Enabled: true}
      PointInTimeRecoverySpecification: {PointInTimeRecoveryEnabled: true}
"""
)
REQUEST = TemplateRequest("dynamodb", "UpdateTable", {}, "table orders", "on demand")


def interrupted(*_: Any) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("step", ["begin", "wait"])
def test_an_interrupted_apply_says_so_and_another_one_does_the_rest(
    step: str, tmp_path: Path, capsys: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    with server(Settings(data_dir=None, port=0, table_state_delay_seconds=0.05)) as database:
        applying = Applying(database.endpoint, tmp_path, capsys)
        path = applying.file(TABLE_WITH_ALL)
        with monkeypatch.context() as patched:
            patched.setattr(ShownProgress, step, interrupted)
            assert applying.run(path) == INTERRUPTED
        assert not applying.rows
        assert applying.told.splitlines()[-1].startswith("Interrupted. What has been begun stands above; the same")
        assert applying.run(path) == DONE
        assert applying.changes()[-2:] == ["UpdateTimeToLive", "UpdateContinuousBackups"]
        assert applying.run(path) == DONE
        assert applying.states() == {"unchanged"}


def test_a_table_that_is_being_deleted_is_made_again(
    tmp_path: Path, capsys: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited = []
    with server(Settings(data_dir=None, port=0, table_state_delay_seconds=30)) as database:

        def wait(_: ShownProgress, request: TemplateRequest, states: list[str]) -> None:
            waited.append((request.operation, *states))
            database.clock.advance(31)

        monkeypatch.setattr(ShownProgress, "wait", wait)
        database.clock.freeze()
        applying = Applying(database.endpoint, tmp_path, capsys)
        path = applying.file(ORDERS % "deleted")
        assert applying.run(path) == DONE
        applying.client().delete_table(TableName="deleted")
        assert applying.run(path, "--diff") == DONE
        assert applying.changes() == ["CreateTable"]
        assert applying.run(path) == DONE, applying.told
        assert waited == [("CreateTable", "CREATING"), ("CreateTable", "DELETING"), ("CreateTable", "CREATING")]


class Terminal(io.StringIO):
    """A terminal that keeps what is written to it."""

    def isatty(self) -> bool:
        return True


def test_what_is_waited_for_takes_one_line_of_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    screen, progress = Terminal(), ShownProgress()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("COLUMNS", "40")
    progress.wait(REQUEST, ["UPDATING", *(f"by-attribute-{number} CREATING" for number in range(20))])
    progress.wait(REQUEST, ["ACTIVE"])
    progress.begin(REQUEST)
    progress.clear()
    lines = screen.getvalue().split("\r")
    assert {len(line) for line in lines[:-1]} == {0, 39}
    assert lines[1].rstrip().endswith("…")
    assert lines[-2].isspace(), "the line is empty before the next one is written"
    assert lines[-1] == "table orders: on demand (UpdateTable)\n"


@pytest.mark.parametrize("name", ["", "x y", "1st", "a_b", "a" * 129])
def test_a_name_that_no_stack_has_is_refused(name: str, applying: Applying) -> None:
    assert applying.run(applying.file(ORDERS % "Named"), "--stack-name", name) == WRONG_USE
    assert applying.told.startswith(f'hashrange: --stack-name is "{name}"; it must be a letter and')


def test_what_a_template_lacks_leaves_no_gap_in_the_sentence(applying: Applying) -> None:
    path = applying.file("Resources: {T: {Type: AWS::DynamoDB::Table}}", "bare.yaml")
    assert applying.run(path) == FAILED
    assert "table bare-T: created; provisioned (CreateTable)" in applying.told

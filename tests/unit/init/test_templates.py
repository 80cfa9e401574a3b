"""Templates in an init folder: their tables are there from the start."""

import json
from pathlib import Path
from typing import Any

import pytest

from hashrange.settings import SettingUnusable
from tests.unit.init.folders import begun, make_folder

SHOP = """
Parameters:
  Stage: {Type: String, Default: dev}
Resources:
  Orders:
    Type: AWS::DynamoDB::Table
    Properties:
      TableName: !Sub "${Stage}-orders"
      BillingMode: PAY_PER_REQUEST
      AttributeDefinitions: [{AttributeName: pk, AttributeType: S}]
      KeySchema: [{AttributeName: pk, KeyType: HASH}]
      StreamSpecification: {StreamViewType: NEW_IMAGE}
      TimeToLiveSpecification: {AttributeName: ttl, Enabled: true}
      PointInTimeRecoverySpecification: {PointInTimeRecoveryEnabled: true}
      ContributorInsightsSpecification: {Enabled: true}
      Tags: [{Key: team, Value: a}]
  Queue: {Type: AWS::SQS::Queue}
  Role: {Type: AWS::IAM::Role}
  Alarm: {Type: AWS::CloudWatch::Alarm, Properties: {AlarmName: errors}}
"""
TABLE: dict[str, Any] = {
    "Type": "AWS::DynamoDB::Table",
    "Properties": {
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    },
}


def test_a_template_with_items(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = make_folder(tmp_path / "init", {"10-shop.yaml": SHOP, "20-dev-orders.jsonl": '{"pk": "a"}\n'})
    with begun(folder) as database:
        client = database.client()
        table = client.describe_table(TableName="dev-orders")["Table"]
        assert table["ItemCount"] == 1
        assert table["StreamSpecification"]["StreamViewType"] == "NEW_IMAGE"
        ttl = client.describe_time_to_live(TableName="dev-orders")["TimeToLiveDescription"]
        assert ttl == {"TimeToLiveStatus": "ENABLED", "AttributeName": "ttl"}
        backups = client.describe_continuous_backups(TableName="dev-orders")["ContinuousBackupsDescription"]
        assert backups["PointInTimeRecoveryDescription"]["PointInTimeRecoveryStatus"] == "ENABLED"
        insights = client.describe_contributor_insights(TableName="dev-orders")
        assert insights["ContributorInsightsStatus"] in {"ENABLED", "ENABLING"}
        tags = client.list_tags_of_resource(ResourceArn=table["TableArn"])["Tags"]
        assert {tag["Key"]: tag["Value"] for tag in tags} == {"team": "a", "hashrange:stack": "shop"}
    warnings = [record.message for record in caplog.records if record.levelname == "WARNING"]
    assert warnings == [
        "10-shop.yaml: Queue (AWS::SQS::Queue) is left out: this type is not applied",
        "10-shop.yaml: Alarm (alarm errors) is left out: only tables are made; `hashrange apply` makes the others",
    ]


def test_templates_in_json_and_of_terraform_and_the_cdk(tmp_path: Path) -> None:
    values = {"name": "of-terraform", "billing_mode": "PAY_PER_REQUEST", "hash_key": "pk",
              "attribute": [{"name": "pk", "type": "S"}]}  # fmt: skip
    resource = {"address": "aws_dynamodb_table.t", "type": "aws_dynamodb_table", "name": "t", "values": values}
    artifact = {"type": "aws:cloudformation:stack", "properties": {"templateFile": "Far.template.json"}}
    files: dict[str, object] = {
        "10-shop.json": {"Resources": {"Orders": TABLE}},
        "20-plan.json": {"planned_values": {"root_module": {"resources": [resource]}}},
        "eu-west-1/cdk.out/manifest.json": {"artifacts": {"Far": artifact}},
        "eu-west-1/cdk.out/Far.template.json": {"Resources": {"Orders": TABLE}},
    }
    with begun(make_folder(tmp_path / "init", files)) as database:
        assert database.client().list_tables()["TableNames"] == ["of-terraform", "shop-Orders"]
        assert database.client(region_name="eu-west-1").list_tables()["TableNames"] == ["Far-Orders"]


def test_a_folder_of_the_cdk_itself(tmp_path: Path) -> None:
    artifact = {"type": "aws:cloudformation:stack", "properties": {"templateFile": "Shop.template.json"}}
    files: dict[str, object] = {
        "manifest.json": {"artifacts": {"Shop": artifact}},
        "Shop.template.json": {"Resources": {"Orders": TABLE}},
        "tree.json": {"tree": {}},
    }
    with begun(make_folder(tmp_path / "cdk.out", files)) as database:
        assert database.client().list_tables()["TableNames"] == ["Shop-Orders"]


def test_a_table_called_resources_is_no_template(tmp_path: Path) -> None:
    table = {**TABLE["Properties"], "TableName": "Resources"}
    puts = {"Resources": [{"PutRequest": {"Item": {"pk": {"S": "a"}}}}]}
    with begun(make_folder(tmp_path / "init", {"10.json": table, "20.json": puts})) as database:
        assert database.client().describe_table(TableName="Resources")["Table"]["ItemCount"] == 1


def test_a_template_is_applied_once_and_again_when_it_has_changed(tmp_path: Path) -> None:
    folder, data = make_folder(tmp_path / "init", {"shop.yaml": SHOP}), tmp_path / "data"
    with begun(folder, data) as database:
        database.client().put_item(TableName="dev-orders", Item={"pk": {"S": "mine"}})
    make_folder(folder, {"shop.yaml": SHOP.replace("team, Value: a", "team, Value: b")})
    with begun(folder, data) as database:
        assert database.client().describe_table(TableName="dev-orders")["Table"]["ItemCount"] == 1
    make_folder(folder, {"shop.yaml": SHOP.replace("AttributeType: S", "AttributeType: N")})
    with pytest.raises(SettingUnusable, match="table dev-orders: the table dev-orders exists already, with another"):
        begun(folder, data).__enter__()


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.yaml", "Resources: [", "it is no YAML at line 2, column 1"),
        ("a.yaml", SHOP.replace("Default: dev", "MinLength: 1"), "the parameter Stage has no value: give it a Default"),
        ("a.json", json.dumps({"Resources": {"T": {}}}), "Resources.T has no Type"),
        ("a.yaml", SHOP.replace("pk, KeyType", "sk, KeyType"), "table dev-orders: CreateTable: ValidationException: "),
        ("cdk.out/manifest.json", json.dumps({"artifacts": {}}), "the folder has no stacks."),
    ],
)
def test_a_template_that_cannot_be_applied(tmp_path: Path, name: str, content: str, reason: str) -> None:
    folder = make_folder(tmp_path / "init", {name: content})
    with pytest.raises(SettingUnusable) as caught:
        begun(folder).__enter__()
    path = folder / name.partition("/")[0]
    assert str(caught.value).startswith(f"the init file {path} cannot be applied: {reason}"[:60])
    assert reason in str(caught.value)
    assert str(caught.value).endswith(" Nothing of the folder was applied; mend the file and try again.")


def test_yaml_that_is_no_template_is_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = make_folder(tmp_path / "init", {"compose.yaml": "x: &a {b: 1}\ny: *a\n"})
    with begun(folder) as database:
        assert database.client().list_tables()["TableNames"] == []
    told = f"{folder / 'compose.yaml'} is not applied: it has no Resources, so it is no template of CloudFormation."
    assert [record.message for record in caplog.records if record.levelname == "WARNING"] == [told]


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ({"Fn::Join": ["x" * 600_000, ["", "", ""]]}, "Fn::Join makes a text of more than 1,048,576 characters"),
        ({"Fn::Sub": ["${a}" * 20, {"a": "x" * 100_000}]}, "Fn::Sub makes a text of more than 1,048,576 characters"),
        (
            {"Fn::Join": ["", [{"Fn::Select": [1, [{"Fn::Sub": ["${a}" * 2_000, {"a": "x" * 500}]}, ""]]}] * 17]},
            "Fn::Sub and others make texts of more than 16,777,216 characters",
        ),
    ],
    ids=["join", "sub", "many"],
)
def test_texts_that_would_fill_the_memory_are_not_made(tmp_path: Path, value: Any, told: str) -> None:
    table = {**TABLE, "Properties": {**TABLE["Properties"], "TableName": value}}
    folder = make_folder(tmp_path / "init", {"shop.json": {"Resources": {"Orders": table}}})
    with pytest.raises(SettingUnusable, match=told), begun(folder):
        pass

"""What is a template, before anything in it is resolved? A stack: a document, where it is for, and files beside it."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from hashrange.written.names import did_you_mean

TABLE_TYPE, GLOBAL_TABLE_TYPE = "AWS::DynamoDB::Table", "AWS::DynamoDB::GlobalTable"
FUNCTION_TYPE, MAPPING_TYPE = "AWS::Lambda::Function", "AWS::Lambda::EventSourceMapping"
TARGET_TYPE = "AWS::ApplicationAutoScaling::ScalableTarget"
POLICY_TYPE, ALARM_TYPE = "AWS::ApplicationAutoScaling::ScalingPolicy", "AWS::CloudWatch::Alarm"


class Locality(NamedTuple):
    """Where resources are to be: what the pseudo parameters say."""

    account: str
    region: str

    @property
    def partition(self) -> str:
        """The partition of the Region, as ARNs name it."""
        if self.region.startswith("cn-"):
            return "aws-cn"
        return "aws-us-gov" if self.region.startswith("us-gov-") else "aws"


class Stack(NamedTuple):
    """One template."""

    name: str
    document: Mapping[str, Any]
    folder: str
    """Folder to which paths of code are relative."""
    region: str | None = None
    """Region that a stack of the CDK is bound to."""
    assets: Mapping[str, str] = {}
    """Object key of an asset of the CDK → absolute path of the folder or zip file."""


class TypedResource(NamedTuple):
    """One resource of a template, with the type and the properties of CloudFormation, whatever language it is in."""

    place: str
    """Its logical ID, or its address in Terraform."""
    type: str
    properties: Mapping[str, Any]


AT_AWS_ONLY = (
    "AWS::IAM::", "AWS::Lambda::Permission", "AWS::Logs::LogGroup", "Custom::LogRetention",
    "aws_iam_", "aws_lambda_permission", "aws_cloudwatch_log_group",
)  # fmt: skip
"""How types of CloudFormation and Terraform begin that only AWS needs: who may do what, and where functions log."""


class LeftOut(NamedTuple):
    """What of a template is not applied."""

    place: str
    what: str
    reason: str
    is_for_aws: bool = False
    """True for what has no effect except at AWS, such as permissions."""


def unapplied(place: str, kind: str) -> LeftOut:
    """A resource whose type is not applied."""
    is_like_table = kind.lower().startswith("aws::dynamodb::")
    near = did_you_mean(kind, (TABLE_TYPE, GLOBAL_TABLE_TYPE)) if is_like_table else ""
    return LeftOut(place, kind, f"this type is not applied{f'.{near}' if near else ''}", kind.startswith(AT_AWS_ONLY))

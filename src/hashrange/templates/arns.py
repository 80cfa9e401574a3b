"""By which names and ARNs do resources of a template refer to each other? By the names that the template gives them, or
made-up ones, which are the same each time.
"""

from typing import NamedTuple

from hashrange.templates.stack import Locality

TOPIC_ARN = "arn:{partition}:sns:{region}:{account}:{name}"
SQS_URL = "https://sqs.{region}.amazonaws.com/{account}/{name}"


class Naming(NamedTuple):
    """How resources of one type are named."""

    name_property: str
    ref: str = "{name}"
    """What Ref gives."""
    arn_attribute: str = "Arn"
    arn: str = ""


NAMINGS = {
    "AWS::DynamoDB::Table": Naming("TableName", arn="arn:{partition}:dynamodb:{region}:{account}:table/{name}"),
    "AWS::Lambda::Function": Naming("FunctionName", arn="arn:{partition}:lambda:{region}:{account}:function:{name}"),
    "AWS::CloudWatch::Alarm": Naming("AlarmName", arn="arn:{partition}:cloudwatch:{region}:{account}:alarm:{name}"),
    "AWS::IAM::Role": Naming("RoleName", arn="arn:{partition}:iam::{account}:role/{name}"),
    "AWS::SQS::Queue": Naming("QueueName", SQS_URL, arn="arn:{partition}:sqs:{region}:{account}:{name}"),
    "AWS::SNS::Topic": Naming("TopicName", TOPIC_ARN, "TopicArn", TOPIC_ARN),
    "AWS::Kinesis::Stream": Naming("Name", arn="arn:{partition}:kinesis:{region}:{account}:stream/{name}"),
    "AWS::S3::Bucket": Naming("BucketName", arn="arn:{partition}:s3:::{name}"),
    "AWS::Logs::LogGroup": Naming("LogGroupName", arn="arn:{partition}:logs:{region}:{account}:log-group:{name}:*"),
}  # fmt: skip
NAMINGS["AWS::DynamoDB::GlobalTable"] = NAMINGS["AWS::DynamoDB::Table"]


def written_out(form: str, place: Locality, name: str) -> str:
    """A form of `NAMINGS` with Region, account and name in it."""
    return form.format(partition=place.partition, region=place.region, account=place.account, name=name)

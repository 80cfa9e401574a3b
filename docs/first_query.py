"""A first table, item and query; README.md shows this program."""

import boto3
from boto3.dynamodb.conditions import Key

dynamodb = boto3.resource(
    "dynamodb",
    endpoint_url="http://localhost:8000",
    region_name="us-east-1",
    aws_access_key_id="any",
    aws_secret_access_key="any",
)
users = dynamodb.Table("Users")
if users not in dynamodb.tables.all():
    dynamodb.create_table(
        TableName="Users",
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
users.put_item(Item={"pk": "user-1", "name": "Ada", "visits": 1})
users.update_item(
    Key={"pk": "user-1"},
    UpdateExpression="SET visits = visits + :one",
    ConditionExpression="attribute_exists(pk)",
    ExpressionAttributeValues={":one": 1},
)
print(users.query(KeyConditionExpression=Key("pk").eq("user-1"))["Items"])

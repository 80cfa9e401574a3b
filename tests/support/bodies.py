"""Bodies of requests for every operation: valid by themselves, although a store may refuse them."""

import json
from typing import Any

TABLE = "fuzzed"
ARN = f"arn:aws:dynamodb:us-east-1:000000000000:table/{TABLE}"
STREAM_ARN = f"{ARN}/stream/2026-10-01T12:00:00.123"
BACKUP_ARN = f"{ARN}/backup/01234567890123-0123abcd"
SHARD_ID = "shardId-00000001800000000000-00000001"
DATA_STREAM_ARN = "arn:aws:kinesis:us-east-1:000000000000:stream/changes"
KEY = {"pk": {"S": "a"}, "sk": {"N": "1"}}
ITEM = KEY | {
    "text": {"S": "é"},
    "bytes": {"B": "AAE="},
    "flag": {"BOOL": True},
    "none": {"NULL": True},
    "texts": {"SS": ["b", "a"]},
    "numbers": {"NS": ["1.50", "2"]},
    "blobs": {"BS": ["AA==", "AQ=="]},
    "list": {"L": [{"N": "1"}, {"L": []}]},
    "map": {"M": {"inner": {"M": {"deep": {"S": "x"}}}}},
}
EXPECTED = {
    "text": {"Value": {"S": "é"}},
    "flag": {"Exists": False},
    "list": {"ComparisonOperator": "IN", "AttributeValueList": [{"N": "1"}]},
}
CONDITION = {
    "ConditionExpression": "attribute_exists(#t) AND size(texts) > :n OR map.inner.deep IN (:s, :s)",
    "ExpressionAttributeNames": {"#t": "text"},
    "ExpressionAttributeValues": {":n": {"N": "1"}, ":s": {"S": "x"}},
    "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
}
RETURNS = {"ReturnValues": "ALL_OLD", "ReturnConsumedCapacity": "TOTAL", "ReturnItemCollectionMetrics": "SIZE"}
FILTER = {"text": {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": "é"}]}}
READ = {
    "ProjectionExpression": "#t, list[0], map.inner",
    "ExpressionAttributeNames": {"#t": "text"},
    "ConsistentRead": True,
    "ReturnConsumedCapacity": "INDEXES",
}
NEW_TABLE = {
    "TableName": "fuzzed-too",
    "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk", "other")],
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    "BillingMode": "PROVISIONED",
    "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1},
    "LocalSecondaryIndexes": [
        {
            "IndexName": "local",
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "other", "KeyType": "RANGE"}],
            "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["text"]},
        }
    ],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "global",
            "KeySchema": [{"AttributeName": "other", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
            "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1},
        }
    ],
    "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
    "SSESpecification": {"Enabled": True, "SSEType": "KMS"},
    "Tags": [{"Key": "a", "Value": "b"}],
    "TableClass": "STANDARD",
    "DeletionProtectionEnabled": False,
}
POLICY = json.dumps(
    {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Sid": "a",
                "Effect": "Allow",
                "Principal": {"AWS": ["000000000000"]},
                "Action": ["dynamodb:GetItem"],
                "Resource": ARN,
            }
        ],
    }
)
BODIES: dict[str, list[dict[str, Any]]] = {
    "PutItem": [
        {"TableName": TABLE, "Item": ITEM} | CONDITION | RETURNS,
        {"TableName": TABLE, "Item": ITEM, "Expected": EXPECTED, "ConditionalOperator": "OR"},
    ],
    "GetItem": [
        {"TableName": TABLE, "Key": KEY} | READ,
        {"TableName": ARN, "Key": KEY, "AttributesToGet": ["text", "list"]},
    ],
    "BatchGetItem": [
        {
            "RequestItems": {
                TABLE: {"Keys": [KEY, KEY | {"sk": {"N": "2"}}], "ConsistentRead": True}
                | {name: READ[name] for name in ("ProjectionExpression", "ExpressionAttributeNames")},
                ARN: {"Keys": [KEY | {"sk": {"N": "3"}}], "AttributesToGet": ["text", "list"]},
            },
            "ReturnConsumedCapacity": "INDEXES",
        },
        {"RequestItems": {ARN: {"Keys": [KEY]}}},
    ],
    "BatchWriteItem": [
        {
            "RequestItems": {
                TABLE: [
                    {"PutRequest": {"Item": ITEM}},
                    {"DeleteRequest": {"Key": KEY | {"sk": {"N": "2"}}}},
                    {"PutRequest": {"Item": ITEM | {"sk": {"N": "3"}}}},
                ]
            },
            "ReturnConsumedCapacity": "INDEXES",
            "ReturnItemCollectionMetrics": "SIZE",
        },
        {"RequestItems": {ARN: [{"PutRequest": {"Item": ITEM}}]}},
    ],
    "ExecuteStatement": [
        {
            "Statement": f'SELECT * FROM "{TABLE}" WHERE pk = ? AND "text" <> ?',
            "Parameters": [{"S": "a"}, {"L": [ITEM["flag"]]}],
            "ConsistentRead": True,
            "Limit": 1,
            "ReturnConsumedCapacity": "INDEXES",
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        },
        {"Statement": f'SELECT * FROM "{TABLE}"', "NextToken": "AAAA"},
    ],
    "BatchExecuteStatement": [
        {
            "Statements": [
                {
                    "Statement": f'UPDATE "{TABLE}" SET n = ? WHERE pk = ? AND sk = 1',
                    "Parameters": [{"N": "1"}, {"S": "a"}],
                },
                {
                    "Statement": f'DELETE FROM "{TABLE}" WHERE pk = ? AND sk = 2',
                    "Parameters": [{"S": "a"}],
                    "ConsistentRead": False,
                },
            ],
            "ReturnConsumedCapacity": "TOTAL",
        },
    ],
    "ExecuteTransaction": [
        {
            "TransactStatements": [
                {
                    "Statement": f'UPDATE "{TABLE}" SET n = ? WHERE pk = ? AND sk = 1',
                    "Parameters": [{"N": "1"}, {"S": "a"}],
                },
                {"Statement": f'DELETE FROM "{TABLE}" WHERE pk = ? AND sk = 2', "Parameters": [{"S": "a"}]},
            ],
            "ReturnConsumedCapacity": "TOTAL",
            "ClientRequestToken": "fuzzed-token",
        },
    ],
    "UpdateItem": [
        {
            "TableName": TABLE,
            "Key": KEY,
            "UpdateExpression": "SET n = if_not_exists(n, :n) + :n, map.inner.deep = :s REMOVE list[1] ADD numbers :t",
        }
        | CONDITION
        | RETURNS
        | {"ExpressionAttributeValues": {":n": {"N": "1"}, ":s": {"S": "x"}, ":t": {"NS": ["7"]}}},
        {
            "TableName": TABLE,
            "Key": KEY,
            "AttributeUpdates": {
                "text": {"Value": {"S": "y"}, "Action": "PUT"},
                "n": {"Value": {"N": "1"}, "Action": "ADD"},
                "none": {"Action": "DELETE"},
            },
            "Expected": EXPECTED,
            "ConditionalOperator": "OR",
            "ReturnValues": "UPDATED_NEW",
        },
    ],
    "DeleteItem": [
        {"TableName": TABLE, "Key": KEY} | CONDITION | RETURNS,
        {"TableName": TABLE, "Key": KEY, "Expected": EXPECTED, "ConditionalOperator": "AND"},
    ],
    "Query": [
        {
            "TableName": TABLE,
            "KeyConditionExpression": "pk = :pk AND sk BETWEEN :low AND :high",
            "FilterExpression": "contains(texts, :s) OR NOT begins_with(#t, :s)",
            "ExpressionAttributeValues": {":pk": {"S": "a"}, ":low": {"N": "0"}, ":high": {"N": "9"}, ":s": {"S": "a"}},
            "ExclusiveStartKey": KEY,
            "Limit": 5,
            "ScanIndexForward": False,
        }
        | READ,
        {
            "TableName": TABLE,
            "KeyConditions": {
                "pk": {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": "a"}]},
                "sk": {"ComparisonOperator": "GE", "AttributeValueList": [{"N": "0"}]},
            },
            "QueryFilter": FILTER,
            "AttributesToGet": ["text"],
            "Select": "SPECIFIC_ATTRIBUTES",
        },
    ],
    "SearchVectors": [
        {
            "TableName": TABLE,
            "IndexName": "vectors",
            "SearchVector": [{"N": "0.5"}, {"N": "-1"}],
            "TopK": 3,
            "SearchConditionExpression": "tenant = :t AND (#k > :n OR #k IN (:n, :m)) AND NOT begins_with(kind, :t)",
            "ExpressionAttributeNames": {"#k": "number", "#t": "text"},
            "ExpressionAttributeValues": {":t": {"S": "é"}, ":n": {"N": "1"}, ":m": {"N": "2"}},
            "ProjectionExpression": "#t, texts[0], pk",
            "ReturnConsumedCapacity": "INDEXES",
        },
        {"TableName": ARN, "IndexName": "others", "SearchVector": [{"N": "1"}, {"N": "1.50"}], "TopK": 100},
    ],
    "Scan": [
        {
            "TableName": TABLE,
            "FilterExpression": "size(#t) < :n AND attribute_type(list, :t)",
            "ExpressionAttributeValues": {":n": {"N": "5"}, ":t": {"S": "L"}},
            "Segment": 0,
            "TotalSegments": 2,
            "Limit": 3,
        }
        | READ,
        {"TableName": TABLE, "ScanFilter": FILTER, "Select": "COUNT", "ExclusiveStartKey": KEY},
    ],
    "CreateTable": [NEW_TABLE],
    "UpdateTable": [
        {
            "TableName": TABLE,
            "BillingMode": "PROVISIONED",
            "ProvisionedThroughput": {"ReadCapacityUnits": 2, "WriteCapacityUnits": 3},
        },
        {
            "TableName": TABLE,
            "AttributeDefinitions": [{"AttributeName": "other", "AttributeType": "S"}],
            "GlobalSecondaryIndexUpdates": [{"Create": NEW_TABLE["GlobalSecondaryIndexes"][0]}],  # type: ignore[index]
        },
    ],
    "DeleteTable": [{"TableName": "fuzzed-too"}],
    "DescribeTable": [{"TableName": TABLE}, {"TableName": ARN}],
    "ListTables": [{"Limit": 5, "ExclusiveStartTableName": "abc"}],
    "TransactWriteItems": [
        {
            "TransactItems": [
                {"Put": {"TableName": TABLE, "Item": ITEM} | CONDITION},
                {"Delete": {"TableName": ARN, "Key": KEY | {"sk": {"N": "2"}}}},
                {
                    "Update": {
                        "TableName": TABLE,
                        "Key": KEY | {"sk": {"N": "3"}},
                        "UpdateExpression": "ADD n :n REMOVE a.b[1]",
                    }
                    | {"ExpressionAttributeValues": {":n": {"N": "1"}}}
                },
            ],
            "ClientRequestToken": "token",
            "ReturnConsumedCapacity": "INDEXES",
        },
        {
            "TransactItems": [{"ConditionCheck": {"TableName": TABLE, "Key": KEY} | CONDITION}],
            "ReturnItemCollectionMetrics": "SIZE",
        },
    ],
    "TransactGetItems": [
        {
            "TransactItems": [
                {
                    "Get": {"TableName": TABLE, "Key": KEY}
                    | {"ProjectionExpression": "#t, list[0]", "ExpressionAttributeNames": {"#t": "text"}}
                },
                {"Get": {"TableName": ARN, "Key": KEY | {"sk": {"N": "2"}}}},
            ],
            "ReturnConsumedCapacity": "TOTAL",
        }
    ],
    "TagResource": [{"ResourceArn": ARN, "Tags": [{"Key": "a", "Value": "b"}]}],
    "UntagResource": [{"ResourceArn": ARN, "TagKeys": ["a"]}],
    "ListTagsOfResource": [{"ResourceArn": ARN, "NextToken": "x"}],
    "DescribeContinuousBackups": [{"TableName": TABLE}],
    "DescribeContributorInsights": [{"TableName": TABLE, "IndexName": "global"}, {"TableName": ARN}],
    "DescribeKinesisStreamingDestination": [{"TableName": TABLE}],
    "DescribeTableReplicaAutoScaling": [{"TableName": TABLE}],
    "DisableKinesisStreamingDestination": [{"TableName": TABLE, "StreamArn": DATA_STREAM_ARN}],
    "EnableKinesisStreamingDestination": [
        {
            "TableName": TABLE,
            "StreamArn": DATA_STREAM_ARN,
            "EnableKinesisStreamingConfiguration": {"ApproximateCreationDateTimePrecision": "MICROSECOND"},
        },
        {"TableName": ARN, "StreamArn": DATA_STREAM_ARN, "EnableKinesisStreamingConfiguration": {}},
    ],
    "UpdateContinuousBackups": [
        {"TableName": TABLE, "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": False}},
        {
            "TableName": ARN,
            "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True, "RecoveryPeriodInDays": 7},
        },
    ],
    "UpdateContributorInsights": [
        {"TableName": TABLE, "IndexName": "global", "ContributorInsightsAction": "DISABLE"},
        {"TableName": TABLE, "ContributorInsightsAction": "ENABLE", "ContributorInsightsMode": "THROTTLED_KEYS"},
    ],
    "DescribeTimeToLive": [{"TableName": TABLE}],
    "UpdateKinesisStreamingDestination": [
        {
            "TableName": TABLE,
            "StreamArn": DATA_STREAM_ARN,
            "UpdateKinesisStreamingConfiguration": {"ApproximateCreationDateTimePrecision": "MILLISECOND"},
        }
    ],
    "UpdateTimeToLive": [
        {"TableName": TABLE, "TimeToLiveSpecification": {"Enabled": True, "AttributeName": "expires"}}
    ],
    "GetResourcePolicy": [{"ResourceArn": ARN}],
    "PutResourcePolicy": [
        {
            "ResourceArn": ARN,
            "Policy": POLICY,
            "ExpectedRevisionId": "NO_POLICY",
            "ConfirmRemoveSelfResourceAccess": False,
        }
    ],
    "DeleteResourcePolicy": [{"ResourceArn": ARN, "ExpectedRevisionId": "1"}],
    "CreateBackup": [{"TableName": TABLE, "BackupName": "nightly"}, {"TableName": ARN, "BackupName": "nightly"}],
    "DeleteBackup": [{"BackupArn": BACKUP_ARN}],
    "DescribeBackup": [{"BackupArn": BACKUP_ARN}],
    "RestoreTableFromBackup": [
        {
            "TargetTableName": "fuzzed-too",
            "BackupArn": BACKUP_ARN,
            "BillingModeOverride": "PROVISIONED",
            "GlobalSecondaryIndexOverride": NEW_TABLE["GlobalSecondaryIndexes"],
            "LocalSecondaryIndexOverride": NEW_TABLE["LocalSecondaryIndexes"],
            "ProvisionedThroughputOverride": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1},
            "SSESpecificationOverride": {"Enabled": True, "SSEType": "KMS"},
        },
        {
            "TargetTableName": "fuzzed-too",
            "BackupArn": BACKUP_ARN,
            "OnDemandThroughputOverride": {"MaxReadRequestUnits": 5, "MaxWriteRequestUnits": -1},
        },
    ],
    "RestoreTableToPointInTime": [
        {"SourceTableName": TABLE, "TargetTableName": "fuzzed-too", "UseLatestRestorableTime": True},
        {"SourceTableArn": ARN, "TargetTableName": "fuzzed-too", "RestoreDateTime": 1.5}
        | {"GlobalSecondaryIndexOverride": [], "BillingModeOverride": "PAY_PER_REQUEST"},
    ],
    "ListBackups": [
        {
            "TableName": TABLE,
            "Limit": 5,
            "TimeRangeLowerBound": 0,
            "TimeRangeUpperBound": 1.5,
            "ExclusiveStartBackupArn": BACKUP_ARN,
            "BackupType": "ALL",
        }
    ],
    "ListBulkOperations": [{"MaxResults": 5, "NextToken": "0123456789abcdef"}],
    "ListContributorInsights": [{"TableName": TABLE, "MaxResults": 5}],
    "ListExports": [{"TableArn": ARN, "MaxResults": 5, "NextToken": "MDE3"}],
    "DescribeExport": [{"ExportArn": f"{ARN}/export/01234567890123-0123abcd"}],
    "ExportTableToPointInTime": [
        {
            "TableArn": ARN,
            "ExportTime": 1.5,
            "ClientToken": "token",
            "S3Bucket": "bucket",
            "S3BucketOwner": "000000000000",
            "S3Prefix": "nightly",
            "S3SseAlgorithm": "KMS",
            "S3SseKmsKeyId": "key",
            "ExportFormat": "ION",
            "ExportType": "FULL_EXPORT",
            "FilterSpecification": {
                "FilterExpression": "#n = :n",
                "ProjectionExpression": "#n",
                "KeyConditionExpression": "id = :i",
                "ExpressionAttributeNames": {"#n": "n"},
                "ExpressionAttributeValues": {":n": {"N": "1"}, ":i": {"S": "1"}},
            },
        },
        {
            "TableArn": ARN,
            "S3Bucket": "bucket",
            "ExportType": "INCREMENTAL_EXPORT",
            "IncrementalExportSpecification": {
                "ExportFromTime": 1.5,
                "ExportToTime": 5000,
                "ExportViewType": "NEW_IMAGE",
            },
        },
    ],
    "CancelBulkOperation": [{"BulkOperationArn": f"{ARN}/bulk-operation/01234567890123-0123abcd"}],
    "DescribeBulkOperation": [{"BulkOperationArn": f"{ARN}/bulk-operation/01234567890123-0123abcd"}],
    "StartBulkPutItems": [
        {
            "ClientToken": "token",
            "InputS3Configuration": {
                "S3BucketOwner": "000000000000",
                "S3Bucket": "bucket",
                "S3KeyPrefix": "in/",
                "InputFormat": "DYNAMODB_JSON",
                "InputCompressionType": "GZIP",
            },
            "OutputS3Configuration": {
                "S3BucketOwner": "000000000000",
                "S3Bucket": "bucket",
                "S3KeyPrefix": "out",
                "S3SseAlgorithm": "KMS",
                "S3SseKmsKeyId": "key",
                "OutputType": ["ERROR", "CONDITION_CHECK_FAILURE"],
            },
            "TableName": TABLE,
            "MaxWriteRequestUnits": 1024,
            "PerformanceTier": "ACCELERATED",
        }
    ],
    "DescribeImport": [{"ImportArn": f"{ARN}/import/01234567890123-0123abcd"}],
    "ImportTable": [
        {
            "ClientToken": "token",
            "S3BucketSource": {"S3BucketOwner": "000000000000", "S3Bucket": "bucket", "S3KeyPrefix": "in/"},
            "InputFormat": "CSV",
            "InputFormatOptions": {"Csv": {"Delimiter": ";", "HeaderList": ["id", "n"]}},
            "InputCompressionType": "GZIP",
            "TableCreationParameters": {
                "TableName": "imported",
                "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
                "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
                "BillingMode": "PROVISIONED",
                "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1},
                "SSESpecification": {"Enabled": False},
            },
        },
        {
            "S3BucketSource": {"S3Bucket": "bucket"},
            "InputFormat": "DYNAMODB_JSON",
            "TableCreationParameters": {
                "TableName": "imported",
                "AttributeDefinitions": [
                    {"AttributeName": "id", "AttributeType": "S"},
                    {"AttributeName": "n", "AttributeType": "N"},
                ],
                "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
                "BillingMode": "PAY_PER_REQUEST",
                "OnDemandThroughput": {"MaxReadRequestUnits": 5, "MaxWriteRequestUnits": 5},
                "GlobalSecondaryIndexes": [
                    {
                        "IndexName": "by-n",
                        "KeySchema": [{"AttributeName": "n", "KeyType": "HASH"}],
                        "Projection": {"ProjectionType": "ALL"},
                    }
                ],
            },
        },
    ],
    "ListGlobalTables": [{"ExclusiveStartGlobalTableName": "abc", "Limit": 5, "RegionName": "us-east-1"}],
    "ListImports": [{"TableArn": ARN, "PageSize": 5, "NextToken": "0123456789abcdef" * 7}],
    "DescribeEndpoints": [{}],
    "DescribeLimits": [{}],
    "ListStreams": [{"TableName": TABLE, "Limit": 5, "ExclusiveStartStreamArn": STREAM_ARN}],
    "DescribeStream": [
        {"StreamArn": STREAM_ARN, "Limit": 5, "ExclusiveStartShardId": SHARD_ID},
        {"StreamArn": STREAM_ARN, "ShardFilter": {"Type": "CHILD_SHARDS", "ShardId": SHARD_ID}},
    ],
    "GetShardIterator": [
        {
            "StreamArn": STREAM_ARN,
            "ShardId": SHARD_ID,
            "ShardIteratorType": "AT_SEQUENCE_NUMBER",
            "SequenceNumber": "1" * 23,
        },
        {"StreamArn": STREAM_ARN, "ShardId": SHARD_ID, "ShardIteratorType": "AT_TIMESTAMP", "Timestamp": 1.5},
    ],
    "GetRecords": [{"ShardIterator": f"{STREAM_ARN}|1|AQAAAAABAAAAAQ==", "Limit": 5}],
}

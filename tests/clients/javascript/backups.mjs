// Backups, recovery, an export, imports and a bulk put with the AWS SDK for JavaScript v3, and S3 with its helpers (objects.mjs).
// Prints what it has heard as JSON.
//
// Service time stands still, except where this program moves it, so nothing depends on the machine's speed.
import {
  CreateBackupCommand, CreateTableCommand, DeleteBackupCommand, DescribeBackupCommand, DescribeContinuousBackupsCommand, DescribeTableCommand,
  DynamoDBClient, ExportTableToPointInTimeCommand, ImportTableCommand, ListBackupsCommand, paginateListExports, paginateListImports,
  RestoreTableFromBackupCommand, RestoreTableToPointInTimeCommand, StartBulkPutItemsCommand, UpdateContinuousBackupsCommand,
  waitUntilBulkOperationCompleted, waitUntilExportCompleted, waitUntilImportCompleted, waitUntilTableExists,
} from "@aws-sdk/client-dynamodb";
import { S3Client } from "@aws-sdk/client-s3";
import { BatchWriteCommand, DeleteCommand, DynamoDBDocumentClient, paginateScan, PutCommand, UpdateCommand } from "@aws-sdk/lib-dynamodb";
import { createHash } from "node:crypto";
import { gunzipSync } from "node:zlib";
import { Objects } from "./objects.mjs";

const TABLE = "orders";
const DEFINITION = {
  KeySchema: [{ AttributeName: "id", KeyType: "HASH" }],
  AttributeDefinitions: [{ AttributeName: "id", AttributeType: "S" }],
  BillingMode: "PAY_PER_REQUEST",
};
const FIRST = [
  { id: "a", n: 1, note: "Zürich ☕", tags: new Set(["x", "y"]) },
  { id: "b", n: 2, data: new Uint8Array([0, 255]) },
  { id: "c", n: 3 },
];
const NEW = { ConditionExpression: "attribute_not_exists(id)" };

const [, , endpoint, bucket] = process.argv;
const options = { endpoint, region: "eu-west-1", credentials: { accessKeyId: "key", secretAccessKey: "secret" } };
const client = new DynamoDBClient(options);
const documents = DynamoDBDocumentClient.from(client);
const objects = new Objects(new S3Client({ ...options, forcePathStyle: true }), bucket);
const waiting = { client, maxWaitTime: 60, minDelay: 0.02, maxDelay: 0.1 };

const advance = (seconds) => fetch(`${endpoint}/_hashrange/v1/clock/advance`, { method: "POST", body: JSON.stringify({ seconds }) });

/** All items of a table in the order of their ids; sets as lists, bytes in base64. */
async function items(TableName) {
  const found = [];
  for await (const page of paginateScan({ client: documents, pageSize: 2 }, { TableName })) found.push(...page.Items);
  const plain = (value) => (value instanceof Set ? [...value].sort() : value instanceof Uint8Array ? Buffer.from(value).toString("base64") : value);
  return found.sort((one, other) => (one.id < other.id ? -1 : 1))
    .map((item) => Object.fromEntries(Object.entries(item).map(([name, value]) => [name, plain(value)])));
}

async function refusal(work) {
  try {
    await work();
    return null;
  } catch (error) {
    return error.name;
  }
}

async function makeTable() {
  await client.send(new CreateTableCommand({ TableName: TABLE, ...DEFINITION }));
  await waitUntilTableExists(waiting, { TableName: TABLE });
  await documents.send(new BatchWriteCommand({ RequestItems: { [TABLE]: FIRST.map((Item) => ({ PutRequest: { Item } })) } }));
}

async function backup() {
  let { BackupDetails: details } = await client.send(new CreateBackupCommand({ TableName: TABLE, BackupName: "before" }));
  const { BackupArn } = details;
  while (details.BackupStatus === "CREATING") {
    details = (await client.send(new DescribeBackupCommand({ BackupArn }))).BackupDescription.BackupDetails;
  }
  const { BackupSummaries } = await client.send(new ListBackupsCommand({ TableName: TABLE }));
  const add = { UpdateExpression: "ADD n :nine", ExpressionAttributeValues: { ":nine": 9 } };
  await documents.send(new UpdateCommand({ TableName: TABLE, Key: { id: "a" }, ...add }));
  await documents.send(new DeleteCommand({ TableName: TABLE, Key: { id: "b" } }));
  await documents.send(new PutCommand({ TableName: TABLE, Item: { id: "d", n: 4 } }));
  const { TableDescription } = await client.send(new RestoreTableFromBackupCommand({ TargetTableName: "from-backup", BackupArn }));
  await waitUntilTableExists(waiting, { TableName: "from-backup" });
  return {
    status: details.BackupStatus,
    listed: BackupSummaries.map((one) => [one.BackupName, one.BackupType]),
    isSource: TableDescription.RestoreSummary.SourceBackupArn === BackupArn,
    items: await items("from-backup"),
    deleted: (await client.send(new DeleteBackupCommand({ BackupArn }))).BackupDescription.BackupDetails.BackupStatus,
    refused: await refusal(() => client.send(new DescribeBackupCommand({ BackupArn }))),
  };
}

async function recovery() {
  const on = { TableName: TABLE, PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true, RecoveryPeriodInDays: 7 } };
  await client.send(new UpdateContinuousBackupsCommand(on));
  await advance(10);
  const described = await client.send(new DescribeContinuousBackupsCommand({ TableName: TABLE }));
  const window = described.ContinuousBackupsDescription.PointInTimeRecoveryDescription;
  await advance(10);
  await documents.send(new DeleteCommand({ TableName: TABLE, Key: { id: "c" } }));
  await documents.send(new PutCommand({ TableName: TABLE, Item: { id: "e", n: 5 } }));
  const restore = (TargetTableName, RestoreDateTime) =>
    client.send(new RestoreTableToPointInTimeCommand({ SourceTableName: TABLE, TargetTableName, RestoreDateTime }));
  await restore("at-time", window.LatestRestorableDateTime);
  await waitUntilTableExists(waiting, { TableName: "at-time" });
  return {
    window: [window.PointInTimeRecoveryStatus, window.RecoveryPeriodInDays],
    items: await items("at-time"),
    refused: await refusal(() => restore("too-early", new Date(window.EarliestRestorableDateTime - 3600_000))),
  };
}

/** Returns the key below which the data files are. */
async function exported(heard) {
  const { Table } = await client.send(new DescribeTableCommand({ TableName: TABLE }));
  const asked = { TableArn: Table.TableArn, S3Bucket: bucket, S3Prefix: "nightly", ClientToken: "one", ExportFormat: "DYNAMODB_JSON" };
  const { ExportDescription: { ExportArn } } = await client.send(new ExportTableToPointInTimeCommand(asked));
  const { reason: { ExportDescription: told } } = await waitUntilExportCompleted(waiting, { ExportArn });
  const summary = JSON.parse(await objects.read(told.ExportManifest));
  const lines = (await objects.read(summary.manifestFilesS3Key)).toString().trim().split("\n");
  const ids = [];
  let isSound = true;
  for (const file of lines.map((line) => JSON.parse(line))) {
    const content = await objects.read(file.dataFileS3Key);
    isSound &&= createHash("md5").update(content).digest("base64") === file.md5Checksum;
    ids.push(...gunzipSync(content).toString().trim().split("\n").filter(Boolean).map((line) => JSON.parse(line).Item.id.S));
  }
  const listed = [];
  for await (const page of paginateListExports({ client, pageSize: 1 }, {})) listed.push(...page.ExportSummaries.map((one) => one.ExportStatus));
  heard.exported = { status: told.ExportStatus, count: told.ItemCount, summed: summary.itemCount, ids: ids.sort(), isSound, listed };
  return told.ExportManifest.replace("manifest-summary.json", "data/");
}

async function imported(S3KeyPrefix) {
  const begin = async (TableName, S3Bucket) => {
    const asked = {
      S3BucketSource: { S3Bucket, S3KeyPrefix }, InputFormat: "DYNAMODB_JSON", InputCompressionType: "GZIP",
      TableCreationParameters: { TableName, ...DEFINITION },
    };
    return (await client.send(new ImportTableCommand(asked))).ImportTableDescription.ImportArn;
  };
  const { reason: { ImportTableDescription: told } } = await waitUntilImportCompleted(waiting, { ImportArn: await begin("copy", bucket) });
  const failing = await begin("nothing", "no-such-bucket");
  const failed = await waitUntilImportCompleted(waiting, { ImportArn: failing }).then(() => null, (error) => JSON.parse(error.message));
  const listed = [];
  for await (const page of paginateListImports({ client, pageSize: 1 }, {})) listed.push(...page.ImportSummaryList.map((one) => one.ImportStatus));
  return {
    status: told.ImportStatus,
    counts: [told.ProcessedItemCount, told.ImportedItemCount, told.ErrorCount],
    items: await items("copy"),
    failed: failed.reason.ImportTableDescription.FailureCode,
    listed: listed.sort(),
  };
}

async function bulk() {
  const records = [{ Item: { id: { S: "f" }, n: { N: "6" } } }, { Item: { id: { S: "a" } }, ...NEW }, { Item: { n: { N: "7" } } }];
  await objects.write("bulk/1.json", records.map((record) => JSON.stringify(record)).join("\n"));
  const { BulkOperationDescription: { BulkOperationArn } } = await client.send(new StartBulkPutItemsCommand({
    TableName: TABLE,
    InputS3Configuration: { S3Bucket: bucket, S3KeyPrefix: "bulk/", InputFormat: "DYNAMODB_JSON" },
    OutputS3Configuration: { S3Bucket: bucket, S3KeyPrefix: "reports", OutputType: ["ERROR", "CONDITION_CHECK_FAILURE"] },
  }));
  const { reason: { BulkOperationDescription: told } } = await waitUntilBulkOperationCompleted(waiting, { BulkOperationArn });
  const reported = {};
  for (const key of await objects.keys("reports/")) {
    const [, kind] = /(error|condition-check-failure)\//.exec(key);
    reported[kind] = JSON.parse(gunzipSync(await objects.read(key))).Line;
  }
  return { status: told.BulkOperationStatus, counts: [told.ProcessedItemCount, told.FailedItemCount], reported, items: await items(TABLE) };
}

const heard = {};
await objects.makeBucket();
await makeTable();
heard.backup = await backup();
heard.recovery = await recovery();
heard.imported = await imported(await exported(heard));
heard.bulk = await bulk();
heard.objects = await objects.use();
console.log(JSON.stringify(heard));

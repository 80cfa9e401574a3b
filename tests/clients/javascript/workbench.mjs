// What NoSQL Workbench asks of a local connection: tables, their descriptions, pages of items, statements, one item changed.
//
// Arguments: endpoint, Region, session token (may be empty). Prints what it has read as JSON.

import { BatchExecuteStatementCommand, DescribeTableCommand, DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { ExecuteStatementCommand, ListTablesCommand, PutItemCommand, QueryCommand, ScanCommand } from "@aws-sdk/client-dynamodb";

const [endpoint, region, sessionToken] = process.argv.slice(2);
const credentials = { accessKeyId: "local", secretAccessKey: "local", ...(sessionToken ? { sessionToken } : {}) };
const client = new DynamoDBClient({ endpoint, region, credentials, maxAttempts: 1 });

const tables = [];
for (let last; ; ) {
  const page = await client.send(new ListTablesCommand({ ExclusiveStartTableName: last, Limit: 1 }));
  tables.push(...page.TableNames);
  last = page.LastEvaluatedTableName;
  if (last === undefined) break;
}

const described = [];
for (const TableName of tables) {
  const { Table } = await client.send(new DescribeTableCommand({ TableName }));
  described.push([Table.TableName, Table.TableStatus, Table.ItemCount, Table.KeySchema.map((part) => part.AttributeName)]);
}

const pages = [];
for (let ExclusiveStartKey; ; ) {
  const page = await client.send(
    new ScanCommand({ TableName: "Songs", Limit: 3, ExclusiveStartKey, ReturnConsumedCapacity: "TOTAL" }),
  );
  pages.push([page.Count, page.ConsumedCapacity.CapacityUnits]);
  ExclusiveStartKey = page.LastEvaluatedKey;
  if (ExclusiveStartKey === undefined) break;
}

const key = { ":artist": { S: "The Loops" } };
const query = { TableName: "Songs", KeyConditionExpression: "artist = :artist", ExpressionAttributeValues: key };
const queried = await client.send(new QueryCommand({ ...query, ScanIndexForward: false, Limit: 1 }));

const selected = [];
for (let NextToken; ; ) {
  const Statement = 'SELECT title FROM "Songs" WHERE artist = ?';
  const asked = { Statement, Parameters: [key[":artist"]], Limit: 2, NextToken };
  const page = await client.send(new ExecuteStatementCommand(asked));
  selected.push(...page.Items.map((item) => item.title.S));
  NextToken = page.NextToken;
  if (NextToken === undefined) break;
}

const added = `{'artist': 'Added', 'title': '${sessionToken ? "with" : "without"} a token'}`;
await client.send(new ExecuteStatementCommand({ Statement: `INSERT INTO "Songs" VALUE ${added}` }));
const Statements = [{ Statement: `SELECT * FROM "Songs" WHERE artist = 'Added' AND title = 'none'` }, { Statement: "SELECT" }];
const { Responses } = await client.send(new BatchExecuteStatementCommand({ Statements }));

const refusals = [];
for (const refused of [
  new DescribeTableCommand({ TableName: "Missing" }),
  new ExecuteStatementCommand({ Statement: "SELEC * FROM Songs" }),
  new PutItemCommand({ TableName: "Songs", Item: { artist: { S: "No title" } } }),
]) {
  const failed = await client.send(refused).catch((error) => error);
  refusals.push([failed.name, failed.message]);
}

const read = { tables, described, pages, queried: queried.Items.map((item) => item.title.S), selected };
console.log(JSON.stringify({ ...read, batch: Responses.map((one) => one.Error?.Code ?? null), refusals }));

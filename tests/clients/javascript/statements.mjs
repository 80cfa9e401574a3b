// A playlist with the DocumentClient's PartiQL commands: plain values in, plain values out. Prints what it heard, as JSON.

import { CreateTableCommand, DuplicateItemException, DynamoDBClient, TransactionCanceledException } from "@aws-sdk/client-dynamodb";
import { waitUntilTableExists } from "@aws-sdk/client-dynamodb";
import { BatchExecuteStatementCommand, DynamoDBDocumentClient, ExecuteStatementCommand } from "@aws-sdk/lib-dynamodb";
import { ExecuteTransactionCommand } from "@aws-sdk/lib-dynamodb";

const credentials = { accessKeyId: "key", secretAccessKey: "secret" };
const client = new DynamoDBClient({ endpoint: process.argv[2], region: "eu-west-1", credentials });
const documents = DynamoDBDocumentClient.from(client);
const heard = {};

const execute = (Statement, Parameters, options) =>
  documents.send(new ExecuteStatementCommand({ Statement, Parameters, ConsistentRead: true, ...options }));
const nameOf = (type) => (error) => (error instanceof type ? error.name : `${error}`);

await client.send(
  new CreateTableCommand({
    TableName: "Music",
    BillingMode: "PAY_PER_REQUEST",
    AttributeDefinitions: [
      { AttributeName: "Artist", AttributeType: "S" },
      { AttributeName: "Song", AttributeType: "S" },
    ],
    KeySchema: [
      { AttributeName: "Artist", KeyType: "HASH" },
      { AttributeName: "Song", KeyType: "RANGE" },
    ],
  }),
);
await waitUntilTableExists({ client, minDelay: 1, maxWaitTime: 20 }, { TableName: "Music" });

const insert = "INSERT INTO \"Music\" VALUE {'Artist': ?, 'Song': ?, 'About': ?}";
for (let number = 1; number <= 5; number++) {
  await execute(insert, ["The Loops", `Song ${number}`, { plays: number, tags: new Set(["a", "b"]), cover: null }]);
}
heard.again = await execute(insert, ["The Loops", "Song 1", {}]).catch(nameOf(DuplicateItemException));

heard.pages = [];
let NextToken;
do {
  const page = await execute('SELECT * FROM "Music" WHERE "Artist" = ? AND "About"."plays" > ?', ["The Loops", 1], { Limit: 2, NextToken });
  heard.pages.push(page.Items.map((item) => item.About.plays));
  NextToken = page.NextToken;
} while (NextToken);

const updated = await execute(
  'UPDATE "Music" SET "About".plays = "About".plays + ? SET "About".tags = set_delete("About".tags, ?) WHERE "Artist" = ? AND "Song" = ? RETURNING MODIFIED NEW *',
  [40, new Set(["b"]), "The Loops", "Song 2"],
);
heard.updated = updated.Items.map((item) => [item.About.plays, [...item.About.tags]]);
heard.flat = (await execute('SELECT "About".plays FROM "Music" WHERE "Artist" = ? AND "Song" = ?', ["The Loops", "Song 2"])).Items;

const batch = await documents.send(
  new BatchExecuteStatementCommand({
    Statements: ["Song 1", "Song 9"].map((song) => ({
      Statement: 'SELECT "Song" FROM "Music" WHERE "Artist" = ? AND "Song" = ?',
      Parameters: ["The Loops", song],
      ConsistentRead: true,
    })),
  }),
);
heard.batch = batch.Responses.map((response) => response.Item?.Song ?? null);

const remove = { Statement: 'DELETE FROM "Music" WHERE "Artist" = ? AND "Song" = ?', Parameters: ["The Loops", "Song 1"] };
const exists = (song) => ({
  Statement: 'EXISTS(SELECT * FROM "Music" WHERE "Artist" = ? AND "Song" = ? AND "About" IS NOT MISSING)',
  Parameters: ["The Loops", song],
});
const transact = (...TransactStatements) => documents.send(new ExecuteTransactionCommand({ TransactStatements }));
heard.cancelled = await transact(remove, exists("Song 9")).catch((error) =>
  error instanceof TransactionCanceledException ? error.CancellationReasons.map((reason) => reason.Code) : `${error}`,
);
await transact(remove, exists("Song 2"));
heard.left = (await execute('SELECT "Song" FROM "Music" WHERE "Artist" = ? ORDER BY "Song" DESC', ["The Loops"])).Items.map((item) => item.Song);

console.log(JSON.stringify(heard));
client.destroy();

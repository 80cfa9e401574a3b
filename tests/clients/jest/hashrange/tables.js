// Creates the application's tables before a test, and deletes them after it.
const { CreateTableCommand, DeleteTableCommand, DynamoDBClient, ListTablesCommand } = require("@aws-sdk/client-dynamodb");

const TABLES = [
  {
    TableName: "Orders",
    KeySchema: [
      { AttributeName: "customer", KeyType: "HASH" },
      { AttributeName: "number", KeyType: "RANGE" },
    ],
    AttributeDefinitions: [
      { AttributeName: "customer", AttributeType: "S" },
      { AttributeName: "number", AttributeType: "N" },
    ],
    BillingMode: "PAY_PER_REQUEST",
  },
];
const client = new DynamoDBClient({});

async function createTables() {
  await Promise.all(TABLES.map((table) => client.send(new CreateTableCommand(table))));
}

async function deleteTables() {
  await Promise.all(TABLES.map(({ TableName }) => client.send(new DeleteTableCommand({ TableName }))));
}

async function tableNames(client) {
  return (await client.send(new ListTablesCommand({}))).TableNames;
}

module.exports = { createTables, deleteTables, tableNames };

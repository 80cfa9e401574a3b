// The data that every test begins with.
import { CreateTableCommand } from "@aws-sdk/client-dynamodb";
import { BatchWriteCommand, DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";

import { makeClient } from "./client.js";

const NAMES = ["anvil", "bellows", "chisel", "drill", "engine"];

export async function loadProducts(endpoint) {
  const client = makeClient(endpoint);
  await client.send(
    new CreateTableCommand({
      TableName: "Products",
      KeySchema: [{ AttributeName: "name", KeyType: "HASH" }],
      AttributeDefinitions: [{ AttributeName: "name", AttributeType: "S" }],
      BillingMode: "PAY_PER_REQUEST",
    }),
  );
  const requests = NAMES.map((name) => ({ PutRequest: { Item: { name, stock: 10 } } }));
  await DynamoDBDocumentClient.from(client).send(new BatchWriteCommand({ RequestItems: { Products: requests } }));
  client.destroy();
}

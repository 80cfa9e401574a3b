// Documents in a table with a vector index, which are searched. Prints what it heard, as JSON.

import { CreateTableCommand, DynamoDBClient, PutItemCommand, SearchVectorsCommand } from "@aws-sdk/client-dynamodb";
import { waitUntilTableExists } from "@aws-sdk/client-dynamodb";

const credentials = { accessKeyId: "key", secretAccessKey: "secret" };
const client = new DynamoDBClient({ endpoint: process.argv[2], region: "eu-west-1", credentials });
const TableName = "Documents";
const numbers = (...elements) => elements.map((element) => ({ N: `${element}` }));

await client.send(
  new CreateTableCommand({
    TableName,
    BillingMode: "PAY_PER_REQUEST",
    KeySchema: [{ AttributeName: "id", KeyType: "HASH" }],
    AttributeDefinitions: [
      { AttributeName: "id", AttributeType: "S" },
      { AttributeName: "shelf", AttributeType: "S" },
    ],
    VectorIndexes: [
      {
        IndexName: "by-meaning",
        VectorAttribute: { AttributeName: "embedding" },
        Dimensions: 2,
        DistanceFunction: "EUCLIDEAN",
        SearchSchema: [{ AttributeName: "shelf", SearchSchemaElementType: "HASH" }],
        Projection: { ProjectionType: "KEYS_ONLY" },
      },
    ],
  }),
);
await waitUntilTableExists({ client, minDelay: 1, maxWaitTime: 20 }, { TableName });
const documents = [
  ["near", "a", 1, 0.5],
  ["far", "a", 4, 4.5],
  ["elsewhere", "b", 1, 0.5],
];
for (const [id, shelf, ...vector] of documents) {
  const Item = { id: { S: id }, shelf: { S: shelf }, embedding: { L: numbers(...vector) }, text: { S: "x" } };
  await client.send(new PutItemCommand({ TableName, Item }));
}

const search = (...vector) =>
  client.send(
    new SearchVectorsCommand({
      TableName,
      IndexName: "by-meaning",
      SearchVector: numbers(...vector),
      TopK: 5,
      SearchConditionExpression: "shelf = :shelf",
      ExpressionAttributeValues: { ":shelf": { S: "a" } },
      ReturnConsumedCapacity: "TOTAL",
    }),
  );
const found = await search(1, 0.5);
const heard = {
  found: found.SearchResults.map((one) => [one.Item.id.S, Object.keys(one.Item).sort(), one.Score]),
  bytes: found.ConsumedCapacity.VectorSearchRequestBytes,
  refused: await search(1).catch((error) => [error.name, error.message]),
};
console.log(JSON.stringify(heard));
client.destroy();

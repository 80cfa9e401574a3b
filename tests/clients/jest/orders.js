// The application that is tested. It knows nothing of the tests: its client is configured by the environment.
const { DynamoDBClient } = require("@aws-sdk/client-dynamodb");
const { DynamoDBDocumentClient, PutCommand, QueryCommand } = require("@aws-sdk/lib-dynamodb");

const client = DynamoDBDocumentClient.from(new DynamoDBClient({}));

async function placeOrder(customer, number, total) {
  await client.send(
    new PutCommand({
      TableName: "Orders",
      Item: { customer, number, total },
      ConditionExpression: "attribute_not_exists(customer)",
    }),
  );
}

async function ordersOf(customer) {
  const { Items } = await client.send(
    new QueryCommand({
      TableName: "Orders",
      KeyConditionExpression: "customer = :customer",
      ExpressionAttributeValues: { ":customer": customer },
      ScanIndexForward: false,
    }),
  );
  return Items;
}

module.exports = { placeOrder, ordersOf };

// The application that is tested. It is given its client.
import { DeleteCommand, ScanCommand, UpdateCommand } from "@aws-sdk/lib-dynamodb";

const TableName = "Products";

export async function sell(client, name, count) {
  const { Attributes } = await client.send(
    new UpdateCommand({
      TableName,
      Key: { name },
      UpdateExpression: "SET stock = stock - :count",
      ConditionExpression: "stock >= :count",
      ExpressionAttributeValues: { ":count": count },
      ReturnValues: "UPDATED_NEW",
    }),
  );
  return Attributes.stock;
}

export async function retire(client, name) {
  await client.send(new DeleteCommand({ TableName, Key: { name } }));
}

export async function names(client) {
  const { Items } = await client.send(new ScanCommand({ TableName }));
  return Items.map((item) => item.name).sort();
}

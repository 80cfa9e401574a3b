// Takes what is ordered from the stock. Stock and movement change together, and once, however often a record comes.
//
// Lambda may deliver a batch again, as a whole or in halves, so that the transaction of each record is named after the record.

import { DynamoDBClient, TransactWriteItemsCommand } from "@aws-sdk/client-dynamodb";
import type { DynamoDBStreamHandler } from "aws-lambda";
import { imageOf, valueOf, type Item } from "./images.js";

const database = new DynamoDBClient({});

// Books each line of an order. Throws TransactionCanceledException for a product that the shop does not have.
export const handler: DynamoDBStreamHandler = async (event) => {
  for (const record of event.Records) await book(record.eventID, imageOf(record, "NewImage"));
};

// Books a line of an order, unless this event has been booked.
async function book(eventId: string | undefined, line: Item): Promise<void> {
  const product = { S: valueOf(line, "product") };
  const quantity = { N: valueOf(line, "quantity") };
  const stock = {
    TableName: "products",
    Key: { product },
    UpdateExpression: "SET stock = stock - :quantity",
    ConditionExpression: "attribute_exists(product)",
    ExpressionAttributeValues: { ":quantity": quantity },
  };
  const movement = { product, line: { S: `${valueOf(line, "order")}/${valueOf(line, "part")}` }, quantity };
  const TransactItems = [{ Update: stock }, { Put: { TableName: "movements", Item: movement } }];
  await database.send(new TransactWriteItemsCommand({ TransactItems, ClientRequestToken: eventId }));
}

// Confirms new orders: sends a mail and writes a confirmation. An order that cannot be confirmed is reported by its sequence number.
//
// May see an order again, so the mail service is told by the order's number which mails are the same, and the confirmation is too.

import { DynamoDBClient, PutItemCommand } from "@aws-sdk/client-dynamodb";
import type { DynamoDBBatchResponse, DynamoDBStreamHandler } from "aws-lambda";
import { imageOf, valueOf, type Item } from "./images.js";

const database = new DynamoDBClient({});

// Confirms the orders up to the first that fails: they come in the order of their numbers.
export const handler: DynamoDBStreamHandler = async (event): Promise<DynamoDBBatchResponse> => {
  for (const record of event.Records) {
    try {
      await confirm(imageOf(record, "NewImage"));
    } catch (error) {
      console.log("not confirmed:", error);
      return { batchItemFailures: [{ itemIdentifier: record.dynamodb?.SequenceNumber ?? "" }] };
    }
  }
  return { batchItemFailures: [] };
};

// Sends the mail, then writes the confirmation. Throws for an order without a total, and if the mail service does not take the mail.
async function confirm(order: Item): Promise<void> {
  const names = ["order", "customer", "total"];
  const mail = Object.fromEntries(names.map((name) => [name, valueOf(order, name)]));
  await sendMail(mail);
  const confirmation = Object.fromEntries(Object.entries(order).filter(([name]) => names.includes(name)));
  await database.send(new PutItemCommand({ TableName: "confirmations", Item: confirmation }));
}

async function sendMail(mail: Record<string, string>): Promise<void> {
  const headers = { "Content-Type": "application/json", "Idempotency-Key": mail.order ?? "" };
  const url = process.env.MAIL_URL ?? "";
  const reply = await fetch(url, { method: "POST", headers, body: JSON.stringify(mail) });
  if (!reply.ok) throw new Error(`The mail service answered ${reply.status}.`);
}

// Keeps the table `search`: an item for each word of a product's title and description, with which the product is found.
//
// The records of a product come in order, so that the last one decides about each of its words.

import { BatchWriteItemCommand, DynamoDBClient, type WriteRequest } from "@aws-sdk/client-dynamodb";
import type { DynamoDBStreamHandler } from "aws-lambda";
import { imageOf, valueOf, type Item } from "./images.js";

const database = new DynamoDBClient({});
const WRITES_MAX = 25; // of a BatchWriteItem

// Removes the words that products have lost, and adds those that they have got.
export const handler: DynamoDBStreamHandler = async (event) => {
  const changes = new Map<string, WriteRequest>();
  for (const record of event.Records) {
    const before = record.eventName === "INSERT" ? new Set<string>() : wordsOf(imageOf(record, "OldImage"));
    const after = record.eventName === "REMOVE" ? new Set<string>() : wordsOf(imageOf(record, "NewImage"));
    const product = valueOf(record.dynamodb?.Keys as Item, "product");
    const entry = (word: string) => ({ word: { S: word }, product: { S: product } });
    for (const word of before) {
      if (!after.has(word)) changes.set(`${word} ${product}`, { DeleteRequest: { Key: entry(word) } });
    }
    for (const word of after) {
      if (!before.has(word)) changes.set(`${word} ${product}`, { PutRequest: { Item: entry(word) } });
    }
  }
  const requests = [...changes.values()];
  for (let start = 0; start < requests.length; start += WRITES_MAX) {
    await write(requests.slice(start, start + WRITES_MAX));
  }
};

// The words with which a product is found.
function wordsOf(product: Item): Set<string> {
  return new Set(`${valueOf(product, "title")} ${valueOf(product, "description")}`.toLowerCase().match(/[a-z]+/g));
}

// Writes until all requests have been processed.
async function write(requests: WriteRequest[]): Promise<void> {
  let unprocessed: Record<string, WriteRequest[]> = { search: requests };
  while (Object.keys(unprocessed).length > 0) {
    const command = new BatchWriteItemCommand({ RequestItems: unprocessed });
    unprocessed = (await database.send(command)).UnprocessedItems ?? {};
  }
}

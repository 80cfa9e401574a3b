// How do the items of an event become items for the SDK? They have the same form, but for binary values, of which the shop has none.

import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import type { DynamoDBRecord } from "aws-lambda";

export type Item = Record<string, AttributeValue>;

// An image of a record whose event, or the stream's view type, says that it is there.
export function imageOf(record: DynamoDBRecord, name: "NewImage" | "OldImage"): Item {
  const image = record.dynamodb?.[name];
  if (!image) throw new Error(`The record has no ${name}.`);
  return image as Item;
}

// A text or number of an item.
export function valueOf(item: Item, name: string): string {
  const found = item[name]?.S ?? item[name]?.N;
  if (found === undefined) throw new Error(`The item has no ${name}.`);
  return found;
}

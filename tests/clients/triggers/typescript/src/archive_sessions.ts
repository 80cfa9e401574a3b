// Archives sessions that have expired. Its mapping filters by userIdentity, so that it sees no session that a client has deleted.

import { strictEqual } from "node:assert";
import { DynamoDBClient, PutItemCommand } from "@aws-sdk/client-dynamodb";
import type { DynamoDBStreamHandler } from "aws-lambda";
import { imageOf } from "./images.js";

const database = new DynamoDBClient({});

// Writes each deleted session into the archive.
export const handler: DynamoDBStreamHandler = async (event) => {
  for (const record of event.Records) {
    strictEqual(record.userIdentity?.principalId, "dynamodb.amazonaws.com");
    await database.send(new PutItemCommand({ TableName: "archive", Item: imageOf(record, "OldImage") }));
  }
};

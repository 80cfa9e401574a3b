import { DynamoDBClient } from "@aws-sdk/client-dynamodb";

export function makeClient(endpoint) {
  return new DynamoDBClient({
    endpoint,
    region: "us-east-1",
    credentials: { accessKeyId: "any", secretAccessKey: "any" },
  });
}

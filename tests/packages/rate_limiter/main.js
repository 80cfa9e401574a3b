// A limit of 4 points for each user: node main.js spends points and reports what remains, or when the limit was reached.

import { DynamoDB } from "@aws-sdk/client-dynamodb";
import { RateLimiterDynamo } from "rate-limiter-flexible";

const createLimiter = () =>
  new Promise((resolve, reject) => {
    const options = {
      storeClient: new DynamoDB(),
      dynamoTableOpts: { readCapacityUnits: 30, writeCapacityUnits: 30 },
      points: 4,
      duration: 3600,
    };
    const limiter = new RateLimiterDynamo(options, (error) => (error ? reject(error) : resolve(limiter)));
  });

const report = ({ remainingPoints, consumedPoints, isFirstInDuration }) => ({
  remainingPoints,
  consumedPoints,
  isFirstInDuration,
});
const limiter = await createLimiter();
const spend = (points) =>
  limiter.consume("user-id", points).then(report, (refused) => {
    if (refused instanceof Error) {
      throw refused;
    }
    return "refused";
  });

const spent = [await spend(2), await spend(2), await spend(1)];
const other = await createLimiter().then((second) => second.get("user-id"));
console.log(JSON.stringify({ spent, seenByOther: other?.consumedPoints ?? null }));

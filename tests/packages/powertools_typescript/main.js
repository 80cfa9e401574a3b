// A Lambda handler that takes a payment once per event, however often it is called.
//
// The program reports the number of payments taken by this process and what each call answered.

import { randomUUID } from "node:crypto";
import { IdempotencyConfig, makeIdempotent } from "@aws-lambda-powertools/idempotency";
import { DynamoDBPersistenceLayer } from "@aws-lambda-powertools/idempotency/dynamodb";

const persistenceStore = new DynamoDBPersistenceLayer({ tableName: "idempotencyTableName" });
const context = { getRemainingTimeInMillis: () => 30_000 };
let taken = 0;

const handler = makeIdempotent(
  async (event) => {
    if (event.again) {
      return await handler(event, context);
    }
    if (event.amount < 0 && taken === 0) {
      taken++;
      throw new Error("the card was refused");
    }
    taken++;
    return { paymentId: randomUUID(), statusCode: 200 };
  },
  { persistenceStore, config: new IdempotencyConfig({}) },
);

const answer = (event) => handler(event, context).catch((error) => error.name);
const refund = { user: "ada", amount: -5 };
const refused = await answer(refund);
const retried = await answer(refund);
const payment = { user: "ada", amount: 5 };
const first = await answer(payment);
const second = await answer(payment);
const other = await answer({ user: "ada", amount: 6 });
console.log(
  JSON.stringify({
    refused,
    retried: retried.statusCode,
    paymentId: first.paymentId,
    isRepeated: first.paymentId === second.paymentId,
    isOther: first.paymentId !== other.paymentId,
    meanwhile: await answer({ user: "bob", again: true }),
    taken,
  }),
);

// Locks of both kinds, each asked for by two clients; a lock that is not released expires if it is of the kind that fails open.

const AWS = require("aws-sdk");
const { promisify } = require("node:util");
const DynamoDBLockClient = require("dynamodb-lock-client");

const dynamodb = new AWS.DynamoDB.DocumentClient({ endpoint: process.env.AWS_ENDPOINT_URL_DYNAMODB });
const table = { dynamodb, lockTable: "my-lock-table-name", partitionKey: "mylocks" };
const failClosed = () => new DynamoDBLockClient.FailClosed({ ...table, acquirePeriodMs: 1e4, retryCount: 0 });
const failOpen = (options) => new DynamoDBLockClient.FailOpen({ ...table, leaseDurationMs: 1e3, ...options });

function acquire(client, id) {
  return promisify(client.acquireLock.bind(client))(id);
}

const refusal = (promise) => promise.then(() => "acquired", (error) => error.code);

async function closed() {
  const lock = await acquire(failClosed(), "my-fail-closed-lock");
  const refused = await refusal(acquire(failClosed(), "my-fail-closed-lock"));
  const free = await refusal(acquire(failClosed(), "another-lock"));
  await promisify(lock.release.bind(lock))();
  return { refused, free, afterRelease: await refusal(acquire(failClosed(), "my-fail-closed-lock")) };
}

async function open() {
  const lock = await acquire(failOpen({ heartbeatPeriodMs: 100 }), "my-fail-open-lock");
  const refused = await refusal(acquire(failOpen({ retryCount: 0 }), "my-fail-open-lock"));
  await promisify(lock.release.bind(lock))();
  const second = await acquire(failOpen({ heartbeatPeriodMs: undefined }), "my-fail-open-lock");
  const third = await acquire(failOpen({ heartbeatPeriodMs: undefined }), "my-fail-open-lock");
  return { refused, tokens: [lock.fencingToken, second.fencingToken, third.fencingToken] };
}

async function main() {
  return { closed: await closed(), open: await open() };
}

main().then((report) => console.log(JSON.stringify(report)));

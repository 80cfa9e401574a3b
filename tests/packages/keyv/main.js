// A cache in DynamoDB: node main.js write writes values, node main.js read reads those of an earlier run.
//
// node main.js clear empties a cache that is made without createKeyv. With createKeyv and a namespace, the adapter stores keys
// without a prefix, but clears only those that begin with the namespace, so nothing is cleared.

import KeyvDynamo, { createKeyv } from "@keyv/dynamo";
import Keyv from "keyv";

const endpoint = process.env.AWS_ENDPOINT_URL_DYNAMODB;
const keyv = createKeyv({ endpoint, tableName: "cacheTable", namespace: "my-app" });
const plain = new Keyv(new KeyvDynamo());
for (const cache of [keyv, plain]) {
  cache.on("error", (error) => console.error(error));
}

async function write() {
  await keyv.set("foo", "expires in an hour", 3_600_000);
  await keyv.set("bar", { kept: ["for", 6, "hours"] });
  await keyv.set("gone", true);
  const had = await keyv.has("gone");
  return { had, deleted: await keyv.delete("gone"), again: await keyv.delete("gone"), missing: await keyv.get("gone") };
}

const read = async () => ({ foo: await keyv.get("foo"), both: await keyv.get(["foo", "bar"]) });

async function clear() {
  await plain.set("foo", "again");
  const before = await plain.get("foo");
  await plain.clear();
  return { before, after: await plain.get("foo") };
}

const phases = { write, read, clear };
console.log(JSON.stringify(await phases[process.argv[2]](), (_, value) => value ?? null));

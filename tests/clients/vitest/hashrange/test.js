// A `test` whose `client` has a database of its own: a fork of the base data, on a port of its own.
import { DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";
import { test as base, inject } from "vitest";

import { makeClient } from "./client.js";

export const test = base.extend({
  client: async ({}, use) => {
    const forks = `${inject("hashrange")}/_hashrange/v1/forks`;
    const { endpoint, port } = await reply(await fetch(forks, { method: "POST" }));
    const client = makeClient(endpoint);
    await use(DynamoDBDocumentClient.from(client));
    client.destroy();
    await reply(await fetch(`${forks}/${port}`, { method: "DELETE" }));
  },
});

async function reply(response) {
  const body = await response.json();
  if (!response.ok) {
    throw new Error(body.error);
  }
  return body;
}

// Deploys functions and event source mappings, as a deployment script does: creates them, and waits until they are active and enabled.
//
// Usage: deploy.js <endpoint> < plan. The plan is JSON: functions, the members of CreateFunction with the path of a zip, and
// mappings, the members of CreateEventSourceMapping.

import { strictEqual } from "node:assert";
import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import {
  CreateEventSourceMappingCommand, CreateFunctionCommand, GetEventSourceMappingCommand, InvokeCommand, LambdaClient,
  waitUntilFunctionActiveV2, type CreateEventSourceMappingCommandInput, type CreateFunctionCommandInput,
} from "@aws-sdk/client-lambda";

interface Plan {
  functions: (Omit<CreateFunctionCommandInput, "Code"> & { FunctionName: string; zip: string })[];
  mappings: CreateEventSourceMappingCommandInput[];
}

const client = new LambdaClient({
  endpoint: process.argv[2] ?? "",
  region: "us-east-1",
  credentials: { accessKeyId: "key", secretAccessKey: "secret" },
});

async function createFunction({ zip, ...members }: Plan["functions"][number]): Promise<void> {
  const FunctionName = members.FunctionName;
  await client.send(new CreateFunctionCommand({ ...members, Code: { ZipFile: await readFile(zip) } }));
  await waitUntilFunctionActiveV2({ client, maxWaitTime: 60, minDelay: 1 }, { FunctionName });
  const reply = await client.send(new InvokeCommand({ FunctionName, Payload: JSON.stringify({ Records: [] }) }));
  strictEqual(reply.FunctionError, undefined, reply.Payload?.transformToString());
}

async function createMapping(members: CreateEventSourceMappingCommandInput): Promise<void> {
  let mapping = await client.send(new CreateEventSourceMappingCommand(members));
  while (mapping.State !== "Enabled") mapping = await client.send(new GetEventSourceMappingCommand({ UUID: mapping.UUID }));
}

const plan: Plan = JSON.parse(await text(process.stdin));
await Promise.all(plan.functions.map(createFunction));
await Promise.all(plan.mappings.map(createMapping));
client.destroy();

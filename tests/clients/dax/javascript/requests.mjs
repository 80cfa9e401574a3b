// The requests of ../requests.json through DAX and directly, with clients that take attribute values; prints what each heard, as JSON.

import { readFileSync } from "node:fs";

const KINDS = new Set(["B", "BS"]);

// Tables and steps of a side, with its names of tables.
export function requests(side) {
  return binary(JSON.parse(readFileSync("../requests.json", "utf-8").replaceAll("SIDE", side).replaceAll("LONG", "x".repeat(300_000))));
}

function binary(value) {
  if (Array.isArray(value)) return value.map(binary);
  if (value === null || typeof value !== "object") return value;
  const members = Object.entries(value);
  if (members.length === 1 && KINDS.has(members[0][0])) {
    const [kind, inner] = members[0];
    return { [kind]: kind === "B" ? Buffer.from(inner, "base64") : inner.map((one) => Buffer.from(one, "base64")) };
  }
  return Object.fromEntries(members.map(([name, inner]) => [name, binary(inner)]));
}

function plain(value) {
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64");
  if (Array.isArray(value)) return value.map(plain);
  if (value === null || typeof value !== "object") return value;
  const members = Object.entries(value).filter(([name, inner]) => name !== "$metadata" && inner !== undefined && inner !== null);
  return Object.fromEntries(members.map(([name, inner]) => [name, plain(inner)]));
}

// The reply to a step, that of each page, or the error. `send(call, request)` returns a promise.
async function heard(send, step) {
  const request = { ...step.request };
  const found = [];
  try {
    for (;;) {
      const reply = await send(step.call, request);
      found.push(plain(reply));
      if (!step.pages || !reply.LastEvaluatedKey) return found;
      request.ExclusiveStartKey = reply.LastEvaluatedKey;
    }
  } catch (error) {
    const code = error.name === "Error" ? error.code : error.name;
    const reasons = error.CancellationReasons ?? error.cancellationReasons;
    return { code: error.code ?? code, message: error.message, ...(reasons && { reasons: plain(reasons) }) };
  }
}

// `through`, `direct`: functions (call, request) → promise of the two clients.
export async function tell(through, direct) {
  const told = {};
  for (const [side, send] of Object.entries({ through, direct })) {
    const { tables, steps } = requests(side);
    for (const table of tables) await direct("CreateTable", table);
    const found = [];
    for (const step of steps) found.push(await heard(send, step));
    told[side] = JSON.parse(JSON.stringify(found).replaceAll(`${side}.`, "SIDE."));
  }
  process.stdout.write(JSON.stringify(told), () => process.exit(0));
}

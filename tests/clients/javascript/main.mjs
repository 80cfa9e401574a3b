// Reads a call per line, {"call": "placeOrder", "with": {…}}, and answers each with a line of JSON.

import { createInterface } from "node:readline";
import { Trade } from "./trade.mjs";

const shop = new Trade(process.argv[2]);
for await (const line of createInterface({ input: process.stdin })) {
  const step = JSON.parse(line);
  process.stdout.write(JSON.stringify(await shop[step.call](step.with)) + "\n");
}
shop.end();

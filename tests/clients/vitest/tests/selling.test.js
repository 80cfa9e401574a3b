import { expect } from "vitest";

import { test } from "../hashrange/test.js";
import { sell } from "../products.js";

test("a sale lowers the stock", async ({ client }) => {
  expect(await sell(client, "anvil", 4)).toBe(6);
});

test("every test begins with the whole stock", async ({ client }) => {
  expect(await sell(client, "anvil", 4)).toBe(6);
});

test("no more is sold than there is", async ({ client }) => {
  await sell(client, "anvil", 10);
  await expect(sell(client, "anvil", 1)).rejects.toThrow("The conditional request failed");
});

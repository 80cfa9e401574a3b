import { expect } from "vitest";

import { test } from "../hashrange/test.js";
import { names, retire } from "../products.js";

test("a product is retired", async ({ client }) => {
  await retire(client, "anvil");
  expect(await names(client)).toEqual(["bellows", "chisel", "drill", "engine"]);
});

test("every test begins with all products", async ({ client }) => {
  expect(await names(client)).toEqual(["anvil", "bellows", "chisel", "drill", "engine"]);
});

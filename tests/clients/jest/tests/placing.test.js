const { DynamoDBClient } = require("@aws-sdk/client-dynamodb");
const { createTables, deleteTables, tableNames } = require("../hashrange/tables");
const { ordersOf, placeOrder } = require("../orders");

beforeEach(createTables);
afterEach(deleteTables);

test("an order is placed", async () => {
  await placeOrder("ada", 1, 25);
  expect(await ordersOf("ada")).toEqual([{ customer: "ada", number: 1, total: 25 }]);
});

test("an order is placed once", async () => {
  await placeOrder("ada", 1, 25);
  await expect(placeOrder("ada", 1, 30)).rejects.toThrow("The conditional request failed");
  expect(await ordersOf("ada")).toEqual([{ customer: "ada", number: 1, total: 25 }]);
});

test("another access key has other tables", async () => {
  const other = new DynamoDBClient({ credentials: { accessKeyId: "999999999999", secretAccessKey: "any" } });
  expect(await tableNames(other)).toEqual([]);
  expect(await tableNames(new DynamoDBClient({}))).toEqual(["Orders"]);
});

const { DynamoDBClient } = require("@aws-sdk/client-dynamodb");
const { createTables, deleteTables, tableNames } = require("../hashrange/tables");
const { ordersOf, placeOrder } = require("../orders");

beforeEach(createTables);
afterEach(deleteTables);

test("a customer has no orders at first", async () => {
  expect(await ordersOf("ada")).toEqual([]);
});

test("the latest order comes first", async () => {
  for (const number of [1, 2, 10]) {
    await placeOrder("ada", number, 25);
  }
  expect((await ordersOf("ada")).map((order) => order.number)).toEqual([10, 2, 1]);
});

test("another Region has other tables", async () => {
  const other = new DynamoDBClient({ region: "eu-west-1" });
  expect(await tableNames(other)).toEqual([]);
  expect(await tableNames(new DynamoDBClient({}))).toEqual(["Orders"]);
});

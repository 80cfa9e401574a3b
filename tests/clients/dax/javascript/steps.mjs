// What the shop does, with a document client: each step is a function of the client's methods. The same requests go through DAX and directly.

export const TABLES = ["through-dax", "directly"];
export const TABLE_OPTIONS = {
  KeySchema: [{ AttributeName: "pk", KeyType: "HASH" }, { AttributeName: "sk", KeyType: "RANGE" }],
  AttributeDefinitions: [
    { AttributeName: "pk", AttributeType: "S" },
    { AttributeName: "sk", AttributeType: "N" },
    { AttributeName: "kind", AttributeType: "S" },
  ],
  GlobalSecondaryIndexes: [{
    IndexName: "kinds",
    KeySchema: [{ AttributeName: "kind", KeyType: "HASH" }, { AttributeName: "sk", KeyType: "RANGE" }],
    Projection: { ProjectionType: "ALL" },
  }],
  BillingMode: "PAY_PER_REQUEST",
};
const KEY = { pk: "product-1", sk: 1 };
const MISSING = { pk: "nobody", sk: -7.5 };

// `client`: its methods get, put, update, delete, query, scan, batchGet, batchWrite, transactGet and transactWrite return promises.
export function steps(client, TableName, setOf) {
  const product = (number, more) => ({
    pk: `product-${number % 3}`, sk: number, kind: number % 2 ? "lamp" : "pen", cents: number + 0.25,
    tags: setOf(["desk", "äther"]), sizes: { height: 41.25, all: [1, true, null] }, picture: Buffer.from([0, 255]), ...more,
  });
  const pages = async (read, request) => {
    const found = [];
    let start;
    do {
      const page = await read({ ...request, ...(start && { ExclusiveStartKey: start }) });
      found.push(page);
      start = page.LastEvaluatedKey;
    } while (start);
    return found;
  };
  return [
    ...[...Array(8).keys()].map((number) => () => client.put({ TableName, Item: product(number) })),
    () => client.get({ TableName, Key: KEY }),
    () => client.get({ TableName, Key: MISSING }),
    () => client.get({ TableName, Key: KEY, ConsistentRead: true, ReturnConsumedCapacity: "TOTAL" }),
    () => client.get({ TableName, Key: KEY, ProjectionExpression: "sizes.#a[1], cents", ExpressionAttributeNames: { "#a": "all" } }),
    () => client.put({ TableName, Item: product(1), ConditionExpression: "attribute_not_exists(pk)" }),
    () => client.put({ TableName, Item: product(1, { stock: 5 }), ReturnValues: "ALL_OLD" }),
    () => client.update({
      TableName, Key: KEY, ReturnValues: "ALL_NEW",
      UpdateExpression: "SET stock = stock - :one, seen = if_not_exists(seen, :zero) + :one REMOVE sizes.height",
      ConditionExpression: "stock >= :one AND (begins_with(kind, :l) OR size(tags) > :one)",
      ExpressionAttributeValues: { ":one": 1, ":zero": 0, ":l": "la" },
    }),
    () => client.update({
      TableName, Key: KEY, UpdateExpression: "SET stock = :none", ExpressionAttributeValues: { ":none": 0 }, ReturnValues: "UPDATED_OLD",
    }),
    () => client.update({ TableName, Key: KEY, UpdateExpression: "SET absent = gone + :one", ExpressionAttributeValues: { ":one": 1 } }),
    () => client.get({ TableName, Key: KEY }),
    () => client.query({
      TableName, KeyConditionExpression: "pk = :p AND sk BETWEEN :a AND :b", FilterExpression: "contains(tags, :t) AND cents IN (:x, :y)",
      ExpressionAttributeValues: { ":p": "product-1", ":a": 1, ":b": 7, ":t": "desk", ":x": 4.25, ":y": 7.25 }, ReturnConsumedCapacity: "TOTAL",
    }),
    () => pages(client.query, {
      TableName, KeyConditionExpression: "pk = :p", ExpressionAttributeValues: { ":p": "product-0" }, Limit: 2, ScanIndexForward: false,
    }),
    () => pages(client.query, {
      TableName, IndexName: "kinds", KeyConditionExpression: "kind = :k", ExpressionAttributeValues: { ":k": "pen" }, Limit: 3,
    }),
    () => client.query({
      TableName, KeyConditionExpression: "pk = :p", ExpressionAttributeValues: { ":p": "product-2" }, ProjectionExpression: "sk, sizes.height",
    }),
    () => client.query({ TableName, KeyConditionExpression: "pk = :p", ExpressionAttributeValues: { ":p": "product-2" }, Select: "COUNT" }),
    () => pages(client.scan, { TableName, Limit: 5 }),
    () => client.batchWrite({
      RequestItems: { [TableName]: [{ PutRequest: { Item: product(20) } }, { DeleteRequest: { Key: { pk: "product-0", sk: 0 } } }] },
    }),
    () => client.batchGet({ RequestItems: { [TableName]: { Keys: [KEY, MISSING, { pk: "product-2", sk: 20 }] } } }),
    () => client.transactWrite({
      TransactItems: [
        { Put: { TableName, Item: product(30), ConditionExpression: "attribute_not_exists(pk)" } },
        { Update: { TableName, Key: KEY, UpdateExpression: "SET sold = :s", ExpressionAttributeValues: { ":s": 1 } } },
        { ConditionCheck: { TableName, Key: { pk: "product-2", sk: 2 }, ConditionExpression: "attribute_exists(pk)" } },
      ],
    }),
    () => client.transactGet({ TransactItems: [{ Get: { TableName, Key: KEY } }, { Get: { TableName, Key: MISSING } }] }),
    () => client.transactWrite({
      TransactItems: [
        { Put: { TableName, Item: product(30), ConditionExpression: "attribute_not_exists(pk)" } },
        { Delete: { TableName, Key: MISSING } },
      ],
    }),
    () => client.get({ TableName, Key: KEY }),
    () => client.delete({ TableName, Key: KEY, ReturnValues: "ALL_OLD" }),
    () => client.get({ TableName, Key: KEY }),
    () => client.get({ TableName: "no-such-table", Key: KEY }),
    () => client.update({ TableName, Key: KEY, UpdateExpression: "SET pk = :p", ExpressionAttributeValues: { ":p": "x" } }),
    () => client.scan({ TableName, Limit: 2, IndexName: "nowhere" }),
  ];
}

// JSON's own values, without what differs by the request: metadata, and the table's name.
export function plain(value) {
  if (TABLES.includes(value)) return "TABLE";
  if (value instanceof Uint8Array) return Buffer.from(value).toString("hex");
  if (value instanceof Set) return [...value].sort();
  if (value && value.wrapperName === "Set") return [...value.values].sort();
  if (Array.isArray(value)) return value.map(plain);
  if (value !== null && typeof value === "object") {
    const members = Object.entries(value).filter(([name, inner]) => name !== "$metadata" && inner !== undefined);
    return Object.fromEntries(members.sort().map(([name, inner]) => [plain(name), plain(inner)]));
  }
  return value;
}

// What each step resolves to, or its error. Clients of DAX for SDK v3 have the error's name at the begin of their message.
export async function heard(steps) {
  const found = [];
  for (const step of steps) {
    found.push(await step().then(plain, (error) => {
      const code = error.name === "Error" ? error.code : error.name;
      return [`${code && !error.message.startsWith(code) ? `${code}: ` : ""}${error.message}`];
    }));
  }
  return found;
}

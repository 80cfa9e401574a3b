// The shop as an application writes it with the DocumentClient: plain values, commands, paginators and waiters.
//
// Every method is one thing that the application does; what it returns is compared with tests/clients/story.json.

import { DynamoDBClient, waitUntilTableExists, waitUntilTableNotExists } from "@aws-sdk/client-dynamodb";
import { ConditionalCheckFailedException, CreateTableCommand, DeleteTableCommand } from "@aws-sdk/client-dynamodb";
import { DescribeTableCommand, paginateListTables } from "@aws-sdk/client-dynamodb";
import { DeleteCommand, DynamoDBDocumentClient, GetCommand, NumberValue, PutCommand } from "@aws-sdk/lib-dynamodb";
import { QueryCommand, UpdateCommand, paginateQuery, paginateScan } from "@aws-sdk/lib-dynamodb";

export const TABLE = "shop";
const TABLE_OPTIONS = {
  TableName: TABLE,
  KeySchema: [
    { AttributeName: "pk", KeyType: "HASH" },
    { AttributeName: "sk", KeyType: "RANGE" },
  ],
  AttributeDefinitions: [
    { AttributeName: "pk", AttributeType: "S" },
    { AttributeName: "sk", AttributeType: "S" },
    { AttributeName: "status", AttributeType: "S" },
  ],
  GlobalSecondaryIndexes: [
    {
      IndexName: "by_status",
      KeySchema: [
        { AttributeName: "status", KeyType: "HASH" },
        { AttributeName: "sk", KeyType: "RANGE" },
      ],
      Projection: { ProjectionType: "ALL" },
    },
  ],
  BillingMode: "PAY_PER_REQUEST",
};
const PRODUCT_NAMES = ["name", "cents", "stock", "weight", "tags", "codes", "sizes", "colours", "picture", "for_sale", "version"];

// A number when a double holds it exactly as written, else its text.
const numberOf = (text) => (String(Number(text)) === text ? Number(text) : text);

export const key = (pk, sk) => ({ pk, sk });
export const productKey = (product) => key(`PRODUCT#${product}`, "PRODUCT");
export const profileKey = (user) => key(`USER#${user}`, "PROFILE");
export const orderKey = (user, time, order) => key(`USER#${user}`, `ORDER#${time}#${order}`);

// JSON's own values: sets as sorted lists, bytes as base64.
function plain(value) {
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64");
  if (value instanceof Set) return [...value].map(plain).sort((a, b) => (a < b ? -1 : 1));
  if (Array.isArray(value)) return value.map(plain);
  if (value !== null && typeof value === "object") {
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, plain(inner)]));
  }
  return value;
}

// What `made` resolves to, or what `otherwise` says when the service's condition did not hold.
async function unlessRefused(made, otherwise) {
  try {
    return await made;
  } catch (error) {
    if (error instanceof ConditionalCheckFailedException) return otherwise(error);
    throw error;
  }
}

// `Code: message` of the error that each call ends with.
export async function mistakesOf(calls) {
  const heard = [];
  for (const call of calls) {
    heard.push(await call().then(() => "no error", (error) => `${error.name}: ${error.message}`));
  }
  return heard;
}

export class Shop {
  constructor(endpoint) {
    const credentials = { accessKeyId: "key", secretAccessKey: "secret" };
    this.client = new DynamoDBClient({ endpoint, region: "eu-west-1", credentials });
    this.documents = DynamoDBDocumentClient.from(this.client, { unmarshallOptions: { wrapNumbers: numberOf } });
  }

  end() {
    this.client.destroy();
  }

  put(Item, options) {
    return this.documents.send(new PutCommand({ TableName: TABLE, Item, ...options }));
  }

  async get(Key, options) {
    return this.documents.send(new GetCommand({ TableName: TABLE, Key, ConsistentRead: true, ...options }));
  }

  async update(Key, UpdateExpression, ExpressionAttributeValues, options) {
    const given = { TableName: TABLE, Key, UpdateExpression, ExpressionAttributeValues, ...options };
    return (await this.documents.send(new UpdateCommand(given))).Attributes;
  }

  query(KeyConditionExpression, ExpressionAttributeValues, options) {
    const given = { TableName: TABLE, KeyConditionExpression, ExpressionAttributeValues, ...options };
    return this.documents.send(new QueryCommand(given));
  }

  // --- the table ---

  async open() {
    await this.client.send(new CreateTableCommand(TABLE_OPTIONS));
    await waitUntilTableExists({ client: this.client, minDelay: 1, maxWaitTime: 20 }, { TableName: TABLE });
    const { Table } = await this.client.send(new DescribeTableCommand({ TableName: TABLE }));
    return {
      status: Table.TableStatus,
      keys: Table.KeySchema.map((part) => `${part.AttributeName} ${part.KeyType}`),
      billing: Table.BillingModeSummary.BillingMode,
      items: Table.ItemCount,
    };
  }

  async tables() {
    const names = [];
    for await (const page of paginateListTables({ client: this.client }, {})) names.push(...page.TableNames);
    return names;
  }

  async close() {
    await this.client.send(new DeleteTableCommand({ TableName: TABLE }));
    await waitUntilTableNotExists({ client: this.client, minDelay: 1, maxWaitTime: 20 }, { TableName: TABLE });
    return this.tables();
  }

  // --- users ---

  async registerUser({ user, email, name, joined }) {
    const isNew = { ConditionExpression: "attribute_not_exists(pk)", ReturnValuesOnConditionCheckFailure: "ALL_OLD" };
    const profile = { kind: "user", name, email, joined, phone: null, addresses: {} };
    return unlessRefused(
      this.put({ ...key(`EMAIL#${email}`, "EMAIL"), owner: user }, isNew).then(async () => {
        await this.put({ ...profileKey(user), ...profile }, isNew);
        return { registered: user };
      }),
      // The DocumentClient leaves the item of an error in DynamoDB's own JSON.
      (error) => ({ taken_by: error.Item.owner.S }),
    );
  }

  async profile({ user }) {
    const reply = await this.get(profileKey(user), {
      ProjectionExpression: "#name, orders, addresses.home.city, cart[0].product",
      ExpressionAttributeNames: { "#name": "name" },
      ReturnConsumedCapacity: "TOTAL",
    });
    return { item: plain(reply.Item), capacity: reply.ConsumedCapacity.CapacityUnits };
  }

  async setAddress({ user, label, street, city }) {
    const options = {
      ConditionExpression: "attribute_exists(pk)",
      ExpressionAttributeNames: { "#label": label },
      ReturnValues: "ALL_NEW",
    };
    return unlessRefused(
      this.update(profileKey(user), "SET addresses.#label = :address", { ":address": { street, city } }, options).then(
        (profile) => profile.addresses,
      ),
      () => ({ unknown: user }),
    );
  }

  async addToCart({ user, product, quantity }) {
    const { cart } = await this.update(
      profileKey(user),
      "SET cart = list_append(if_not_exists(cart, :none), :line)",
      { ":none": [], ":line": [{ product, quantity }] },
      { ReturnValues: "UPDATED_NEW" },
    );
    return cart.map((line) => `${line.quantity} ${line.product}`);
  }

  async dropFromCart({ user, position }) {
    const options = { ReturnValues: "ALL_NEW" };
    const { cart } = await this.update(profileKey(user), `REMOVE cart[${position}]`, undefined, options);
    return cart.map((line) => `${line.quantity} ${line.product}`);
  }

  // --- products ---

  async addProduct({ product, ...given }) {
    const item = {
      ...productKey(product),
      ...given,
      kind: "product",
      picture: Buffer.from(given.picture, "base64"),
      tags: new Set(given.tags),
      codes: new Set(given.codes),
      weight: NumberValue.from(given.weight),
      for_sale: true,
      version: 1,
    };
    return unlessRefused(
      this.put(item, { ConditionExpression: "attribute_not_exists(pk)" }).then(() => ({ version: 1 })),
      () => ({ exists: product }),
    );
  }

  async product({ product }) {
    const { Item } = await this.get(productKey(product));
    if (Item === undefined) return null;
    const values = Object.fromEntries(PRODUCT_NAMES.map((name) => [name, plain(Item[name])]));
    return { ...values, codes: values.codes.sort((a, b) => a - b) };
  }

  async reprice({ product, cents, version }) {
    return unlessRefused(
      this.update(
        productKey(product),
        "SET cents = :cents, version = version + :one",
        { ":cents": cents, ":one": 1, ":version": version },
        { ConditionExpression: "version = :version", ReturnValues: "UPDATED_NEW" },
      ),
      async () => {
        const now = await this.product({ product });
        return { conflict: now.cents, version: now.version };
      },
    );
  }

  async visit({ product, times }) {
    const once = () =>
      this.update(productKey(product), "ADD visits :one", { ":one": 1 }, { ReturnValues: "UPDATED_NEW" });
    const counts = (await Promise.all(Array.from({ length: times }, once))).map(({ visits }) => visits);
    if (new Set(counts).size !== times) throw new Error(`visits were lost: ${counts}`);
    return Math.max(...counts);
  }

  // --- reviews ---

  async review({ user, product, stars, text, time }) {
    const options = {
      ConditionExpression: "NOT contains(reviewed_by, :user)",
      ReturnValues: "UPDATED_NEW",
      ReturnValuesOnConditionCheckFailure: "ALL_OLD",
    };
    const values = { ":users": new Set([user]), ":user": user, ":stars": stars, ":one": 1 };
    const expression = "ADD reviewed_by :users, stars :stars, reviews :one";
    return unlessRefused(
      this.update(productKey(product), expression, values, options).then(async (found) => {
        const review = { kind: "review", stars, text, author: { id: user, name: user } };
        await this.put({ ...key(`PRODUCT#${product}`, `REVIEW#${time}#${user}`), ...review });
        return { reviews: found.reviews, stars: found.stars };
      }),
      (error) => ({ reviewed_by: error.Item.reviewed_by.SS }),
    );
  }

  async latestReviews({ product, stars, limit }) {
    const values = { ":pk": `PRODUCT#${product}`, ":prefix": "REVIEW#", ":stars": stars };
    const reply = await this.query("pk = :pk AND begins_with(sk, :prefix)", values, {
      FilterExpression: "stars >= :stars",
      ProjectionExpression: "#text, stars, author.#name",
      ExpressionAttributeNames: { "#text": "text", "#name": "name" },
      ScanIndexForward: false,
      Limit: limit,
    });
    return { examined: reply.ScannedCount, reviews: reply.Items };
  }

  // --- orders ---

  async placeOrder({ user, order, time, lines }) {
    const taken = [];
    for (const [product, quantity] of lines) {
      const left = await unlessRefused(
        this.take(product, quantity).then((cents) => void taken.push({ product, quantity, cents })),
        (error) => Number(error.Item.stock.N),
      );
      if (left !== undefined) {
        for (const line of taken) {
          await this.update(productKey(line.product), "ADD stock :quantity", { ":quantity": line.quantity });
        }
        return { sold_out: product, left };
      }
    }
    const total = taken.reduce((sum, { quantity, cents }) => sum + quantity * cents, 0);
    const head = { kind: "order", user, order, status: "placed", cents: total, version: 1 };
    await this.put(
      { ...orderKey(user, time, order), ...head },
      { ConditionExpression: "attribute_not_exists(pk) AND attribute_not_exists(sk)" },
    );
    await Promise.all(
      taken.map((line, number) =>
        this.put({ ...key(`ORDER#${order}`, `ITEM#${String(number).padStart(3, "0")}`), kind: "line", ...line }),
      ),
    );
    const names = { ExpressionAttributeNames: { "#later": "wish list" } };
    const counters = { ":one": 1, ":cents": total };
    await this.update(profileKey(user), "ADD orders :one, spent :cents REMOVE #later", counters, names);
    return { cents: total };
  }

  // The price of one; refused when there are not enough.
  async take(product, quantity) {
    const old = await this.update(
      productKey(product),
      "SET stock = stock - :quantity",
      { ":quantity": quantity, ":yes": true },
      {
        ConditionExpression: "for_sale = :yes AND stock >= :quantity",
        ReturnValues: "ALL_OLD",
        ReturnValuesOnConditionCheckFailure: "ALL_OLD",
      },
    );
    return old.cents;
  }

  async orders({ user, page_size }) {
    const pages = paginateQuery(
      { client: this.documents, pageSize: page_size },
      {
        TableName: TABLE,
        KeyConditionExpression: "pk = :pk AND begins_with(sk, :prefix)",
        ExpressionAttributeValues: { ":pk": `USER#${user}`, ":prefix": "ORDER#" },
        ScanIndexForward: false,
      },
    );
    const found = [];
    for await (const page of pages) found.push(page.Items.map((item) => item.order));
    return found;
  }

  async ordersBetween({ user, since, until }) {
    const values = { ":pk": `USER#${user}`, ":since": `ORDER#${since}`, ":until": `ORDER#${until}` };
    return (await this.query("pk = :pk AND sk BETWEEN :since AND :until", values)).Items.map((item) => item.order);
  }

  async orderLines({ order }) {
    const { Items } = await this.query("pk = :pk", { ":pk": `ORDER#${order}` });
    return Items.map((line) => `${line.quantity} ${line.product} at ${line.cents}`);
  }

  async moveOrder({ user, order, time, to, version }) {
    return unlessRefused(
      this.update(
        orderKey(user, time, order),
        "SET #status = :to, version = :next",
        { ":to": to, ":version": version, ":next": version + 1 },
        {
          ConditionExpression: "version = :version",
          ExpressionAttributeNames: { "#status": "status" },
          ReturnValues: "UPDATED_NEW",
          ReturnValuesOnConditionCheckFailure: "ALL_OLD",
        },
      ),
      (error) => ({ conflict: error.Item.status.S, version: Number(error.Item.version.N) }),
    );
  }

  async cancelOrder({ user, order, time }) {
    const command = new DeleteCommand({
      TableName: TABLE,
      Key: orderKey(user, time, order),
      ConditionExpression: "#status IN (:placed, :packed)",
      ExpressionAttributeNames: { "#status": "status" },
      ExpressionAttributeValues: { ":placed": "placed", ":packed": "packed" },
      ReturnValues: "ALL_OLD",
      ReturnValuesOnConditionCheckFailure: "ALL_OLD",
    });
    return unlessRefused(
      this.documents.send(command).then((reply) => ({ cancelled: reply.Attributes.cents })),
      (error) => ({ refused: error.Item?.status.S ?? null }),
    );
  }

  // --- reports ---

  async spending({ segments }) {
    const sums = {};
    const segment = async (number) => {
      const pages = paginateScan(
        { client: this.documents, pageSize: 3 },
        {
          TableName: TABLE,
          FilterExpression: "kind = :kind",
          ExpressionAttributeValues: { ":kind": "order" },
          Segment: number,
          TotalSegments: segments,
        },
      );
      for await (const page of pages) {
        for (const order of page.Items) sums[order.user] = (sums[order.user] ?? 0) + order.cents;
      }
    };
    await Promise.all(Array.from({ length: segments }, (_, number) => segment(number)));
    return sums;
  }

  async count({ kind, page_size }) {
    const pages = paginateScan(
      { client: this.documents, pageSize: page_size },
      {
        TableName: TABLE,
        FilterExpression: "kind = :kind",
        ExpressionAttributeValues: { ":kind": kind },
        Select: "COUNT",
      },
    );
    const counted = { count: 0, examined: 0 };
    for await (const page of pages) {
      counted.count += page.Count;
      counted.examined += page.ScannedCount;
    }
    return counted;
  }

  // --- what goes wrong ---

  async mistakes() {
    const ada = profileKey("ada");
    const calls = [
      () => this.get(ada, { TableName: "shup" }),
      () => this.client.send(new CreateTableCommand(TABLE_OPTIONS)),
      () => this.get({ pk: "USER#ada" }),
      () => this.put(key("USER#ada", "")),
      () => this.update(ada, "SET name = :name", { ":name": "A" }),
      () => this.update(ada, "SET points = points + :one", { ":one": 1 }),
      () => this.query("sk = :sk", { ":sk": "PROFILE" }),
      () => this.put({ ...ada, text: "x".repeat(409_600) }),
      () => this.documents.send(
        new DeleteCommand({ TableName: TABLE, Key: ada, ConditionExpression: "attribute_not_exists(pk)" }),
      ),
    ];
    return mistakesOf(calls);
  }
}

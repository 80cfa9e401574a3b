// The grown shop with the DocumentClient: indexes added while it runs, orders and payments in one piece, goods by the hundred.

import { setTimeout as sleep } from "node:timers/promises";
import { DescribeTableCommand, UpdateTableCommand } from "@aws-sdk/client-dynamodb";
import { IdempotentParameterMismatchException, TransactionCanceledException } from "@aws-sdk/client-dynamodb";
import { BatchGetCommand, BatchWriteCommand, TransactGetCommand, TransactWriteCommand } from "@aws-sdk/lib-dynamodb";
import { paginateQuery } from "@aws-sdk/lib-dynamodb";
import { Shop, TABLE, key, mistakesOf, orderKey, productKey, profileKey } from "./shop.mjs";

const NEW_INDEXES = {
  by_email: {
    definitions: [{ AttributeName: "email", AttributeType: "S" }],
    index: {
      IndexName: "by_email",
      KeySchema: [{ AttributeName: "email", KeyType: "HASH" }],
      Projection: { ProjectionType: "INCLUDE", NonKeyAttributes: ["name"] },
    },
  },
  by_product: {
    definitions: [
      { AttributeName: "product", AttributeType: "S" },
      { AttributeName: "quantity", AttributeType: "N" },
    ],
    index: {
      IndexName: "by_product",
      KeySchema: [
        { AttributeName: "product", KeyType: "HASH" },
        { AttributeName: "quantity", KeyType: "RANGE" },
      ],
      Projection: { ProjectionType: "KEYS_ONLY" },
    },
  },
};
const POLL_MS = 50;
const BATCH_GET_MAX = 100;
const BATCH_WRITE_MAX = 25;

function shares(values, size) {
  return Array.from({ length: Math.ceil(values.length / size) }, (_, part) => values.slice(part * size, (part + 1) * size));
}

// Why a transaction was cancelled, action by action, and the number `name` of the items that came with it.
function cancelled(error, name) {
  const reasons = error.CancellationReasons;
  return {
    cancelled: reasons.map((reason) => reason.Code),
    because: reasons.find((reason) => reason.Code !== "None").Message,
    [name]: reasons.filter((reason) => reason.Item).map((reason) => Number(reason.Item[name].N)),
    message: error.message,
  };
}

const exists = (user) => ({ TableName: TABLE, Key: profileKey(user), ConditionExpression: "attribute_exists(pk)" });

export class Trade extends Shop {
  // --- indexes ---

  updateIndexes(name) {
    const { definitions, index } = NEW_INDEXES[name];
    const given = { AttributeDefinitions: definitions, GlobalSecondaryIndexUpdates: [{ Create: index }] };
    return this.client.send(new UpdateTableCommand({ TableName: TABLE, ...given }));
  }

  async addIndex({ name }) {
    await this.updateIndexes(name);
    for (;;) {
      const { Table } = await this.client.send(new DescribeTableCommand({ TableName: TABLE }));
      const index = Table.GlobalSecondaryIndexes.find((one) => one.IndexName === name);
      if (Table.TableStatus === "ACTIVE" && index.IndexStatus === "ACTIVE") {
        return {
          keys: index.KeySchema.map((part) => `${part.AttributeName} ${part.KeyType}`),
          projection: index.Projection.ProjectionType,
        };
      }
      await sleep(POLL_MS);
    }
  }

  async ordersByStatus({ status, page_size }) {
    const pages = paginateQuery(
      { client: this.documents, pageSize: page_size },
      {
        TableName: TABLE,
        IndexName: "by_status",
        KeyConditionExpression: "#status = :status AND begins_with(sk, :prefix)",
        ExpressionAttributeNames: { "#status": "status" },
        ExpressionAttributeValues: { ":status": status, ":prefix": "ORDER#" },
        ScanIndexForward: false,
      },
    );
    const found = [];
    for await (const page of pages) found.push(page.Items.map((item) => item.order));
    return found;
  }

  byEmail(email, options) {
    return this.query("email = :email", { ":email": email }, { IndexName: "by_email", ...options });
  }

  async userByEmail({ email }) {
    return (await this.byEmail(email)).Items[0] ?? null;
  }

  async sales({ product, least }) {
    const values = { ":product": product, ":least": least };
    const reply = await this.query("product = :product AND quantity >= :least", values, {
      IndexName: "by_product",
      ScanIndexForward: false,
      ReturnConsumedCapacity: "INDEXES",
    });
    return {
      sales: reply.Items.map((item) => `${item.quantity} in ${item.pk}`),
      table: reply.ConsumedCapacity.Table.CapacityUnits,
      index: reply.ConsumedCapacity.GlobalSecondaryIndexes.by_product.CapacityUnits,
    };
  }

  // --- all or nothing ---

  transact(TransactItems, options) {
    return this.documents.send(new TransactWriteCommand({ TransactItems, ...options }));
  }

  async read(keys) {
    const TransactItems = keys.map((Key) => ({ Get: { TableName: TABLE, Key } }));
    return (await this.documents.send(new TransactGetCommand({ TransactItems }))).Responses.map(({ Item }) => Item);
  }

  async buy({ user, order, time, lines }) {
    const products = await this.read(lines.map(([product]) => productKey(product)));
    const sold = lines.map(([product, quantity], number) => ({ product, quantity, cents: products[number].cents }));
    const cents = sold.reduce((sum, line) => sum + line.quantity * line.cents, 0);
    const head = { kind: "order", user, order, status: "placed", cents, version: 1 };
    const actions = [
      ...sold.map(({ product, quantity }) => ({
        Update: {
          TableName: TABLE,
          Key: productKey(product),
          UpdateExpression: "SET stock = stock - :quantity",
          ConditionExpression: "stock >= :quantity",
          ExpressionAttributeValues: { ":quantity": quantity },
          ReturnValuesOnConditionCheckFailure: "ALL_OLD",
        },
      })),
      {
        Put: {
          TableName: TABLE,
          Item: { ...orderKey(user, time, order), ...head },
          ConditionExpression: "attribute_not_exists(pk)",
        },
      },
      ...sold.map((line, number) => ({
        Put: {
          TableName: TABLE,
          Item: { ...key(`ORDER#${order}`, `ITEM#${String(number).padStart(3, "0")}`), kind: "line", ...line },
        },
      })),
      { ConditionCheck: exists(user) },
    ];
    try {
      const reply = await this.transact(actions, { ReturnConsumedCapacity: "TOTAL" });
      return { cents, units: reply.ConsumedCapacity[0].CapacityUnits };
    } catch (error) {
      if (error instanceof TransactionCanceledException) return cancelled(error, "stock");
      throw error;
    }
  }

  async topUp({ user, cents }) {
    const options = { ConditionExpression: "attribute_exists(pk)", ReturnValues: "UPDATED_NEW" };
    return this.update(profileKey(user), "ADD balance :cents", { ":cents": cents }, options);
  }

  async transfer({ sender, receiver, cents, token }) {
    const ExpressionAttributeValues = { ":cents": cents };
    const take = {
      TableName: TABLE,
      Key: profileKey(sender),
      UpdateExpression: "SET balance = balance - :cents",
      ConditionExpression: "balance >= :cents",
      ExpressionAttributeValues,
      ReturnValuesOnConditionCheckFailure: "ALL_OLD",
    };
    const give = { ...exists(receiver), UpdateExpression: "ADD balance :cents", ExpressionAttributeValues };
    try {
      await this.transact([{ Update: take }, { Update: give }], { ClientRequestToken: token });
    } catch (error) {
      if (error instanceof TransactionCanceledException) return cancelled(error, "balance");
      if (error instanceof IdempotentParameterMismatchException) return { mistaken: token };
      throw error;
    }
    return { balances: (await this.read([sender, receiver].map(profileKey))).map(({ balance }) => balance) };
  }

  // --- by the hundred ---

  async loadGoods({ prefix, count }) {
    return this.write(
      Array.from({ length: count }, (_, number) => {
        const values = { kind: "goods", name: `${prefix} ${number}`, cents: number };
        return { PutRequest: { Item: { ...productKey(`${prefix}${number}`), ...values } } };
      }),
    );
  }

  async dropGoods({ prefix, count }) {
    return this.write(
      Array.from({ length: count }, (_, number) => ({ DeleteRequest: { Key: productKey(`${prefix}${number}`) } })),
    );
  }

  // How many batches it took.
  async write(requests) {
    let batches = 0;
    for (const share of shares(requests, BATCH_WRITE_MAX)) {
      for (let left = { [TABLE]: share }; Object.keys(left).length > 0; batches++) {
        left = (await this.documents.send(new BatchWriteCommand({ RequestItems: left }))).UnprocessedItems;
      }
    }
    return batches;
  }

  async worth({ prefix, count }) {
    const found = [];
    const keys = Array.from({ length: count }, (_, number) => productKey(`${prefix}${number}`));
    for (const Keys of shares(keys, BATCH_GET_MAX)) {
      let left = { [TABLE]: { Keys, ProjectionExpression: "cents", ConsistentRead: true } };
      while (Object.keys(left).length > 0) {
        const reply = await this.documents.send(new BatchGetCommand({ RequestItems: left }));
        found.push(...reply.Responses[TABLE]);
        left = reply.UnprocessedKeys;
      }
    }
    return { goods: found.length, cents: found.reduce((sum, { cents }) => sum + cents, 0) };
  }

  // --- what goes wrong ---

  async tradeMistakes() {
    const ada = profileKey("ada");
    const email = "ada@example.org";
    const put = { PutRequest: { Item: ada } };
    return mistakesOf([
      () => this.byEmail(email, { ConsistentRead: true }),
      () => this.byEmail(email, { IndexName: "by_colour" }),
      () => this.byEmail(email, { Select: "ALL_ATTRIBUTES" }),
      () => this.put({ ...ada, email: 1 }),
      () => this.updateIndexes("by_email"),
      () => this.documents.send(new BatchGetCommand({ RequestItems: { [TABLE]: { Keys: [ada, ada] } } })),
      () => this.documents.send(new BatchWriteCommand({ RequestItems: { [TABLE]: [put, put] } })),
      () => this.transact([{ ConditionCheck: exists("ada") }, { ConditionCheck: exists("ada") }]),
    ]);
  }
}

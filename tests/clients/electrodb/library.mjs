// A lending library with ElectroDB: books, their copies and members in one table with two overloaded indexes.
//
// What it heard is printed as one line of JSON, which tests/clients/test_electrodb.py holds against what must be heard.

import { CreateTableCommand, DynamoDBClient, waitUntilTableExists } from "@aws-sdk/client-dynamodb";
import { Entity, Service } from "electrodb";

const client = new DynamoDBClient({
  endpoint: process.argv[2],
  region: "eu-west-1",
  credentials: { accessKeyId: "key", secretAccessKey: "secret" },
});
const table = "library";

const book = new Entity(
  {
    model: { entity: "book", version: "1", service: "library" },
    attributes: {
      isbn: { type: "string", required: true },
      title: { type: "string", required: true },
      writer: { type: "string", required: true },
      year: { type: "number", required: true },
      genres: { type: "set", items: "string" },
      reviews: { type: "list", items: { type: "map", properties: { by: { type: "string" }, stars: { type: "number" } } } },
      lent: { type: "number", default: 0 },
    },
    indexes: {
      copies: { collection: "shelf", pk: { field: "pk", composite: ["isbn"] }, sk: { field: "sk", composite: [] } },
      works: {
        index: "gsi1",
        pk: { field: "gsi1pk", composite: ["writer"] },
        sk: { field: "gsi1sk", composite: ["year", "isbn"], template: "y#${year}#i#${isbn}" },
      },
    },
  },
  { client, table },
);

const copy = new Entity(
  {
    model: { entity: "copy", version: "1", service: "library" },
    attributes: {
      isbn: { type: "string", required: true },
      number: { type: "string", required: true },
      reader: { type: "string" },
      due: { type: "string" },
    },
    indexes: {
      copies: { collection: "shelf", pk: { field: "pk", composite: ["isbn"] }, sk: { field: "sk", composite: ["number"] } },
      loans: {
        index: "gsi1",
        collection: "account",
        pk: { field: "gsi1pk", composite: ["reader"] },
        sk: { field: "gsi1sk", composite: ["due"] },
        condition: (given) => given.reader !== undefined,
      },
    },
  },
  { client, table },
);

const member = new Entity(
  {
    model: { entity: "member", version: "1", service: "library" },
    attributes: {
      reader: { type: "string", required: true },
      loans: { type: "number", default: 0 },
    },
    indexes: {
      id: { pk: { field: "pk", composite: ["reader"] }, sk: { field: "sk", composite: [] } },
      account: {
        index: "gsi1",
        collection: "account",
        pk: { field: "gsi1pk", composite: ["reader"] },
        sk: { field: "gsi1sk", composite: [] },
      },
    },
  },
  { client, table },
);

const library = new Service({ book, copy, member });

async function open() {
  const key = (hash, range) => [
    { AttributeName: hash, KeyType: "HASH" },
    { AttributeName: range, KeyType: "RANGE" },
  ];
  const created = await client.send(
    new CreateTableCommand({
      TableName: table,
      BillingMode: "PAY_PER_REQUEST",
      KeySchema: key("pk", "sk"),
      AttributeDefinitions: ["pk", "sk", "gsi1pk", "gsi1sk"].map((name) => ({ AttributeName: name, AttributeType: "S" })),
      GlobalSecondaryIndexes: [
        { IndexName: "gsi1", KeySchema: key("gsi1pk", "gsi1sk"), Projection: { ProjectionType: "ALL" } },
      ],
    }),
  );
  await waitUntilTableExists({ client, minDelay: 1, maxWaitTime: 20 }, { TableName: table });
  return created.TableDescription.GlobalSecondaryIndexes.map((index) => index.IndexName);
}

async function fill() {
  const books = Array.from({ length: 30 }, (_, number) => ({
    isbn: `b${String(number).padStart(2, "0")}`,
    title: `Book ${number}`,
    writer: number % 2 ? "Le Guin" : "Lem",
    year: 1950 + number,
    genres: ["novel", number % 2 ? "fantasy" : "essay"],
  }));
  const { unprocessed } = await book.put(books).go();
  await member.create({ reader: "ada" }).go();
  for (const number of ["c1", "c2"]) await copy.create({ isbn: "b07", number }).go();
  return unprocessed.length;
}

// Both the copy and the member change, or nothing does.
async function lend(number, reader, due) {
  const { canceled, data } = await library.transaction
    .write(({ book, copy, member }) => [
      copy.patch({ isbn: "b07", number }).set({ reader, due }).where(({ reader }, { notExists }) => notExists(reader)).commit(),
      member.patch({ reader }).add({ loans: 1 }).where(({ loans }, { lt }) => lt(loans, 2)).commit(),
      book.patch({ isbn: "b07" }).add({ lent: 1 }).commit({ response: "all_old" }),
    ])
    .go();
  return canceled ? data.map(({ code }) => code) : "lent";
}

async function works() {
  const pages = [];
  let cursor = null;
  do {
    const page = await book.query.works({ writer: "Lem" }).gte({ year: 1960 }).go({ cursor, limit: 4, order: "desc" });
    pages.push(page.data.map(({ year }) => year));
    cursor = page.cursor;
  } while (cursor !== null);
  return pages;
}

async function review() {
  const added = await book
    .update({ isbn: "b01" })
    .append({ reviews: [{ by: "ada", stars: 4 }] })
    .delete({ genres: ["fantasy"] })
    .set({ title: "Renamed" })
    .go({ response: "all_new" });
  return { title: added.data.title, genres: added.data.genres, reviews: added.data.reviews };
}

async function refusal(call) {
  return call().then(
    () => "no error",
    (error) => `${error.code} ${error.cause?.name}`,
  );
}

const heard = { open: await open(), unprocessed: await fill() };
heard.works = await works();
heard.filtered = (
  await book.query
    .works({ writer: "Le Guin" })
    .where(({ title, genres }, { begins, contains }) => `${begins(title, "Book 2")} AND ${contains(genres, "fantasy")}`)
    .go({ pages: "all" })
).data.map(({ isbn }) => isbn);
heard.lent = [await lend("c1", "ada", "2026-06-01"), await lend("c1", "ada", "2026-06-02"), await lend("c2", "bob", "2026-06-03")];
heard.again = await lend("c2", "ada", "2026-05-01");
const shelf = (await library.collections.shelf({ isbn: "b07" }).go()).data;
heard.shelf = { book: shelf.book.map(({ lent }) => lent), copy: shelf.copy.map(({ number, reader }) => `${number} ${reader}`) };
const account = (await library.collections.account({ reader: "ada" }).go()).data;
heard.account = { copy: account.copy.map(({ due }) => due), member: account.member.map(({ loans }) => loans) };
heard.review = await review();
heard.got = (await book.get([{ isbn: "b03" }, { isbn: "b99" }, { isbn: "b04" }]).go({ preserveBatchOrder: true })).data.map(
  (found) => found?.title ?? null,
);
heard.read = (
  await library.transaction
    .get(({ book, member }) => [book.get({ isbn: "b05" }).commit(), member.get({ reader: "ada" }).commit()])
    .go()
).data.map(({ item }) => item.title ?? item.loans);
heard.refusals = [
  await refusal(() => member.create({ reader: "ada" }).go()),
  await refusal(() => book.patch({ isbn: "b99" }).set({ title: "None" }).go()),
  await refusal(() => book.get({ isbn: "b01" }).go({ table: "libary" })),
];
heard.removed = (await book.delete((await book.scan.go({ pages: "all" })).data).go()).unprocessed.length;
heard.left = (await book.scan.go({ pages: "all" })).data.length;
process.stdout.write(JSON.stringify(heard));
client.destroy();

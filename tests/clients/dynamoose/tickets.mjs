// A helpdesk with Dynamoose: teams and tickets, each a model with a table of its own, made by the library.
//
// What it heard is printed as one line of JSON, which tests/clients/test_dynamoose.py holds against what must be heard.

import dynamoose from "dynamoose";

const ddb = new dynamoose.aws.ddb.DynamoDB({
  endpoint: process.argv[2],
  region: "eu-west-1",
  credentials: { accessKeyId: "key", secretAccessKey: "secret" },
});
dynamoose.aws.ddb.set(ddb);

const teamSchema = new dynamoose.Schema({ id: { type: String, hashKey: true }, open: { type: Number, default: 0 } });
const schema = (title) =>
  new dynamoose.Schema(
    {
      team: { type: String, hashKey: true },
      number: { type: Number, rangeKey: true },
      title,
      state: { type: String, enum: ["open", "closed"], default: "open", index: { name: "by-state", rangeKey: "number" } },
      opened: { type: Date, index: { name: "by-date", type: "local" } },
      labels: { type: Set, schema: [String] },
      history: { type: Array, schema: [{ type: Object, schema: { by: String, text: String } }], default: [] },
      file: Buffer,
    },
    { timestamps: true },
  );
const options = {
  throughput: "ON_DEMAND",
  initialize: false,
  waitForActive: { enabled: true, check: { frequency: 50, timeout: 20_000 } },
};
const Team = dynamoose.model("Team", teamSchema, options);
let Ticket = dynamoose.model("Ticket", schema({ type: String, required: true }), options);

const numbers = (found) => found.map(({ number }) => number);
const refusal = (call) => call().then(() => "no error", (error) => `${error.name}: ${error.message}`);

async function open() {
  await Team.table().initialize();
  await Ticket.table().initialize();
  const { Table } = await ddb.describeTable({ TableName: "Ticket" });
  return {
    status: Table.TableStatus,
    global: Table.GlobalSecondaryIndexes.map((index) => index.IndexName),
    local: Table.LocalSecondaryIndexes.map((index) => index.IndexName),
  };
}

async function fill() {
  await Team.create({ id: "web" });
  const tickets = Array.from({ length: 25 }, (_, number) => ({
    team: "web",
    number,
    title: `Ticket ${number}`,
    state: number % 5 ? "open" : "closed",
    opened: new Date(Date.UTC(2026, 0, 31 - number)),
    labels: new Set(["bug", `p${number % 3}`]),
    file: Buffer.from([0, 255]),
  }));
  const { unprocessedItems } = await Ticket.batchPut(tickets);
  return unprocessedItems.length;
}

async function one() {
  const found = await Ticket.get({ team: "web", number: 7 }, { consistent: true });
  return {
    title: found.title,
    opened: found.opened.toISOString(),
    labels: [...found.labels].sort(),
    file: [...found.file],
    stamped: found.createdAt instanceof Date,
  };
}

async function pages() {
  const found = [];
  let start;
  do {
    const query = Ticket.query("state").eq("open").where("number").ge(3).using("by-state").sort("descending").limit(7);
    const page = await (start ? query.startAt(start) : query).exec();
    found.push(numbers(page));
    start = page.lastKey;
  } while (start);
  return found;
}

// The ticket closes and the team has one less, or neither.
async function close(number) {
  const isOpen = new dynamoose.Condition().where("state").eq("open");
  try {
    await dynamoose.transaction([
      Ticket.transaction.update({ team: "web", number }, { $SET: { state: "closed" } }, { condition: isOpen }),
      Team.transaction.update({ id: "web" }, { $ADD: { open: -1 } }),
    ]);
    return "closed";
  } catch (error) {
    return error.CancellationReasons.map((reason) => reason.Code);
  }
}

const heard = { open: await open(), unprocessed: await fill(), one: await one(), pages: await pages() };
heard.filtered = numbers(
  await Ticket.query("team").eq("web").filter("labels").contains("p1").and().filter("title").beginsWith("Ticket 1").exec(),
);
heard.recent = numbers(
  await Ticket.query("team").eq("web").where("opened").gt(Date.UTC(2026, 0, 28)).using("by-date").exec(),
);
heard.counted = (await Ticket.scan("state").eq("closed").count().exec()).count;
heard.closed = [await close(1), await close(1)];
heard.team = (await dynamoose.transaction([Team.transaction.get("web"), Ticket.transaction.get({ team: "web", number: 1 })])).map(
  (found) => found.open ?? found.state,
);
const updated = await Ticket.update(
  { team: "web", number: 2 },
  { $SET: { title: "Renamed" }, $ADD: { history: [{ by: "ada", text: "Seen." }] }, $REMOVE: ["file"] },
);
heard.updated = { title: updated.title, history: updated.history, file: updated.file ?? null };
heard.several = numbers(await Ticket.batchGet([{ team: "web", number: 3 }, { team: "web", number: 99 }, { team: "web", number: 4 }])).sort();

// The model grows an index, and Dynamoose brings the table up to it.
const title = { type: String, index: { name: "by-title" } };
Ticket = dynamoose.model("Ticket", schema(title), { ...options, update: ["indexes"] });
await Ticket.table().initialize();
heard.grown = numbers(await Ticket.query("title").eq("Renamed").using("by-title").exec());

heard.refusals = [
  await refusal(() => Team.create({ id: "web" })),
  await refusal(() => Ticket.create({ team: "web", number: 1, title: "" })),
  await refusal(() => Ticket.update({ team: "web", number: 1 }, { title: "x" }, { condition: new dynamoose.Condition().where("state").eq("open") })),
];
heard.deleted = (await Ticket.batchDelete(Array.from({ length: 25 }, (_, number) => ({ team: "web", number })))).unprocessedItems.length;
heard.left = (await Ticket.scan().exec()).length;
process.stdout.write(JSON.stringify(heard));
ddb.destroy();

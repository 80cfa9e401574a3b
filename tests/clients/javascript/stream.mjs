// A stream read with the client for streams: every shard behind its parent, from the oldest record to the newest.
//
// Arguments: endpoint and table. Prints what boto3_stream.py returns: of each shard its name, whether it was read to an end
// that it has, and its records.

import { DescribeStreamCommand, DynamoDBStreamsClient } from "@aws-sdk/client-dynamodb-streams";
import { GetRecordsCommand, GetShardIteratorCommand, ListStreamsCommand } from "@aws-sdk/client-dynamodb-streams";

const PAGE_SIZE = 30;
const [endpoint, table] = process.argv.slice(2);
const client = new DynamoDBStreamsClient({
  endpoint,
  region: "eu-west-1",
  credentials: { accessKeyId: "key", secretAccessKey: "secret" },
});

async function shardsOf(stream) {
  const found = [];
  let start;
  do {
    const command = new DescribeStreamCommand({ StreamArn: stream, Limit: 2, ExclusiveStartShardId: start });
    const page = (await client.send(command)).StreamDescription;
    found.push(...page.Shards);
    start = page.LastEvaluatedShardId;
  } while (start);
  return found;
}

// In the order of the stream, except that a child waits for its parent.
function parentsFirst(shards) {
  const ordered = [];
  for (let waiting = shards; waiting.length > 0; ) {
    const names = new Set(waiting.map((one) => one.ShardId));
    ordered.push(...waiting.filter((one) => !names.has(one.ParentShardId)));
    waiting = waiting.filter((one) => names.has(one.ParentShardId));
  }
  return ordered;
}

// A page, and the rest as one who begins anew behind it.
async function readShard(stream, shard) {
  const begin = async (place) => {
    const command = new GetShardIteratorCommand({ StreamArn: stream, ShardId: shard, ...place });
    return read((await client.send(command)).ShardIterator);
  };
  const read = (iterator) => client.send(new GetRecordsCommand({ ShardIterator: iterator, Limit: PAGE_SIZE }));
  let page = await begin({ ShardIteratorType: "TRIM_HORIZON" });
  const records = page.Records;
  if (records.length > 0) {
    const last = records.at(-1).dynamodb.SequenceNumber;
    page = await begin({ ShardIteratorType: "AFTER_SEQUENCE_NUMBER", SequenceNumber: last });
    records.push(...page.Records);
  }
  while (page.NextShardIterator && page.Records.length > 0) {
    page = await read(page.NextShardIterator);
    records.push(...page.Records);
  }
  return { shard, ended: !page.NextShardIterator, records: records.map(plain) };
}

// As JSON can say it: times in milliseconds, bytes in Base64.
function plain(value) {
  if (value instanceof Date) return value.getTime();
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64");
  if (Array.isArray(value)) return value.map(plain);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, plain(inner)]));
}

const [{ StreamArn: stream }] = (await client.send(new ListStreamsCommand({ TableName: table }))).Streams;
const told = [];
for (const { ShardId: shard } of parentsFirst(await shardsOf(stream))) {
  told.push(await readShard(stream, shard));
}
process.stdout.write(JSON.stringify(told));
client.destroy();

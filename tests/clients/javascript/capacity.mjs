// Throttling, CloudWatch and Application Auto Scaling with the AWS SDK for JavaScript v3. Prints what it has heard as JSON.
//
// Service time stands still, except where this program moves it, so nothing depends on the machine's speed.
import { ApplicationAutoScalingClient, DescribeScalableTargetsCommand, RegisterScalableTargetCommand } from "@aws-sdk/client-application-auto-scaling";
import { CloudWatchClient, GetMetricStatisticsCommand, ListMetricsCommand, PutMetricDataCommand } from "@aws-sdk/client-cloudwatch";
import { BatchWriteItemCommand, CreateTableCommand, DescribeTableCommand, DynamoDBClient, PutItemCommand } from "@aws-sdk/client-dynamodb";

const endpoint = process.argv[2];
const options = { endpoint, region: "eu-west-1", credentials: { accessKeyId: "key", secretAccessKey: "secret" } };
const once = new DynamoDBClient({ ...options, maxAttempts: 1 });
const patient = new DynamoDBClient({ ...options, maxAttempts: 20 });
const metrics = new CloudWatchClient(options);
const scaling = new ApplicationAutoScalingClient(options);

const admin = async (path, members) =>
  (await fetch(`${endpoint}/_hashrange/v1/${path}`, { method: "POST", body: JSON.stringify(members) })).json();

const item = (number) => ({ pk: { S: `item-${number}` } });

async function fill() {
  await once.send(new CreateTableCommand({
    TableName: "hot",
    KeySchema: [{ AttributeName: "pk", KeyType: "HASH" }],
    AttributeDefinitions: [{ AttributeName: "pk", AttributeType: "S" }],
    ProvisionedThroughput: { ReadCapacityUnits: 1, WriteCapacityUnits: 1 },
  }));
  for (let number = 0; number < 10; number++) {
    await once.send(new PutItemCommand({ TableName: "hot", Item: item(number) }));
  }
  for (let batch = 0; ; batch++) {
    const requests = Array.from({ length: 25 }, (_, place) => ({ PutRequest: { Item: item(batch * 25 + place) } }));
    const reply = await once.send(new BatchWriteItemCommand({ RequestItems: { hot: requests } }));
    const left = reply.UnprocessedItems?.hot?.length ?? 0;
    if (left) return [batch, left];
  }
}

async function refusal(work) {
  try {
    await work();
    return null;
  } catch (error) {
    const reasons = error.ThrottlingReasons ?? error.throttlingReasons ?? [];
    return [error.name, ...reasons.map((one) => one.reason)];
  }
}

async function retried() {
  const coming = patient.send(new PutItemCommand({ TableName: "hot", Item: item(0) }));
  await admin("clock/advance", { seconds: 10 });
  const reply = await coming;
  return reply.$metadata.httpStatusCode;
}

async function measured(now) {
  const dimensions = [{ Name: "Shop", Value: "Ulm & Neu-Ulm" }];
  await metrics.send(new PutMetricDataCommand({
    Namespace: "shop",
    MetricData: [{ MetricName: "Orders", Dimensions: dimensions, Timestamp: now, Values: [1, 2, 3.5], Counts: [1, 1, 2], Unit: "Count" }],
  }));
  const window = { StartTime: new Date(now - 3600_000), EndTime: new Date(now.getTime() + 60_000), Period: 3600 };
  const asked = { Namespace: "shop", MetricName: "Orders", Dimensions: dimensions, ...window, Statistics: ["Sum", "SampleCount"] };
  const [point] = (await metrics.send(new GetMetricStatisticsCommand(asked))).Datapoints;
  const listed = (await metrics.send(new ListMetricsCommand({ Namespace: "shop" }))).Metrics;
  const throttled = await metrics.send(new GetMetricStatisticsCommand({
    ...window, Namespace: "AWS/DynamoDB", MetricName: "WriteThrottleEvents", Dimensions: [{ Name: "TableName", Value: "hot" }], Statistics: ["Sum"],
  }));
  return {
    point: [point.Sum, point.SampleCount, point.Unit],
    listed: listed.map((one) => [one.MetricName, one.Dimensions[0].Value]),
    throttled: throttled.Datapoints.length,
    refused: await refusal(() => metrics.send(new PutMetricDataCommand({ Namespace: "AWS/Own", MetricData: [{ MetricName: "a", Value: 1 }] }))),
  };
}

async function scaled() {
  const place = { ServiceNamespace: "dynamodb", ResourceId: "table/hot", ScalableDimension: "dynamodb:table:ReadCapacityUnits" };
  await scaling.send(new RegisterScalableTargetCommand({ ...place, MinCapacity: 5, MaxCapacity: 9 }));
  const [target] = (await scaling.send(new DescribeScalableTargetsCommand({ ServiceNamespace: "dynamodb" }))).ScalableTargets;
  const { Table } = await once.send(new DescribeTableCommand({ TableName: "hot" }));
  const missing = { ...place, ResourceId: "table/missing" };
  return {
    target: [target.ResourceId, target.MinCapacity, target.MaxCapacity],
    units: Table.ProvisionedThroughput.ReadCapacityUnits,
    refused: await refusal(() => scaling.send(new RegisterScalableTargetCommand({ ...missing, MinCapacity: 1, MaxCapacity: 2 }))),
  };
}

const { service_time: seconds } = await admin("clock/freeze", {});
const heard = { filled: await fill() };
heard.refused = await refusal(() => once.send(new PutItemCommand({ TableName: "hot", Item: item(0) })));
heard.retried = await retried();
heard.measured = await measured(new Date(seconds * 1000));
heard.scaled = await scaled();
console.log(JSON.stringify(heard));

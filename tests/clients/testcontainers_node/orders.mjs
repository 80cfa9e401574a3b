// How does a Node program use Hashrange in a container? With Testcontainers; needs a container engine.
import { DynamoDBClient, ListTablesCommand } from "@aws-sdk/client-dynamodb";
import { GenericContainer, Wait } from "testcontainers";

const container = await new GenericContainer("hashrange/hashrange")
  .withCommand(["serve", "--host", "0.0.0.0", "--in-memory"])
  .withExposedPorts(8000)
  .withWaitStrategy(Wait.forHttp("/", 8000).forStatusCode(200))
  .start();

// Each access key of 12 digits has tables of its own.
const client = new DynamoDBClient({
  endpoint: `http://${container.getHost()}:${container.getMappedPort(8000)}`,
  region: "us-east-1",
  credentials: { accessKeyId: "000000000001", secretAccessKey: "any" },
});
try {
  console.log((await client.send(new ListTablesCommand({}))).TableNames);
} finally {
  client.destroy();
  await container.stop();
}

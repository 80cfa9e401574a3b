// A table made with the keys of the environment's profile, such as those of a role. Prints its ARN, and whether the keys are temporary.
import { CreateTableCommand, DynamoDBClient } from "@aws-sdk/client-dynamodb";

const client = new DynamoDBClient({});
const { sessionToken } = await client.config.credentials();
const made = await client.send(new CreateTableCommand(JSON.parse(process.argv[2])));
console.log(JSON.stringify({ arn: made.TableDescription.TableArn, isTemporary: Boolean(sessionToken) }));

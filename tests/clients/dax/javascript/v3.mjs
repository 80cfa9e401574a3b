// A shop through DAX with @amazon-dax-sdk/lib-dax, and directly with the AWS SDK v3. Arguments: the endpoint of DynamoDB, that of DAX.

import { DaxDocument } from "@amazon-dax-sdk/lib-dax";
import { CreateTableCommand, DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocument } from "@aws-sdk/lib-dynamodb";
import { TABLES, TABLE_OPTIONS, heard, steps } from "./steps.mjs";

const [endpoint, daxEndpoint] = process.argv.slice(2);
const common = { region: "eu-west-1", credentials: { accessKeyId: "AKIDEXAMPLE", secretAccessKey: "secret" } };
const client = new DynamoDBClient({ ...common, endpoint });
for (const TableName of TABLES) await client.send(new CreateTableCommand({ ...TABLE_OPTIONS, TableName }));
const direct = DynamoDBDocument.from(client);
const dax = new DaxDocument({ ...common, endpoints: [daxEndpoint] });
const methods = ["get", "put", "update", "delete", "query", "scan", "batchGet", "batchWrite", "transactGet", "transactWrite"];
const bound = (one) => Object.fromEntries(methods.map((name) => [name, one[name].bind(one)]));
const setOf = (values) => new Set(values);
const through = await heard(steps(bound(dax), TABLES[0], setOf));
const directly = await heard(steps(bound(direct), TABLES[1], setOf));
process.stdout.write(JSON.stringify({ through, directly }), () => process.exit(0));

// A shop through DAX with amazon-dax-client, and directly with the AWS SDK v2. Arguments: the endpoint of DynamoDB, that of DAX.

import AmazonDaxClient from "amazon-dax-client";
import AWS from "aws-sdk";
import { TABLES, TABLE_OPTIONS, heard, steps } from "./steps.mjs";

const [endpoint, daxEndpoint] = process.argv.slice(2);
AWS.config.update({ region: "eu-west-1", accessKeyId: "AKIDEXAMPLE", secretAccessKey: "secret" });
const service = new AWS.DynamoDB({ endpoint });
for (const TableName of TABLES) await service.createTable({ ...TABLE_OPTIONS, TableName }).promise();
const direct = new AWS.DynamoDB.DocumentClient({ service });
const dax = new AWS.DynamoDB.DocumentClient({ service: new AmazonDaxClient({ endpoints: [daxEndpoint], region: "eu-west-1" }) });
const methods = ["get", "put", "update", "delete", "query", "scan", "batchGet", "batchWrite", "transactGet", "transactWrite"];
const bound = (one) => Object.fromEntries(methods.map((name) => [name, (request) => one[name](request).promise()]));
const setOf = (values) => direct.createSet(values);
const through = await heard(steps(bound(dax), TABLES[0], setOf));
const directly = await heard(steps(bound(direct), TABLES[1], setOf));
process.stdout.write(JSON.stringify({ through, directly }), () => process.exit(0));

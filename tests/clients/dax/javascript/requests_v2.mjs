// requests.mjs with amazon-dax-client and the AWS SDK v2. Arguments: the endpoint of DynamoDB, that of DAX.

import AmazonDaxClient from "amazon-dax-client";
import AWS from "aws-sdk";
import { tell } from "./requests.mjs";

const [endpoint, daxEndpoint] = process.argv.slice(2);
AWS.config.update({ region: "eu-west-1", accessKeyId: "AKIDEXAMPLE", secretAccessKey: "secret", maxRetries: 0 });
const sender = (client) => (call, request) => client[call[0].toLowerCase() + call.slice(1)](request).promise();
await tell(sender(new AmazonDaxClient({ endpoints: [daxEndpoint], region: "eu-west-1" })), sender(new AWS.DynamoDB({ endpoint })));

// requests.mjs with @amazon-dax-sdk/client-dax and the AWS SDK v3. Arguments: the endpoint of DynamoDB, that of DAX.

import dax from "@amazon-dax-sdk/client-dax";
import { DynamoDB } from "@aws-sdk/client-dynamodb";
import { tell } from "./requests.mjs";

const [endpoint, daxEndpoint] = process.argv.slice(2);
const common = { region: "eu-west-1", credentials: { accessKeyId: "AKIDEXAMPLE", secretAccessKey: "secret" } };
const sender = (client) => (call, request) => client[call[0].toLowerCase() + call.slice(1)](request);
const through = new dax.Dax({ ...common, endpoint: daxEndpoint });
await tell(sender(through), sender(new DynamoDB({ ...common, endpoint, maxAttempts: 1 })));

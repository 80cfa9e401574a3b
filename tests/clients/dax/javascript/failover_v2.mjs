// failover.mjs with amazon-dax-client. Argument: the URL of the cluster.

import AmazonDaxClient from "amazon-dax-client";
import AWS from "aws-sdk";
import { readAsAsked } from "./failover.mjs";

AWS.config.update({ region: "eu-west-1", accessKeyId: "AKIDEXAMPLE", secretAccessKey: "secret" });
const client = new AmazonDaxClient({ endpoints: [process.argv[2]], region: "eu-west-1" });
await readAsAsked((request) => client.getItem(request).promise());

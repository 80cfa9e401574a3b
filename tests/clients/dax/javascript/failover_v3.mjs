// failover.mjs with @amazon-dax-sdk/client-dax. Argument: the URL of the cluster.

import dax from "@amazon-dax-sdk/client-dax";
import { readAsAsked } from "./failover.mjs";

const credentials = { accessKeyId: "AKIDEXAMPLE", secretAccessKey: "secret" };
const client = new dax.Dax({ region: "eu-west-1", credentials, endpoint: process.argv[2] });
await readAsAsked((request) => client.getItem(request));

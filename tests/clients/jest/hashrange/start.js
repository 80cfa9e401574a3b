// Starts one server for the whole run. It keeps everything in memory, on a free port.
const { spawn } = require("node:child_process");
const { createInterface } = require("node:readline");

module.exports = async function start() {
  const [program, ...words] = (process.env.HASHRANGE ?? "hashrange").split(" ");
  const server = spawn(program, [...words, "serve", "--in-memory", "--port", "0"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  globalThis.hashrange = server;
  // Workers inherit the environment, and AWS SDKs read this variable: no client has to name the endpoint.
  process.env.AWS_ENDPOINT_URL_DYNAMODB = await endpointOf(server);
};

// The server prints one line with its endpoint once it is ready.
function endpointOf(server) {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.once("exit", (code) => reject(new Error(`The server ended before it was ready, with exit code ${code}.`)));
    createInterface(server.stdout).once("line", (line) => resolve(/http:\/\/[\d.]+:\d+/.exec(line)[0]));
  });
}

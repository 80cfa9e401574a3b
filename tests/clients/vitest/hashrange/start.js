// Starts one server for the whole run, loads the base data, and ends the server after the run.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

import { loadProducts } from "./base_data.js";

export default async function start(project) {
  const [program, ...words] = (process.env.HASHRANGE ?? "hashrange").split(" ");
  const server = spawn(program, [...words, "serve", "--in-memory", "--port", "0", "--admin"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const endpoint = await endpointOf(server);
  await loadProducts(endpoint);
  project.provide("hashrange", endpoint);
  return async function stop() {
    const ended = once(server, "exit");
    if (server.kill()) await ended;
  };
}

// The server prints one line with its endpoint once it is ready.
function endpointOf(server) {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.once("exit", (code) => reject(new Error(`The server ended before it was ready, with exit code ${code}.`)));
    createInterface(server.stdout).once("line", (line) => resolve(/http:\/\/[\d.]+:\d+/.exec(line)[0]));
  });
}

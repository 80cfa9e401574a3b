// Ends the server after the run, and its data with it.
const { once } = require("node:events");

module.exports = async function stop() {
  const server = globalThis.hashrange;
  const ended = once(server, "exit");
  if (server.kill()) await ended;
};

module.exports = {
  testEnvironment: "node",
  globalSetup: "./hashrange/start.js",
  globalTeardown: "./hashrange/stop.js",
  setupFiles: ["./hashrange/worker.js"],
  maxWorkers: 2,
  transform: {}, // All files are plain CommonJS.
};

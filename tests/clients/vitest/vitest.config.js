import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    globalSetup: "./hashrange/start.js",
    maxWorkers: 2,
  },
});

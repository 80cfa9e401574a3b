// Bundles each handler with its libraries into one file, for zips: as CommonJS and as ES modules. Types are checked by tsc.

import { build } from "esbuild";

const handlers = ["confirm_orders", "update_inventory", "keep_search_index", "archive_sessions"];
const common = {
  entryPoints: handlers.map((name) => `src/${name}.ts`),
  bundle: true,
  platform: "node",
  target: "node20",
};
await build({ ...common, format: "cjs", outdir: "dist/commonjs" });
await build({
  ...common,
  format: "esm",
  outdir: "dist/modules",
  outExtension: { ".js": ".mjs" },
  mainFields: ["module", "main"],
  // Some libraries are CommonJS still, and require what is built into Node.
  banner: { js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);' },
});

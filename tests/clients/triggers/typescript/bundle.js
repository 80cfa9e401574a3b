// Bundles each handler with its libraries into one file, for zips: two as CommonJS, two as ES modules. Types are checked by tsc.

import { build } from "esbuild";

const common = { bundle: true, platform: "node", target: "node20", outdir: "dist/bundles" };
await build({
  ...common,
  entryPoints: ["src/confirm_orders.ts", "src/keep_search_index.ts"],
  format: "cjs",
});
await build({
  ...common,
  entryPoints: ["src/update_inventory.ts", "src/archive_sessions.ts"],
  format: "esm",
  outExtension: { ".js": ".mjs" },
  mainFields: ["module", "main"],
  // Some libraries are CommonJS still, and require what is built into Node.
  banner: { js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);' },
});

// Builds after `npm ci`. Without the development dependencies there is no compiler to build with.
import { existsSync } from "node:fs";
import { spawnSync } from "node:child_process";

if (existsSync("node_modules/typescript")) {
  const { status } = spawnSync(process.execPath, ["node_modules/typescript/bin/tsc"], { stdio: "inherit" });
  process.exit(status ?? 1);
} else if (!existsSync("dist/src/app/main.js")) {
  console.error(
    "netgloss: not built: the compiler is a development dependency. Run `npm ci --include=dev` (NODE_ENV=production leaves it out).",
  );
}

// Builds after `npm ci`. Without the development dependencies there is no compiler to build with: an npm package has everything built
// in it. The pages come first: tests are compiled with the types of what drives a browser, a package of web/.
import { existsSync } from "node:fs";
import { spawnSync } from "node:child_process";

if (existsSync("node_modules/typescript")) {
  for (const script of ["scripts/build-pages.js", "node_modules/typescript/bin/tsc", "scripts/build-program.js"]) {
    const { status } = spawnSync(process.execPath, [script], { stdio: "inherit" });
    if (status !== 0) process.exit(status ?? 1);
  }
} else if (!existsSync("dist/program/main.js") || !existsSync("dist/pages/index.html.gz")) {
  console.error(
    "netgloss: not built: the compiler is a development dependency. Run `npm ci --include=dev` (NODE_ENV=production leaves it out).",
  );
}

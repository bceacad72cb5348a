// Builds after `npm ci`, having installed what the pages are built with: web/ is a package of its own. Without the development
// dependencies there is no compiler to build with; an npm package has everything built in it.
import { existsSync, statSync } from "node:fs";
import { spawnSync } from "node:child_process";

/** Runs a script with Node, and ends as it did if it failed. */
function run(script, args, options, failure) {
  const { status } = spawnSync(process.execPath, [script, ...args], { stdio: "inherit", ...options });
  if (status === 0) return;
  if (failure !== undefined) console.error(`netgloss: ${failure}`);
  process.exit(status ?? 1);
}

const changedAt = (file) => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;

if (existsSync("node_modules/typescript")) {
  // npm writes the first of these files at the end of an installation.
  if (changedAt("web/node_modules/.package-lock.json") < changedAt("web/package-lock.json")) {
    // Settings that the outer npm hands on, as of `npm pack --dry-run`, are not meant for this.
    const args = [
      "ci",
      "--include=dev",
      "--global=false",
      "--dry-run=false",
      "--no-audit",
      "--no-fund",
      "--loglevel=error",
    ];
    const options = { cwd: "web", stdio: ["ignore", "ignore", "inherit"] };
    const failure = "the packages that the pages are built with are not installed: `npm ci` in web/ failed.";
    run(process.env.npm_execpath, args, options, failure);
  }
  for (const script of ["node_modules/typescript/bin/tsc", "scripts/build-program.js", "scripts/build-pages.js"])
    run(script, []);
} else if (!existsSync("dist/program/main.js") || !existsSync("dist/pages/index.html.gz")) {
  console.error(
    "netgloss: not built: the compiler is a development dependency. Run `npm ci --include=dev` (NODE_ENV=production leaves it out).",
  );
}

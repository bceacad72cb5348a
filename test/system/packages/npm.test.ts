// What `npx netgloss` gets: the package is packed, installed in an empty folder and started.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { cleanUp } from "../../support/clean-up.ts";
import { copyTree } from "../../support/copied-tree.ts";
import { freePort } from "../../support/free-port.ts";
import { tempDirectory } from "../../support/temp-directory.ts";
import { until } from "../../support/until.ts";

const shipped = new Set([
  "CHANGELOG.md",
  "LICENSE",
  "README.md",
  "THIRD-PARTY-LICENCES.txt",
  "bin",
  "config",
  "definitions",
  "dist",
  "docs",
  "npm-shrinkwrap.json",
  "package.json",
  "proto",
]);

test("the npm package installs in an empty folder, without a build, and runs", async (t) => {
  const directory = tempDirectory(t);
  const tree = join(directory, "tree");
  const home = join(directory, "home");
  mkdirSync(home);
  copyTree(tree, { withModules: true });
  const npm = (cwd: string, ...args: string[]): string => {
    const env = { ...process.env, NPM_CONFIG_UPDATE_NOTIFIER: "false" };
    const { status, stdout, stderr } = spawnSync("npm", args, { cwd, env, encoding: "utf8" });
    assert.equal(status, 0, `npm ${args.join(" ")}:\n${stdout}${stderr}`);
    return stdout;
  };
  npm(tree, "pack", "--pack-destination", directory);
  assert.ok(!existsSync(join(tree, "npm-shrinkwrap.json")), "the tree is as it was");
  const tarball = readdirSync(directory).find((name) => name.endsWith(".tgz")) ?? "";
  const bytes = statSync(join(directory, tarball)).size;
  t.diagnostic(`${tarball}: ${(bytes / 1e6).toFixed(1)} MB`);
  assert.ok(bytes < 5e6, "a package of a few megabytes");

  npm(home, "install", "--prefer-offline", "--no-audit", "--no-fund", join(directory, tarball));
  const installed = join(home, "node_modules/netgloss");
  assert.deepEqual(new Set(readdirSync(installed)), shipped);
  assert.deepEqual(readdirSync(join(installed, "dist")).toSorted(), ["pages", "program"]);
  for (const name of ["typescript", "vite", "preact", "oxlint"]) {
    assert.ok(!existsSync(join(home, "node_modules", name)), `${name} is for development`);
  }
  const files = readdirSync(installed, { recursive: true, encoding: "utf8" });
  assert.deepEqual(
    files.filter((path) => /\.(?:ts|map)$/.test(path)),
    [],
  );
  const licences = readFileSync(join(installed, "THIRD-PARTY-LICENCES.txt"), "utf8");
  for (const name of ["pino", "commander", "preact", "@duckdb/node-api"])
    assert.ok(licences.includes(`\n${name} `), name);

  const { version } = JSON.parse(readFileSync(join(tree, "package.json"), "utf8")) as { version: string };
  const npx = (...args: string[]): string => npm(home, "exec", "--offline", "--", "netgloss", ...args);
  assert.equal(npx("--version"), `${version}\n`);
  npx("config", "check", "--svc-input-snmp-enable", "true", "--running");

  const port = await freePort();
  const api = `http://127.0.0.1:${port}`;
  const command = join(home, "node_modules/.bin/netgloss");
  const args = ["serve", "--svc-api-port", String(port), "--svc-flow-server-udp-enable", "true"];
  const collector = spawn(command, [...args, "--svc-flow-server-udp-port", "0"], { cwd: home, stdio: "ignore" });
  const exited = once(collector, "exit");
  cleanUp(t, () => void collector.kill("SIGKILL"));
  await until("it is ready", async () => (await fetch(`${api}/readyz`).catch(() => undefined))?.ok === true);
  assert.match(
    await (await fetch(`${api}/`, { headers: { accept: "text/html" } })).text(),
    /<script/,
    "the pages are there",
  );
  assert.match(await (await fetch(`${api}/metrics`)).text(), /^netgloss_/m);
  collector.kill("SIGTERM");
  assert.deepEqual(await exited, [0, null]);
});

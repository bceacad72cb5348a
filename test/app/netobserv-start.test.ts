import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { netObservNames } from "../../src/app/index.ts";
import { cleanUp } from "../support/clean-up.ts";
import { startCollectorProcess } from "../support/collector-process.ts";
import { tempDirectory } from "../support/temp-directory.ts";

test("an environment of all public names in the old prefix starts the collector in one command", async (t) => {
  const directory = tempDirectory(t);
  mkdirSync(join(directory, "log"));
  // The folders of the examples are those of a host; here they lie in one of the test's own. Ports are chosen by the system.
  const values = Object.entries(netObservNames).map(([name, { example }]) => {
    const value = example.replace(/^\/(?:etc|usr\/share|var\/lib)\/elastiflow/, directory);
    return `EF_${name}=${value.replace(/^\/var\/log\/elastiflow\/flowcoll/, join(directory, "log"))}`;
  });
  const file = join(directory, "netobserv.env");
  writeFileSync(file, `${values.join("\n")}\nEF_FLOW_SERVER_UDP_PORT=0\n`);
  const collector = await startCollectorProcess({ settings: {}, args: ["--config", file] });
  cleanUp(t, () => collector.end("SIGKILL"));
  const lines = collector.log().map((line) => String(line["msg"]));
  assert.ok(
    lines.some((line) => /^\d+ settings by the prefix EF_$/.test(line)),
    lines.join("\n"),
  );
  assert.equal(lines.filter((line) => line.includes("netgloss needs no licence")).length, 1);
  assert.equal(lines.filter((line) => line.includes("no settings of this version")).length, 0);
  const { status } = await fetch(`${collector.api}/livez`);
  assert.equal(status, 200);
  assert.equal((await collector.end()).code, 0);
});

import assert from "node:assert/strict";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { checkFiles } from "../../src/app/checks/check-files.ts";
import { readSettings, runProgram } from "../../src/app/index.ts";
import { createFakeTerminal } from "../support/fake-terminal.ts";
import { startFlowCollector } from "../support/flow-collector.ts";
import { netflow5 } from "../../packages/testkit/index.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { until } from "../support/until.ts";

const settingsIn = (directory: string): Readonly<Record<string, string>> => ({
  SVC_PROCESSOR_ENRICH_IPADDR_METADATA_ENABLE: "true",
  SVC_PROCESSOR_ENRICH_IPADDR_METADATA_USERDEF_PATH: join(directory, "ipaddrs.yml"),
  SVC_PROCESSOR_ENRICH_IPADDR_SOURCES_PATH: join(directory, "sources.yml"),
  SVC_STATE_DIRECTORY_PATH: join(directory, "state"),
});

for (const pool of ["main", "1"]) {
  test(`sources are on the records of flows and at the command line, decoding ${pool === "1" ? "in a thread" : "in the main thread"}`, async (t) => {
    const directory = tempDirectory(t);
    const plan = join(directory, "plan.csv");
    const lines = (count: number, name: string): string =>
      ["ip,name", ...Array.from({ length: count }, (_, i) => `192.0.2.${i + 1},${name}`)].join("\n");
    await writeFile(join(directory, "sources.yml"), `- {name: plan, kind: csv, path: "${plan}", interval: 1h}\n`);
    await writeFile(join(directory, "ipaddrs.yml"), "192.0.2.0/24: {tags: [mine]}\n");
    await writeFile(plan, lines(4, "first"));
    const { collector, send } = await startFlowCollector(t, {
      ...settingsIn(directory),
      SVC_PROCESSOR_POOL_SIZE: pool,
    });
    const run = async (...argv: string[]): Promise<{ code: number; out: string; err: string }> => {
      const terminal = createFakeTerminal(["source", ...argv, "--url", `http://127.0.0.1:${collector.apiPort()}`]);
      return { code: await runProgram(terminal), ...terminal.written };
    };
    const flow = netflow5([{ source: "192.0.2.1", destination: "198.51.100.1" }]);
    const seen = async (): Promise<unknown[]> => {
      const record = await send(flow);
      return [record["flow.src.ip.subnet.name"], record["flow.src.ip.subnet.tags"]];
    };
    const entries = (): Promise<number | undefined> =>
      collector.metrics.value("netgloss_source_entries", { source: "plan" });
    await until("the first run", async () => (await entries()) === 4);
    assert.deepEqual(await seen(), ["first", ["mine"]]);

    await writeFile(plan, lines(4, "second"));
    const again = await run("run", "plan");
    assert.deepEqual(
      [again.code, again.out],
      [0, "plan: updated\n4 entries in use\n0 added, 4 changed, 0 removed, 0 unchanged\n"],
    );
    assert.deepEqual(await seen(), ["second", ["mine"]]);

    await writeFile(plan, lines(2, "third"));
    const held = await run("run", "plan");
    assert.equal(held.code, 1);
    assert.match(
      held.out,
      /^plan: held: 2 entries in place of 4 are 50 % fewer.*\n4 entries in use\nit would be 0 added, 2 changed, 2 removed, 0 unchanged\nTo take it: netgloss source accept plan\n$/,
    );
    assert.deepEqual(await seen(), ["second", ["mine"]]);
    assert.equal(collector.health.isDegraded(), true);
    const diff = await run("diff", "plan");
    assert.match(
      diff.out,
      /^- 192\.0\.2\.3 {2}second\n- 192\.0\.2\.4 {2}second\n~ 192\.0\.2\.1 {2}third\n~ 192\.0\.2\.2 {2}third\n0 added, 2 changed, 2 removed, 0 unchanged; a run would hold this: /,
    );
    assert.equal((await run("accept", "plan")).code, 0);
    assert.deepEqual(await seen(), ["third", ["mine"]]);
    const none = await run("accept", "plan");
    assert.deepEqual([none.code, none.err], [3, "error: not_found: nothing of the source plan is held\n"]);

    const list = await run("list");
    assert.match(
      list.out,
      /^NAME {2}KIND {2}STATE {4}ENTRIES {2}LAST GOOD {13}FROM\nplan {2}csv {3}working {2}2 {8}\d{4}-.*Z {2}.*plan\.csv\n$/,
    );
    const unknown = await run("run", "plam");
    assert.deepEqual([unknown.code, unknown.err], [3, 'error: not_found: there is no source "plam"\n']);
    await rm(plan);
    const failed = await run("diff", "plan");
    assert.equal(failed.code, 6);
    assert.match(failed.err, /plan\.csv cannot be read/);
  });
}

test("rows of a scope are on records of flows that are in it, decoded in a thread, and at the command line", async (t) => {
  const directory = tempDirectory(t);
  const plan = join(directory, "plan.csv");
  const map = "{ready: sheet, columns: {scope: {to: scope, optional: true}}}";
  await writeFile(
    join(directory, "sources.yml"),
    `- {name: plan, kind: csv, path: "${plan}", interval: 1h, map: ${map}}\n`,
  );
  await writeFile(join(directory, "scopes.yml"), "acme: {match: [{interface: 7}]}\n");
  await writeFile(plan, "ip,name,scope\n192.0.2.1,everywhere,\n192.0.2.1,of acme,acme\n192.0.2.1,of beta,beta\n");
  const { collector, send } = await startFlowCollector(t, {
    ...settingsIn(directory),
    SVC_PROCESSOR_ENRICH_SCOPES_PATH: join(directory, "scopes.yml"),
    SVC_PROCESSOR_POOL_SIZE: "1",
  });
  const run = async (...argv: string[]): Promise<string> => {
    const terminal = createFakeTerminal(["source", ...argv, "--url", `http://127.0.0.1:${collector.apiPort()}`]);
    await runProgram(terminal);
    return terminal.written.out;
  };
  const nameBy = async (index: number): Promise<unknown> => {
    const route = { as: [0, 0], prefixes: [0, 0], interfaces: [index, 9], nextHop: "0.0.0.0" } as const;
    const record = await send(netflow5([{ source: "192.0.2.1", destination: "198.51.100.1", route }]));
    return record["flow.src.ip.subnet.name"];
  };
  await until(
    "the first run",
    async () => (await collector.metrics.value("netgloss_source_entries", { source: "plan" })) === 2,
  );
  assert.deepEqual([await nameBy(7), await nameBy(8)], ["of acme", "everywhere"]);
  assert.match(await run("run", "plan"), /\nrows wait for scopes that there are not: beta\n$/);
  await writeFile(plan, "ip,name,scope\n192.0.2.1,everywhere,\n192.0.2.1,other,acme\n192.0.2.1,of beta,beta\n");
  assert.match(await run("diff", "plan"), /^~ 192\.0\.2\.1 {2}\(acme\) {2}other\n0 added, 1 changed, /);
});

test("config check names all that is wrong with the file of sources", async (t) => {
  const directory = tempDirectory(t);
  await writeFile(join(directory, "sources.yml"), "- {kind: netbox}\n- {kind: csv, path: /x, intervall: 1h}\n");
  const layer = Object.entries(settingsIn(directory)).map(([name, text]) => ({ name, text, origin: "test" }));
  const { problems } = await checkFiles(readSettings([layer], () => "").settings);
  assert.deepEqual(
    problems.map((line) => line.replace(directory, "")),
    [
      "/sources.yml:1:3: source 1: url is missing",
      '/sources.yml:2:25: source 2: intervall: unknown key (did you mean "interval"?)',
    ],
  );
});

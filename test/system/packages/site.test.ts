// The site of documentation: built of docs/, every page reachable, and the flow of the first tutorial sent as it is written.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { cleanUp } from "../../support/clean-up.ts";
import { startCollectorProcess } from "../../support/collector-process.ts";
import { copyTree } from "../../support/copied-tree.ts";
import { untilRecords } from "../../support/flow-records.ts";
import { commandsOf } from "../../support/page-commands.ts";
import { tempDirectory } from "../../support/temp-directory.ts";

const root = join(import.meta.dirname, "../../../..");

test("the site is built, no link leads nowhere, and each page of docs/ is in its menu", (t) => {
  const tree = join(tempDirectory(t), "tree");
  copyTree(tree);
  const site = join(tree, "site");
  const run = (...args: string[]): void => {
    const { status, stdout, stderr } = spawnSync("npm", args, { cwd: site, encoding: "utf8" });
    assert.equal(status, 0, `${stdout}${stderr}`);
  };
  run("ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline");
  run("run", "build");
  const menu = readFileSync(join(site, ".vitepress/config.js"), "utf8");
  const listed = [...menu.matchAll(/page\("[^"]+", "([^"]+)"\)/g)].map((match) => match[1] ?? "");
  const names = readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" });
  const pages = names.flatMap((name) => (name.endsWith(".md") ? [name.slice(0, -3)] : []));
  assert.deepEqual(
    pages.filter((name) => !listed.includes(name)),
    [],
    "pages that are not in the menu",
  );
  for (const name of listed) assert.ok(existsSync(join(site, "dist", `${name}.html`)), name);

  // VitePress judges links to pages; these are those to headings.
  const html = new Map(
    pages.map(
      (name) => [name, readFileSync(join(site, "dist", `${name}.html`), "utf8").replaceAll("%2F", "/")] as const,
    ),
  );
  const dead: string[] = [];
  for (const [name, text] of html) {
    for (const [, path = "", anchor = ""] of text.matchAll(/href="\/?([\w/-]*)#([^"]+)"/g)) {
      const target = html.get(path === "" ? name : path);
      const id = decodeURIComponent(anchor);
      if (id !== "VPContent" && target?.includes(`id="${id}"`) !== true) dead.push(`${name}: ${path}#${id}`);
    }
  }
  assert.deepEqual([...new Set(dead)], []);
});

test("docs/first-flow.md: the flow that it sends by hand arrives with its names", async (t) => {
  const output = join(tempDirectory(t), "flows.ndjson");
  const collector = await startCollectorProcess({
    settings: {
      SVC_FLOW_SERVER_UDP_ENABLE: "true",
      SVC_OUTPUT_FILE_ENABLE: "true",
      SVC_OUTPUT_FILE_PATH: output,
      SVC_PROCESSOR_ENRICH_IPADDR_METADATA_ENABLE: "true",
      SVC_PROCESSOR_ENRICH_IPADDR_METADATA_USERDEF_PATH: join(root, "config/ipaddrs.sample.yml"),
    },
  });
  cleanUp(t, () => collector.end("SIGKILL"));
  const command = commandsOf("docs/first-flow.md").find(({ text }) => text.includes("createSocket"))?.text ?? "";
  const script = command.replace(/^tail .*$/m, "").replace("2055", String(collector.flowPort));
  const { status, stderr } = spawnSync("bash", ["-euc", script], { encoding: "utf8" });
  assert.equal(status, 0, stderr);
  await untilRecords(output, 1);
  const record = JSON.parse(readFileSync(output, "utf8").split("\n")[0] ?? "") as Record<string, unknown>;
  assert.equal(record["flow.src.ip.addr"], "10.10.20.5");
  assert.equal(record["flow.dst.ip.addr"], "192.0.2.80");
  assert.deepEqual([record["flow.bytes"], record["flow.packets"]], [1500, 3]);
  assert.match(JSON.stringify(record), /web-1/);
});

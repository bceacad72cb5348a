import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { parse } from "csv-parse/sync";
import { load } from "js-yaml";
import type { Command } from "commander";
import { createProgram } from "../../src/app/index.ts";
import { createFakeTerminal } from "../support/fake-terminal.ts";
import { netflowV5Datagram } from "../support/netflow-v5.ts";
import { sendDatagram } from "../support/send-datagram.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { startCommandWorld } from "../support/udm-commands.ts";
import { until } from "../support/until.ts";

const formats = ["text", "json", "yaml", "csv"] as const;

interface Tried {
  readonly argv?: readonly string[];
  readonly code?: number;
}

/** What commands are given that print nothing without. Words in capitals are files of the test; codes other than 0 are named. */
const given: Readonly<Record<string, Tried>> = {
  address: { argv: ["10.0.0.1"] },
  "flows top": { argv: ["--by", "src", "--last", "1h"] },
  metrics: { argv: ["process_"] },
  "report list": {},
  "rules delete": { argv: ["none"], code: 3 },
  "rules move": { argv: ["1"] },
  "rules set": { argv: ["RULE", "--dry-run"] },
  "rules test": { argv: ["RULE"] },
  "rules try": { argv: ["RULES"] },
  "rules undo": { argv: ["99"], code: 3 },
  "snmp locate": { argv: ["10.0.0.1"], code: 1 },
  "source accept": { argv: ["lines"], code: 3 },
  "source diff": { argv: ["lines"] },
  "source run": { argv: ["lines"] },
  "token list": { argv: ["--users-file", "USERS"] },
  "udm explain": { argv: ["10.0.0.1"] },
  "user list": { argv: ["--users-file", "USERS"] },
  value: { argv: ["tag", "web"] },
  "view list": {},
  "watch rules delete": { argv: ["none"], code: 3 },
  "watch rules move": { argv: ["many"] },
  "watch rules set": { argv: ["WATCH", "--dry-run"] },
  "watch rules test": { argv: ["WATCH"] },
  "watch rules undo": { argv: ["99"], code: 3 },
};

function printing(parent: Command, path: readonly string[] = []): readonly string[] {
  return parent.commands.flatMap((command) => {
    const names = [...path, command.name()];
    const choices = command.options.find(({ long }) => long === "--output")?.argChoices ?? [];
    return [...printing(command, names), ...(formats.every((each) => choices.includes(each)) ? [names.join(" ")] : [])];
  });
}

test("every command that prints data prints it as text, JSON, YAML and CSV", async (t) => {
  const program = await createProgram(createFakeTerminal([]), () => {});
  const names = printing(program);
  assert.ok(Object.keys(given).every((name) => names.includes(name)) && names.length > 24);

  const directory = tempDirectory(t);
  const file = (name: string, text: string): string => {
    writeFileSync(join(directory, name), text);
    return join(directory, name);
  };
  const known: Readonly<Record<string, string>> = {
    RULES: file("rules.yml", "- {when: bytes > 1, set: {size: big}}\n"),
    RULE: file("rule.yml", "{name: small, when: bytes < 1, set: {size: small}}\n"),
    WATCH: file("watch-rule.yml", "{name: few, measure: flows_per_second, when: '> 1'}\n"),
    USERS: file(
      "users.yml",
      `users:\n  ann: {role: viewer, certificate: [CN=ann]}\ntokens:\n  ci: {role: editor, hash: sha256:${"0".repeat(64)}}\n`,
    ),
  };
  const { run, flowPorts } = await startCommandWorld(t, {
    SVC_EXPLORE_ENABLE: "true",
    SVC_EXPLORE_PATH: join(directory, "explore"),
    SVC_FLOW_SERVER_UDP_ENABLE: "true",
    SVC_FLOW_SERVER_UDP_IP: "127.0.0.1",
    SVC_FLOW_SERVER_UDP_PORT: "0",
    SVC_STATE_DIRECTORY_PATH: join(directory, "state"),
    SVC_PROCESSOR_ENRICH_RULES_PATH: known["RULES"] ?? "",
    SVC_PROCESSOR_ENRICH_IPADDR_SOURCES_PATH: file(
      "sources.yml",
      `sources:\n  - {name: lines, kind: list, path: ${file("lines.txt", "198.51.100.0/24\n")}}\n`,
    ),
    SVC_WATCH_RULES_PATH: file(
      "watch.yml",
      `actions: {noc: {webhook: {url: "http://127.0.0.1:9"}}}\nrules:\n  - {name: many, measure: flows_per_second, when: "> 1k", act: noc}\n`,
    ),
  });
  assert.match((await run("exporters")).err, /^nobody has sent flows to UDP \d+ yet; netgloss doctor says more\n$/);
  await run("udm", "set", "10.0.0.1", "--name", "web-1", "--tag", "web");
  const flow = { source: "10.0.0.1", destination: "10.0.0.2", bytes: 5000, packets: 4 };
  await sendDatagram(flowPorts[0] ?? 0, netflowV5Datagram([flow], 0, Math.floor(Date.now() / 1000)));
  await until("the flow is kept", async () => {
    const { out } = await run("flows", "top", "--by", "src", "--last", "1h", "-o", "csv");
    return /^src,bytes,share,bit\/s\n10\.0\.0\.1,5000,1,\d+\n$/.test(out) || undefined;
  });

  for (const name of names) {
    const { argv = [], code = 0 }: Tried = given[name] ?? {};
    const words = [...name.split(" "), ...argv.map((word) => known[word] ?? word)];
    const print = async (format: string): Promise<string> => {
      const ended = await run(...words, "-o", format);
      assert.equal(ended.code, code, `${name} -o ${format}: ${ended.err}`);
      return ended.out;
    };
    if (code === 3) {
      for (const format of formats) assert.equal(await print(format), "", name);
      continue;
    }
    const json = JSON.parse(await print("json")) as unknown;
    const yaml = load(await print("yaml"));
    // Counters, times and rates go on meanwhile.
    assert.deepEqual(shapeOf(yaml), shapeOf(json), name);
    const [head = [], ...rows] = parse(await print("csv"));
    assert.ok(head.length > 1 && new Set(head).size === head.length, `${name}: ${head.join()}`);
    assert.ok(
      rows.every((row) => row.length === head.length),
      name,
    );
    await print("text");
  }
  assert.match(
    (await run("exporters", "-o", "csv")).out,
    /^exporter,name,protocols,records,recordsPerSecond,missing,waiting,lastSeen\n127\.0\.0\.1,,netflow5,1,[\d.]+,0,0,20\d\d-.*Z\n$/,
  );
  assert.match(
    (await run("metrics", "build_info", "-o", "csv")).out,
    /^name,labels,value\nnetgloss_build_info,"?.*version=0\.0\.0.*,1\n$/,
  );
  assert.match(
    (await run("user", "list", "--users-file", known["USERS"] ?? "", "-o", "csv")).out,
    /^user,.*\nann,viewer,,CN=ann,\n$/,
  );
  assert.doesNotMatch(
    (await run("token", "list", "--users-file", known["USERS"] ?? "", "-o", "json")).out,
    /sha256|000/,
  );
});

/** Names and types, without values. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.length === 0 ? [] : [shapeOf(value[0])];
  if (typeof value !== "object" || value === null) return typeof value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, shapeOf(each)]));
}

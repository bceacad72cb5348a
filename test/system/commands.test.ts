// Every command, against a collector with a million entries where it asks one: into pipes, to readers that go away, into a full disk, with
// the collector away, with a wrong password.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { createWriteStream, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import type { Command } from "commander";
import { createProgram } from "../../src/app/index.ts";
import { cleanUp } from "../support/clean-up.ts";
import { metadataSettings, startCollectorProcess } from "../support/collector-process.ts";
import { ipPacketWith, pcapFile } from "../support/capture-file.ts";
import { createFakeTerminal } from "../support/fake-terminal.ts";
import { acmeModule } from "../support/mib-texts.ts";
import { netflowV5Datagram } from "../support/netflow-v5.ts";
import { startDatabase } from "../support/postgresql.ts";
import { tempDirectory } from "../support/temp-directory.ts";

const bin = join(import.meta.dirname, "../../../bin/netgloss.js");
const entries = 1_000_000;

const watchRules = `actions:
  noc: {webhook: {url: "http://127.0.0.1:9"}}
rules:
  - {name: many, measure: flows_per_second, when: "> 1k", act: noc}
`;

const givingRules = "- {when: bytes > 1000, set: {size: big}}\n";

/** How a command that asks a collector is run; `silent` when it has nothing to write here, `public` when it asks for what all may read. */
interface Case {
  readonly argv?: readonly string[];
  readonly silent?: true;
  readonly public?: true;
  /** When it is not 0. */
  readonly code?: number;
}

/** By the names of commands; words in capitals are files and numbers of the test. */
const asking: Readonly<Record<string, Case | readonly Case[]>> = {
  doctor: { code: 1 },
  exporters: {},
  outputs: {},
  "rules list": { code: 5 },
  "rules show": { argv: ["big"], silent: true },
  "rules set": { argv: ["GIVEN"], silent: true },
  "rules move": { argv: ["big"], silent: true },
  "rules delete": { argv: ["big"], silent: true },
  "rules history": { silent: true },
  "rules undo": { argv: ["1"], silent: true },
  "rules test": { argv: ["GIVEN"], silent: true },
  "rules try": { argv: ["GIVEN"], code: 3 },
  address: ["text", "json", "yaml", "csv"].map((format) => ({ argv: ["10.0.0.1", "-o", format] })),
  value: { argv: ["tag", "pci"] },
  health: { public: true },
  metrics: { public: true },
  "udm get": { argv: ["10.0.0.1"] },
  "udm list": ["table", "json", "ndjson", "yaml", "csv", "name"].map((format) => ({ argv: ["-o", format] })),
  "udm count": [{}, { argv: ["--names"], code: 5 }],
  "udm search": { argv: ["host-1"] },
  "udm explain": { argv: ["10.0.0.1"] },
  "udm set": { argv: ["10.0.0.1", "--tag", "+pci"] },
  "udm edit": { argv: ["10.0.0.1"] },
  "udm apply": { argv: ["-f", "FILE", "--yes"] },
  "udm diff": { argv: ["-f", "FILE"] },
  "udm delete": { argv: ["10.0.0.1", "--dry-run"] },
  "udm import": { argv: ["SHEET", "--yes"] },
  "udm export": { argv: ["--format", "ndjson"] },
  "udm history": {},
  "udm undo": { argv: ["CHANGE", "--dry-run"] },
  "udm watch": { argv: ["--after", "0", "--limit", "1"] },
  "udm sources": {},
  "source list": {},
  "source run": { argv: ["lines"] },
  "source diff": { argv: ["lines"] },
  "source accept": { argv: ["lines"], code: 3 },
  "flows tail": { argv: ["--limit", "1"], silent: true },
  "flows top": { argv: ["--by", "dst.name", "--for", "1"] },
  "view list": {},
  "view export": {},
  "view import": { argv: ["VIEWS", "--dry-run"] },
  "report list": {},
  "report send": { argv: ["none"], silent: true },
  "report preview": { argv: ["none"], silent: true },
  "watch alerts": {},
  "watch rules list": {},
  "watch rules show": { argv: ["many"] },
  "watch rules set": { argv: ["RULE"] },
  "watch rules move": { argv: ["many"] },
  "watch rules delete": { argv: ["none"], silent: true },
  "watch rules history": {},
  "watch rules undo": { argv: ["99"], silent: true },
  "watch rules test": { argv: ["RULE"], silent: true },
  "watch answers": {},
  "watch approve": { argv: ["none"], silent: true },
  "watch withdraw": { argv: ["none"], silent: true },
  "watch ack": { argv: ["none"], silent: true },
  "watch test": { argv: ["noc"], silent: true },
  "watch resend": { argv: ["noc"] },
  "watch snooze": { argv: ["none", "1h"], silent: true },
  "watch silence": { argv: ["alert.rule.name = none", "1h"] },
  "watch silences": {},
  "watch unsilence": { argv: ["none"], silent: true },
  "output resend": { argv: ["http"], silent: true },
  "snmp apply": { silent: true },
  "snmp rediscover": { argv: ["192.0.2.1"], silent: true },
  "snmp discover": { argv: ["--dry-run"], silent: true },
  "snmp candidates": { silent: true },
  "snmp devices": {},
  "snmp links": {},
  "snmp locate": { argv: ["10.0.0.1"], silent: true },
};

/** Commands that need no collector and write what may be long. */
const offline: readonly (readonly string[])[] = [
  ["--help"],
  ["version"],
  ["config", "print"],
  ["config", "check", "--help"],
  ["completion", "zsh"],
  ["config", "migrate", "SETTINGS"],
  ["config", "check"],
  ["udm", "check", "FILE"],
  ["snmp", "check"],
  ["snmp", "generate", "MODULE"],
  ["output", "test", "http", "--config", "SETTINGS"],
  ["user", "set", "bob", "--role", "viewer", "--password-file", "PASSWORD", "--users-file", "USERS"],
  ["user", "list", "--users-file", "USERS"],
  ["token", "list", "--users-file", "USERS"],
  ["replay", "CAPTURE"],
  ["filter", "bytes > 1", "RECORDS"],
  ["watch", "check", "RULES"],
  ["watch", "ready"],
  ["rules", "check", "GIVEN"],
];

/** Commands that ask the database of the settings. */
const database: readonly (readonly string[])[] = [
  ["udm", "migrate"],
  ["udm", "copy", "--from", "file", "--to", "postgresql", "--yes"],
  ["udm", "copy", "--from", "postgresql", "--to", "file", "--dry-run"],
  ["fleet", "migrate"],
];

/** The names of all commands that ask a collector. */
function askingCommands(parent: Command, path: readonly string[] = []): readonly string[] {
  return parent.commands.flatMap((command) => {
    const names = [...path, command.name()];
    if (command.commands.length > 0) return askingCommands(command, names);
    return command.options.some(({ long }) => long === "--url") ? [names.join(" ")] : [];
  });
}

test("every command that asks a collector is tried", async () => {
  const program = await createProgram(createFakeTerminal([]), () => {});
  assert.deepEqual(askingCommands(program).toSorted(), Object.keys(asking).toSorted());
});

type Shell = (script: string, words: readonly string[], env?: Record<string, string>) => Ended;

interface Ended {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command by a script of bash, in which `"$@"` is the command. */
function shellIn(t: TestContext, given: Readonly<Record<string, string>>): Shell {
  const home = tempDirectory(t);
  return (script, words, env = {}) =>
    spawnSync("bash", ["-c", script, "bash", process.execPath, bin, ...words], {
      encoding: "utf8",
      maxBuffer: 2 ** 28,
      env: { PATH: process.env["PATH"], HOME: home, EDITOR: "true", ...given, ...env },
    });
}

/** The reader goes away after a line, which is a clean end; a full disk is a failure that says so. */
function endsWithItsReader(shell: Shell, words: readonly string[], code = 0): void {
  const name = words.join(" ");
  const head = shell('"$@" | head -n 1 > /dev/null; exit "${PIPESTATUS[0]}"', words);
  assert.equal(head.status, code, `${name} | head: ${head.stderr}`);
  if (code === 0) assert.doesNotMatch(head.stderr, /error/, name);
  const full = shell('"$@" > /dev/full', words);
  assert.equal(full.status, code === 0 ? 1 : code, `${name} into a full disk: ${full.stderr}`);
  if (code <= 1) assert.match(full.stderr, /error: the output cannot be written: ENOSPC/, name);
}

test(
  "commands write whole, end cleanly with their reader, and say why they cannot",
  { timeout: 900_000 },
  async (t) => {
    const directory = tempDirectory(t);
    const fileOf = (name: string, text: string): string => {
      const path = join(directory, name);
      writeFileSync(path, text);
      return path;
    };
    const path = join(directory, "ipaddrs.yml");
    const file = createWriteStream(path);
    for (let i = 0; i < entries; i++) {
      if (!file.write(`10.${i >> 16}.${(i >> 8) & 255}.${i & 255}:\n  name: host-${i}\n`)) await once(file, "drain");
    }
    file.end();
    await once(file, "close");
    const known: Readonly<Record<string, string>> = {
      FILE: fileOf("some.yml", "10.0.0.9: {name: applied}\n"),
      VIEWS: fileOf("views.yml", "views: [{name: a view}]\n"),
      SHEET: fileOf("sheet.csv", "key,name\n10.0.0.8,imported\n"),
      GIVEN: fileOf("rules.yml", givingRules),
      RULE: fileOf("rule.yml", '{name: more, measure: flows_per_second, when: "> 2k"}\n'),
    };
    const lines = fileOf("lines.txt", "198.51.100.0/24\n");
    const collector = await startCollectorProcess({
      settings: {
        ...metadataSettings(path),
        SVC_STATE_DIRECTORY_PATH: tempDirectory(t),
        SVC_PROCESSOR_ENRICH_IPADDR_SOURCES_PATH: fileOf(
          "sources.yml",
          `sources:\n  - { name: lines, kind: list, path: ${lines} }\n`,
        ),
        SVC_WATCH_RULES_PATH: fileOf("watch.yml", watchRules),
        SVC_API_BASIC_AUTH_ENABLE: "true",
        SVC_API_BASIC_AUTH_USERNAME: "operator",
        SVC_API_BASIC_AUTH_PASSWORD: "right",
      },
      readyMs: 180_000,
    });
    cleanUp(t, () => collector.end());
    const shell = shellIn(t, {
      NETGLOSS_URL: collector.api,
      NETGLOSS_USER: "operator",
      NETGLOSS_PASSWORD: "right",
    });
    assert.equal(shell('"$@"', ["udm", "set", "10.0.0.7", "--tag", "first"]).status, 0);
    const { stdout: changes } = shell('"$@"', ["udm", "history", "10.0.0.7", "-o", "ndjson"]);
    const { number } = JSON.parse(changes) as { number: number };
    const placed = (word: string): string => (word === "CHANGE" ? String(number) : (known[word] ?? word));

    assert.equal(shell('"$@" | wc -l', ["udm", "list", "-o", "name"]).stdout.trim(), String(entries));
    assert.equal(shell('"$@" | wc -l', ["udm", "list", "-o", "csv"]).stdout.trim(), String(entries + 1));
    assert.equal(shell('"$@" | wc -l', ["udm", "export", "--format", "ndjson"]).stdout.trim(), String(entries));
    for (const [name, one] of Object.entries(asking)) {
      for (const { argv = [], silent = false, public: isPublic = false, code = 0 } of [one].flat()) {
        const words = [...name.split(" "), ...argv.map(placed)];
        await t.test(words.join(" "), () => {
          if (!silent) endsWithItsReader(shell, words, code);
          const away = shell('"$@"', words, { NETGLOSS_URL: "http://127.0.0.1:9" });
          assert.equal(away.status, 6, away.stderr);
          assert.match(away.stderr, /^error: no answer from http:\/\/127\.0\.0\.1:9: .*Is netgloss running there\?\n$/);
          if (isPublic) return;
          const wrong = shell('"$@"', words, { NETGLOSS_PASSWORD: "wrong" });
          assert.equal(wrong.status, 5, wrong.stderr);
          assert.match(wrong.stderr, /^error: unauthenticated: credentials are missing or wrong\n$/);
        });
      }
    }
  },
);

/** A server that takes all it is sent, in a process of its own: this one waits for each command. @returns its port */
async function startHttpStore(t: TestContext): Promise<number> {
  const code = `const server = require("node:http").createServer((request, response) => request.resume().on("end", () => response.end()));
    server.listen(0, "127.0.0.1", () => console.log(server.address().port));`;
  const child = spawn(process.execPath, ["-e", code], { stdio: ["ignore", "pipe", "inherit"] });
  cleanUp(t, () => child.kill());
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  return Number(line);
}

test("commands that need no collector end cleanly with their reader, and say when they cannot write", async (t) => {
  const directory = tempDirectory(t);
  const write = (name: string, content: string | Buffer): string => {
    const path = join(directory, name);
    writeFileSync(path, content);
    return path;
  };
  const port = await startHttpStore(t);
  const flow = ipPacketWith(
    netflowV5Datagram([{ source: "10.0.0.1", destination: "10.0.0.2" }]),
    [192, 0, 2, 7],
    [40_000, 2055],
  );
  const packets = Array.from({ length: 2000 }, (_, i) => ({ time: i, bytes: flow }));
  const known: Readonly<Record<string, string>> = {
    FILE: write("some.yml", "10.0.0.9: {name: one}\n"),
    RECORDS: write("flows.ndjson", '{"flow.bytes":10}\n'.repeat(50_000)),
    SETTINGS: write("settings.env", `SVC_OUTPUT_GENERIC_HTTP_ADDRESSES=127.0.0.1:${port}\n`),
    MODULE: write("ACME-MIB", acmeModule),
    PASSWORD: write("password", "secret\n"),
    USERS: write("users.yml", "users:\n  ann: {role: viewer, certificate: [CN=ann]}\n"),
    RULES: write("watch.yml", watchRules),
    GIVEN: write("rules.yml", givingRules),
    CAPTURE: write("flows.pcap", pcapFile(packets, { linkType: 101 })),
  };
  const shell = shellIn(t, { SVC_API_PORT: "0", SVC_FLOW_SERVER_UDP_PORT: "0" });
  for (const argv of offline) {
    const words = argv.map((word) => known[word] ?? word);
    await t.test(words.join(" "), () => endsWithItsReader(shell, words));
  }
  await t.test("token create: a token that nobody could read is not made", () => {
    const words = ["token", "create", "ci", "--users-file", known["USERS"] ?? ""];
    const full = shell('"$@" > /dev/full', words);
    assert.equal(full.status, 1, full.stderr);
    assert.match(full.stderr, /^error: the token could not be shown, so none was made\nerror: .*ENOSPC/);
    const made = shell('"$@" | cat; exit "${PIPESTATUS[0]}"', words);
    assert.deepEqual([made.status, /^\S+\n$/.test(made.stdout)], [0, true], made.stderr);
    assert.match(shell('"$@"', ["token", "list", "--users-file", known["USERS"] ?? ""]).stdout, /^ci +viewer/m);
  });
});

test("commands that ask a database say what is wrong with it, and end cleanly with their reader", async (t) => {
  const { url } = await startDatabase(t);
  const path = join(tempDirectory(t), "ipaddrs.yml");
  writeFileSync(path, "10.0.0.9: {name: one}\n");
  const shell = shellIn(t, { SVC_PROCESSOR_ENRICH_IPADDR_METADATA_USERDEF_PATH: path });
  const urlName = "SVC_PROCESSOR_ENRICH_IPADDR_METADATA_POSTGRESQL_URL";
  for (const words of database) {
    await t.test(words.join(" "), () => {
      const unset = shell('"$@"', words);
      assert.equal(unset.status, 78, unset.stderr);
      const away = shell('"$@"', words, { [urlName]: "postgresql://u:hidden@127.0.0.1:9/x" });
      assert.equal(away.status, 6, away.stderr);
      assert.match(
        away.stderr,
        /^error: the (database|tables) of .*postgresql:\/\/127\.0\.0\.1:9\/x.*ECONNREFUSED.*\n$/,
      );
      const wrong = shell('"$@"', words, { [urlName]: url.replace("secret", "wrong") });
      assert.equal(wrong.status, 6, wrong.stderr);
      assert.match(
        wrong.stderr,
        /^error: the (database|tables) of .*: password authentication failed for user "netgloss".*\n$/,
      );
      assert.doesNotMatch(away.stderr + wrong.stderr, /hidden|:wrong/);
      endsWithItsReader((script, argv) => shell(script, argv, { [urlName]: url }), words);
    });
  }
});

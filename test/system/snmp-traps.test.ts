import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { createHealth, createMetrics, silentLog, systemClock } from "../../src/base/report/index.ts";
import { Snmp, definitionPathsIn } from "../../src/snmp/index.ts";
import { cleanUp } from "../support/clean-up.ts";
import { requireProgram } from "../support/require-program.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { until } from "../support/until.ts";

const run = promisify(execFile);
const users = [
  { name: "plain", options: ["-l", "noAuthNoPriv"], file: "{username: plain}" },
  {
    name: "md5",
    options: ["-l", "authNoPriv", "-a", "MD5", "-A", "password1"],
    file: "{username: md5, authentication_protocol: md5, authentication_passphrase: password1}",
  },
  {
    name: "shaaes",
    options: ["-l", "authPriv", "-a", "SHA", "-A", "password1", "-x", "AES", "-X", "password2"],
    file: "{username: shaaes, authentication_protocol: sha, authentication_passphrase: password1, privacy_protocol: aes, privacy_passphrase: password2}",
  },
  {
    name: "sha256des",
    options: ["-l", "authPriv", "-a", "SHA-256", "-A", "password1", "-x", "DES", "-X", "password2"],
    file: "{username: sha256des, authentication_protocol: sha256, authentication_passphrase: password1, privacy_protocol: des, privacy_passphrase: password2}",
  },
  {
    name: "sha512aes256",
    options: ["-l", "authPriv", "-a", "SHA-512", "-A", "password1", "-x", "AES-256", "-X", "password2"],
    file: "{username: sha512aes256, authentication_protocol: sha512, authentication_passphrase: password1, privacy_protocol: aes256, privacy_passphrase: password2}",
  },
];

test("traps and informs of net-snmp: all versions and levels; wrong passphrases are refused", async (t) => {
  if (!requireProgram(t, "snmptrap", "snmp") || !requireProgram(t, "snmpinform", "snmp")) return;
  const directory = tempDirectory(t);
  const credentials = users.map(({ file }) => `  - ${file}\n`).join("");
  writeFileSync(join(directory, "noc.yml"), `communities: [public]\nv3_credentials:\n${credentials}`);
  const records: Record<string, unknown>[] = [];
  const metrics = createMetrics();
  const snmp = new Snmp({
    paths: { ...definitionPathsIn(resolve(import.meta.dirname, "../../../definitions")), devices: [] },
    persistDirectory: "",
    enricher: { enrich() {} },
    sink: {
      write: (lines) => {
        for (const line of Buffer.from(lines).toString().trimEnd().split("\n"))
          records.push(JSON.parse(line) as Record<string, unknown>);
      },
    },
    clock: systemClock,
    log: silentLog,
    metrics,
    health: createHealth(),
    traps: {
      address: "127.0.0.1",
      port: 0,
      credentialsDirectory: directory,
      rulesPath: "",
      compileCondition: () => () => true,
      engineId: "",
      isAllowed: () => true,
      acceptsUntimely: () => false,
      tcp: true,
      maxRate: 0,
    },
  });
  await snmp.start();
  cleanUp(t, () => snmp.stop());
  const to = `127.0.0.1:${snmp.trapPort()}`;
  // Numbers only: MIB files are not in Debian's main section.
  const notification = [
    "",
    ".1.3.6.1.6.3.1.1.5.3",
    ".1.3.6.1.2.1.2.2.1.1.7",
    "i",
    "7",
    ".1.3.6.1.2.1.31.1.1.1.1.7",
    "s",
    "eth7",
  ];
  const send = (program: string, ...options: string[]): Promise<unknown> =>
    run(program, ["-m", "", ...options, to, ...notification], { env: { ...process.env, MIBS: "" }, timeout: 20_000 });
  const taken = async (version: string, kind: string, user?: string): Promise<void> => {
    const record = await until(`${kind} ${version} ${user ?? ""}`, () => records.shift());
    assert.equal(record["snmp.trap.version"], version);
    assert.equal(record["snmp.trap.kind"], kind);
    assert.equal(record["snmp.trap.user"], user);
    assert.equal(record["snmp.trap.name"], "linkDown");
    assert.equal(record["netif.index"], 7);
  };
  await run("snmptrap", [
    "-v1",
    "-c",
    "public",
    to,
    ".1.3.6.1.4.1.8072",
    "192.0.2.7",
    "2",
    "0",
    "1",
    ".1.3.6.1.2.1.2.2.1.1.7",
    "i",
    "7",
  ]);
  await taken("1", "trap");
  await send("snmptrap", "-v2c", "-c", "public");
  await taken("2c", "trap");
  await send("snmpinform", "-v2c", "-c", "public");
  await taken("2c", "inform");
  for (const { name, options } of users) {
    await send("snmptrap", "-v3", "-e", "0x8000000001020304", "-u", name, ...options);
    await taken("3", "trap", name);
    await send("snmpinform", "-v3", "-u", name, ...options);
    await taken("3", "inform", name);
  }
  const wrong = [
    "-v3",
    "-u",
    "shaaes",
    "-l",
    "authPriv",
    "-a",
    "SHA",
    "-A",
    "password9",
    "-x",
    "AES",
    "-X",
    "password2",
  ];
  await send("snmptrap", "-e", "0x8000000001020304", ...wrong);
  await assert.rejects(send("snmpinform", "-r", "0", "-t", "1", ...wrong));
  await assert.rejects(send("snmpinform", "-r", "0", "-t", "1", "-v3", "-u", "nobody", "-l", "noAuthNoPriv"));
  await send("snmptrap", "-v2c", "-c", "guess");
  const refused = (reason: string): Promise<number | undefined> =>
    metrics.value("netgloss_snmp_traps_refused_total", { reason });
  await until("the refusals", async () => (await refused("community")) === 1);
  assert.ok(Number(await refused("digest")) >= 2);
  assert.ok(Number(await refused("user")) >= 1);
  assert.equal(records.length, 0);
});

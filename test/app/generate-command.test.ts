import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { runProgram } from "../../src/app/index.ts";
import { createFakeTerminal } from "../support/fake-terminal.ts";
import { acmeModule } from "../support/mib-texts.ts";
import { tempDirectory } from "../support/temp-directory.ts";

async function generate(...argv: readonly string[]): Promise<{ code: number; out: string; err: string }> {
  const terminal = createFakeTerminal(["snmp", "generate", ...argv]);
  const code = await runProgram(terminal);
  return { code, out: terminal.written.out, err: terminal.written.err };
}

test("snmp generate: shows, writes, checks, keeps edits and names conflicts", async (t) => {
  const directory = tempDirectory(t);
  const [module, output] = [join(directory, "acme.txt"), join(directory, "out")];
  writeFileSync(module, acmeModule);
  const shown = await generate(module, "--root", "acmeFanTable");
  assert.equal(shown.code, 0);
  assert.match(shown.out, /^# ===== objects\/acme-mib\.yml\n[^]*ACME-MIB::acmeFanTable:/);
  assert.match(shown.err, /^1 objects with 5 attributes, \d+ questions .* Nothing is written: --output DIR does it\n$/);

  const wish = [module, "--output", output, "--device-group", "acme"];
  const first = await generate(...wish);
  assert.deepEqual([first.code, first.err], [0, ""]);
  assert.match(first.out, /^created: \S+objects\/acme-mib\.yml\n/);
  assert.match(first.out, /4 objects with \d+ attributes.*\n\d+ files, 0 devices, \d+ objects: no errors\n$/);

  const file = join(output, "objects/acme-mib.yml");
  writeFileSync(file, readFileSync(file, "utf8").replace("name: acme.load.pct", "name: system.load.pct"));
  writeFileSync(module, acmeModule.replace('Gauge32 (0..100) UNITS "percent"', 'Gauge32 (0..100) UNITS "0.1 percent"'));
  const again = await generate(...wish);
  assert.deepEqual([again.code, again.err], [0, ""]);
  assert.match(readFileSync(file, "utf8"), /name: system\.load\.pct\n {6}syntax: PercentDeci100\n/);

  writeFileSync(file, readFileSync(file, "utf8").replace("PercentDeci100", "Percent1"));
  writeFileSync(module, acmeModule);
  const conflict = await generate(...wish);
  assert.equal(conflict.code, 1);
  const line = Number(
    /acme-mib\.yml:(\d+): the module and a hand edit changed the same; the edit stays\n$/.exec(conflict.err)?.[1],
  );
  assert.equal(readFileSync(file, "utf8").split("\n")[line - 1], "      syntax: Percent1");
  assert.equal((await generate(...wish)).code, 0);
});

test("snmp generate: of a directory, what is no module is named and left out, the rest is made", async (t) => {
  const directory = tempDirectory(t);
  writeFileSync(join(directory, "ACME-MIB"), acmeModule);
  writeFileSync(join(directory, "README"), "Read me.");
  const { code, out, err } = await generate(directory);
  assert.equal(code, 1);
  assert.match(err, /^left out: \S+README:1:6: expected "DEFINITIONS"/);
  assert.match(out, /ACME-MIB::acmeFanTable:/);
});

test("snmp generate: modules that share an index go into one directory, one after the other", async (t) => {
  const directory = tempDirectory(t);
  const module = (name: string, body: string): void =>
    writeFileSync(
      join(directory, name),
      `${name} DEFINITIONS ::= BEGIN IMPORTS enterprises FROM SNMPv2-SMI\n${body}\nEND`,
    );
  const table = (word: string, index: string, arc: number): string =>
    `${word}Table OBJECT-TYPE SYNTAX SEQUENCE OF E MAX-ACCESS not-accessible STATUS current ::= { enterprises 32473 ${arc} }
     ${word}Entry OBJECT-TYPE SYNTAX E MAX-ACCESS not-accessible STATUS current INDEX { ${index} } ::= { ${word}Table 1 }
     ${word}Count OBJECT-TYPE SYNTAX INTEGER MAX-ACCESS read-only STATUS current ::= { ${word}Entry 2 }`;
  const kind =
    "oneKind OBJECT-TYPE SYNTAX INTEGER { a(1), b(2) } MAX-ACCESS read-only STATUS current ::= { oneEntry 1 }";
  module("ONE-MIB", `; ${table("one", "oneKind", 1)} ${kind}`);
  module("TWO-MIB", `oneKind FROM ONE-MIB; ${table("two", "oneKind", 2)}`);
  const output = join(directory, "out");
  for (const name of ["ONE-MIB", "TWO-MIB", "ONE-MIB"]) {
    const { code, err } = await generate(join(directory, name), "--output", output);
    assert.deepEqual([code, err], [0, ""]);
  }
});

test("snmp generate: what cannot be used is named", async (t) => {
  const directory = tempDirectory(t);
  const module = join(directory, "acme.txt");
  writeFileSync(module, acmeModule.replace("FROM INET-ADDRESS-MIB", "FROM ACME-TC"));
  const missing = await generate(module);
  assert.equal(missing.code, 0);
  assert.match(
    missing.err,
    /^warning: left out: acmePeerEntry: \S+acme\.txt:\d+:\d+: InetAddressType is imported from ACME-TC, which was not found; looked for in \S+/,
  );
  assert.match(missing.out, /^ACME-MIB::acmeFanTable:$/m);
  assert.doesNotMatch(missing.out, /^ACME-MIB::acmePeerTable:$/m);
  const errorOf = async (...argv: readonly string[]): Promise<string> => (await generate(...argv)).err;
  assert.equal(await errorOf("nowhere.mib"), "error: nowhere.mib: no such file\n");
  assert.match(await errorOf("NO-SUCH-MIB"), /^error: no module NO-SUCH-MIB; looked for in /);
  assert.match(await errorOf(module, "--mibs", "/nowhere"), /^error: --mibs \/nowhere: no such directory\n$/);
  writeFileSync(module, acmeModule);
  assert.match(await errorOf(module, "--device-group", "a b"), /^error: --device-group a b: expected letters/);
  assert.match(await errorOf(module, "--root", "acmeFanTabel"), /did you mean "acmeFanTable"\?/);
  assert.match(await errorOf(module, "--root", "acmeFanFailed"), /there is no object at or below/);
});

test("snmp generate: what netgloss has definitions of is left out, unless all is wanted", async (t) => {
  const directory = tempDirectory(t);
  const text = [
    "UPS-MIB DEFINITIONS ::= BEGIN IMPORTS mib-2 FROM SNMPv2-SMI DisplayString FROM SNMPv2-TC;",
    "upsIdent OBJECT IDENTIFIER ::= { mib-2 33 1 1 }",
    "upsIdentName OBJECT-TYPE SYNTAX DisplayString MAX-ACCESS read-write STATUS current ::= { upsIdent 5 } END",
  ].join("\n");
  writeFileSync(join(directory, "UPS-MIB"), text);
  const known = await generate(join(directory, "UPS-MIB"));
  assert.deepEqual([known.code, known.out], [0, ""]);
  assert.match(known.err, /^left out, because netgloss has it: UPS-MIB::upsIdent .*\nnothing is left to write; --all/);
  const all = await generate("UPS-MIB", "--mibs", directory, "--all", "--output", join(directory, "out"));
  assert.deepEqual([all.code, all.err], [0, ""]);
});

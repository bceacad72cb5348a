import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { commandsOf, pagesWithCommands, runPage, type PageCommand } from "../support/page-commands.ts";
import { requireProgram } from "../support/require-program.ts";

const root = join(import.meta.dirname, "../../..");

/** What only the real program can do; test/system/page-commands.test.ts has it. */
function needsRealProgram({ text }: PageCommand): boolean {
  return text.startsWith("buf ") || text.includes(" describe ") || /snmpd|agent\.pid|^snmptrap /m.test(text);
}

for (const page of pagesWithCommands()) {
  test(`${page}: every command works as it is written, against what npm start starts`, async (t) => {
    if (requireProgram(t, "curl", "apt-get install curl") === undefined) return;
    const count = await runPage(t, page, { standIns: true, threads: "main", isLeftOut: needsRealProgram });
    const left = commandsOf(page).filter((one) => one.untested !== undefined || needsRealProgram(one)).length;
    assert.equal(count + left, commandsOf(page).length);
    assert.ok(count + left > 0);
  });
}

test("docs/snmp.md: commands of net-snmp name OIDs by number, for Debian has no MIBs", () => {
  const text = readFileSync(join(root, "docs/snmp.md"), "utf8");
  const commands = [...text.matchAll(/`(snmp(?:get|walk|bulkwalk|getnext) [^`]*)`/g)].map((match) => match[1] ?? "");
  assert.ok(commands.length > 0);
  for (const command of commands) assert.match(command, / (?:\.\d+)+$/);
});

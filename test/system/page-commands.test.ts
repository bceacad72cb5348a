// The commands of the pages with the real programs that they name.
import assert from "node:assert/strict";
import { test } from "node:test";
import { pagesWithCommands, runPage } from "../support/page-commands.ts";
import { requireProgram } from "../support/require-program.ts";

for (const page of pagesWithCommands()) {
  test(`${page}: every command works as it is written, with the programs that it names`, async (t) => {
    if (requireProgram(t, "curl", "apt-get install curl") === undefined) return;
    const hint = "go install github.com/fullstorydev/grpcurl/cmd/grpcurl@latest";
    if (requireProgram(t, "grpcurl", hint) === undefined) return;
    // A host without buf can still run the other commands.
    const skip = (message?: string): void => t.diagnostic(message ?? "");
    const hasBuf = requireProgram({ skip }, "buf", "npm install --global @bufbuild/buf@1.74.0") !== undefined;
    const hasAgent = requireProgram({ skip }, "snmpd", "apt-get install snmpd") !== undefined;
    const hasTraps = requireProgram({ skip }, "snmptrap", "apt-get install snmp") !== undefined;
    const count = await runPage(t, page, {
      standIns: false,
      isLeftOut: ({ text }) =>
        (!hasBuf && text.startsWith("buf ")) ||
        (!hasAgent && /snmpd|agent\.pid/.test(text)) ||
        (!hasTraps && /^snmptrap /m.test(text)),
    });
    assert.ok(count > 0);
  });
}

import assert from "node:assert/strict";
import { test } from "node:test";
import { createLog, type LogFormat } from "../../../src/base/report/index.ts";

function logged(format: LogFormat, error: unknown): string {
  let text = "";
  const log = createLog({ level: "info", format, destination: { write: (line) => (text += line) } });
  log.error({ error }, "a file cannot be used");
  return text;
}

const fault = new Error("unexpected end", { cause: new Error("EOF") });
const loading = new Error("ipaddrs.yml:2:4: unexpected end", { cause: fault });
const wrapped = new Error("ipaddrs.yml:2:4: unexpected end", { cause: loading });

for (const format of ["text", "json"] as const) {
  test(`an error and its causes say each message once (${format})`, () => {
    const line = logged(format, wrapped);
    assert.equal(line.split("unexpected end").length, 2, line);
    assert.match(line, /ipaddrs\.yml:2:4: unexpected end: EOF"/);
  });
}

test("an operator's error has its code and no stack, a bug has its stack", () => {
  const refused = Object.assign(new Error("refused"), { code: "ECONNREFUSED" });
  const field = (error: unknown): unknown => JSON.parse(logged("json", error)).error;
  assert.deepEqual(field(refused), { type: "Error", message: "refused", code: "ECONNREFUSED" });
  const bug = field(new TypeError("x is not a function")) as { stack: string[] };
  assert.match(bug.stack[0] ?? "", /^at .*log\.test/);
  assert.equal(field("thrown text"), "thrown text");
});

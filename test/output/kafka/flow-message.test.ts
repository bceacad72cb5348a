import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { FlowEncoder } from "../../../src/output/index.ts";
import { recordFields } from "../../../src/record/index.ts";
import { runs } from "../../support/runs.ts";
import { goldenLines, messageMaker, recordOfLine, recordOfMessage } from "./decode-message.ts";

const messagesOf = messageMaker(new FlowEncoder());

function assertSame(lines: readonly string[]): void {
  const messages = messagesOf(lines);
  assert.equal(messages.length, lines.length);
  for (const [index, line] of lines.entries()) {
    assert.deepEqual(recordOfMessage(messages[index] as Uint8Array), recordOfLine(line), line);
  }
}

test("a message says what its line says, field by field, for all golden records", () => {
  const lines = goldenLines();
  assert.ok(lines.length > 400, `${lines.length} lines`);
  assertSame(lines);
});

const whole = fc
  .oneof(fc.bigInt({ min: -(2n ** 65n), max: 2n ** 65n }), fc.bigInt({ min: -3n, max: 70_000n }))
  .map(String);
const scalar = fc.oneof(
  whole,
  fc.double({ noDefaultInfinity: true, noNaN: true }).map((value) => JSON.stringify(value)),
  fc.constantFrom(
    "true",
    "false",
    '""',
    '"::"',
    '"1::"',
    '"::ffff:192.0.2.1"',
    '"2001:db8::g"',
    '"1.2.3"',
    '"01.2.3.4"',
    '"2026-02-30T00:00:00Z"',
  ),
  fc.string({ unit: "binary" }).map((text) => JSON.stringify(text)),
  fc
    .tuple(fc.date({ noInvalidDate: true, min: new Date("1600-01-01"), max: new Date("2400-01-01") }), fc.nat(999_999))
    .map(([date, more]) => JSON.stringify(date.toISOString().replace("Z", `${String(more).padStart(6, "0")}Z`))),
  fc.ipV4().map((text) => JSON.stringify(text)),
  fc.ipV6().map((text) => JSON.stringify(text)),
);
const value = fc.oneof(
  scalar,
  fc.array(scalar, { maxLength: 4 }).map((items) => `[${items.join(",")}]`),
);
const numbered = recordFields.filter(({ protoNumber }) => protoNumber !== undefined).map(({ name }) => name);
const name = fc.oneof(fc.constantFrom(...numbered), fc.constantFrom("flow.src.site", 'a"b', "netif.bytes.in"));

const line = fc
  .uniqueArray(fc.tuple(name, value), { selector: ([each]) => each, maxLength: 12 })
  .map((fields) => `{${fields.map(([each, text]) => `${JSON.stringify(each)}:${text}`).join(",")}}`);

test("values of any type under any name are in the message, those that do not fit their field under its name", () => {
  fc.assert(fc.property(fc.array(line, { minLength: 1, maxLength: 20 }), assertSame), runs(100));
});

test("messages of more rows than are written together are those of their lines alone", () => {
  const lines = goldenLines();
  const alone = messagesOf(lines).map((bytes) => Buffer.from(bytes));
  const many = messagesOf(Array.from({ length: 5000 }, (_, i) => lines[i % lines.length] as string));
  for (const [i, bytes] of many.entries()) assert.ok(alone[i % lines.length]?.equals(bytes), `message ${i}`);
});

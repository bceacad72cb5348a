import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import * as fc from "fast-check";
import { formatAddressBytes, parseAddress, formatAddress } from "../../../src/base/ip/index.ts";
import { FlowEncoder, MessageWriter } from "../../../src/output/index.ts";
import { readLine, recordFields, type Value } from "../../../src/record/index.ts";
import { runs } from "../../support/runs.ts";
import { flowSchema, messageReader } from "./decode-message.ts";

const golden = join(import.meta.dirname, "../../../../test/flow/golden");
const decode = messageReader(flowSchema, "flow.v1.Flow");
const fieldOf = new Map(recordFields.map((field) => [field.name, field]));
/** Names of records by those of the schema. */
const nameOf = new Map(
  Array.from(flowSchema.matchAll(/ (\w+) = \d+ \[json_name = "([^"]+)"\];/g), ([, proto = "", name = ""]) => [
    proto,
    name,
  ]),
);
const encoder = new FlowEncoder();
const writer = new MessageWriter();

function messageOf(line: string): Uint8Array {
  const bytes = Buffer.from(line);
  writer.clear();
  writer.reserve(bytes.length);
  encoder.encode(writer, bytes, 0, bytes.length);
  return writer.bytes.subarray(0, writer.at);
}

/** The record of a message, its values in the form of {@link plainValue}. */
function recordOf(line: string): Map<string, unknown> {
  const {
    other = {},
    other_json: json = {},
    ...fields
  } = decode(messageOf(line)) as Record<string, Record<string, string>>;
  const record = new Map<string, unknown>();
  for (const [proto, value] of Object.entries(fields)) {
    const name = nameOf.get(proto) ?? proto;
    record.set(name, shown(fieldOf.get(name)?.type, value));
  }
  for (const [name, value] of Object.entries(other)) record.set(name, plainValue(name, value));
  for (const [name, value] of Object.entries(json)) {
    const text = Buffer.from(`{"x":${value}`);
    const read = readLine(text, 0, text.length).get("x");
    record.set(name, fieldOf.has(name) ? plainValue(name, read as Value) : plain(read as Value));
  }
  return record;
}

function shown(type: string | undefined, value: unknown): unknown {
  if (type === "ip")
    return formatAddressBytes(Uint8Array.from(value as number[]), 0, (value as number[]).length === 4 ? 4 : 6);
  if (type === "double") return plain(value as number);
  return Array.isArray(value) ? value.map(plain) : plain(value as Value);
}

const plain = (value: Value): unknown => (Array.isArray(value) ? value.map(String) : String(value));

/** A value in the form in which those of a message are compared: times as nanoseconds, addresses in their canonical form. */
function plainValue(name: string, value: Value): unknown {
  const type = fieldOf.get(name)?.type;
  if ((type === "date" || type === "date_nanos") && typeof value === "string") {
    const [, seconds = "", decimals = ""] = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?Z$/.exec(value) ?? [];
    if (seconds === "") return value;
    return String(BigInt(Date.parse(`${seconds}Z`)) * 1_000_000n + BigInt(decimals.padEnd(9, "0")));
  }
  const address = type === "ip" && typeof value === "string" ? parseAddress(value) : undefined;
  return address === undefined ? plain(value) : formatAddress(address);
}

function assertSame(line: string): void {
  const expected = [...readLine(Buffer.from(line), 0, Buffer.byteLength(line) - 1)].map(
    ([name, value]): [string, unknown] => [name, plainValue(name, value)],
  );
  assert.deepEqual(recordOf(line), new Map(expected), line);
}

/** Every record of the golden cases, as it stands there. */
function goldenLines(): string[] {
  return readdirSync(golden).flatMap((file) => {
    const text = readFileSync(join(golden, file), "utf8");
    return Array.from(text.matchAll(/\{"@timestamp"(?:[^"{}]|"(?:[^"\\]|\\.)*")*\}/g), ([line]) => line);
  });
}

test("a message says what its line says, field by field, for all golden records", () => {
  const lines = goldenLines();
  assert.ok(lines.length > 400, `${lines.length} lines`);
  for (const line of lines) assertSame(line);
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

test("values of any type under any name are in the message, those that do not fit their field under its name", () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.tuple(name, value), { selector: ([each]) => each, maxLength: 12 }), (fields) => {
      assertSame(`{${fields.map(([each, text]) => `${JSON.stringify(each)}:${text}`).join(",")}}`);
    }),
    runs(400),
  );
});

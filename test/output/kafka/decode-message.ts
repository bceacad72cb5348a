import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import protobuf from "protobufjs";
import { BatchMessages, MessageWriter, readLines, type MessageEncoder } from "../../../src/output/index.ts";
import { formatAddressBytes, parseAddress, formatAddress } from "../../../src/base/ip/index.ts";
import { readLine, recordFields, type Value } from "../../../src/record/index.ts";

const root = join(import.meta.dirname, "../../../..");

type Decoded = Readonly<Record<string, unknown>>;

/** Reads messages by the text of a schema, with a library that shares nothing with the writer: 64-bit numbers as texts. */
export function messageReader(schema: string, message: string): (bytes: Uint8Array) => Decoded {
  const type = protobuf.parse(schema, { keepCase: true }).root.lookupType(message);
  return (bytes) => type.toObject(type.decode(bytes), { longs: String, bytes: Array });
}

export const flowSchema = readFileSync(join(root, "proto/flow/v1/flow.proto"), "utf8");

/** Makes messages of lines, as the adapter does. */
export function messageMaker(encoder: MessageEncoder): (lines: readonly string[]) => readonly Uint8Array[] {
  const maker = new BatchMessages(encoder, false);
  const memory = new MessageWriter();
  return (lines) => {
    const chunks = [Buffer.from(lines.map((line) => `${line}\n`).join(""))];
    const count = lines.length;
    const batch = { id: { instance: "abc", number: 0 }, chunks, count, byteLength: 0, oldestAt: 0 };
    const read = readLines(
      batch,
      () => -1,
      () => 0,
    );
    const { memories, from, to } = maker.make(batch, read, memory);
    return lines.map((_, index) => (memories[0] as Buffer).subarray(from[index], to[index]));
  };
}

const golden = join(root, "test/flow/golden");
const decode = messageReader(flowSchema, "flow.v1.Flow");
const fieldOf = new Map(recordFields.map((field) => [field.name, field]));
/** Names of records by those of the schema. */
const nameOf = new Map(
  Array.from(flowSchema.matchAll(/ (\w+) = \d+ \[json_name = "([^"]+)"\];/g), ([, proto = "", name = ""]) => [
    proto,
    name,
  ]),
);

/** The record of a message, its values in the form of {@link plainValue}. */
export function recordOfMessage(message: Uint8Array): Map<string, unknown> {
  const { other = {}, other_json: json = {}, ...fields } = decode(message) as Record<string, Record<string, string>>;
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
  // A field of floating-point numbers has the nearest of them.
  if (type === "double" && (typeof value === "bigint" || typeof value === "number")) return plain(Number(value));
  const address = type === "ip" && typeof value === "string" ? parseAddress(value) : undefined;
  return address === undefined ? plain(value) : formatAddress(address);
}

/** The record of a line, its values in the form of {@link plainValue}. */
export function recordOfLine(line: string): Map<string, unknown> {
  const record = readLine(Buffer.from(line), 0, Buffer.byteLength(line) - 1);
  return new Map(Array.from(record, ([name, value]): [string, unknown] => [name, plainValue(name, value)]));
}

/** Every record of the golden cases, as it stands there. */
export function goldenLines(): string[] {
  return readdirSync(golden).flatMap((file) => {
    const text = readFileSync(join(golden, file), "utf8");
    return Array.from(text.matchAll(/\{"@timestamp"(?:[^"{}]|"(?:[^"\\]|\\.)*")*\}/g), ([line]) => line);
  });
}

import { readFileSync } from "node:fs";
import { join } from "node:path";
import protobuf from "protobufjs";
import { BatchMessages, MessageMemory, readLines, type MessageEncoder } from "../../../src/output/index.ts";

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
  const memory = new MessageMemory();
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

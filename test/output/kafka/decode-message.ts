import { readFileSync } from "node:fs";
import { join } from "node:path";
import protobuf from "protobufjs";

const root = join(import.meta.dirname, "../../../..");

type Decoded = Readonly<Record<string, unknown>>;

/** Reads messages by the text of a schema, with a library that shares nothing with the writer: 64-bit numbers as texts. */
export function messageReader(schema: string, message: string): (bytes: Uint8Array) => Decoded {
  const type = protobuf.parse(schema, { keepCase: true }).root.lookupType(message);
  return (bytes) => type.toObject(type.decode(bytes), { longs: String, bytes: Array });
}

export const flowSchema = readFileSync(join(root, "proto/flow/v1/flow.proto"), "utf8");

import { createHash } from "node:crypto";
import type { ExporterState } from "./exporter-state.ts";
import { readExporterState } from "./state-text.ts";

/** Why a file is not used. */
export const ignoreReasons = {
  foreign: "not a file of exporters' state",
  newer: "of a version that this program does not know",
  torn: "cut off or changed: its checksum does not match",
  content: "its content is not what its version says",
  size: "longer than any that is written",
} as const;
export type IgnoreReason = keyof typeof ignoreReasons;

const magic = "netgloss-exporters";
const version = 1;
const maxHeader = 128;

/**
 * A file: one line `netgloss-exporters <version> <bytes of the rest> <its SHA-256 in hex>`, then a JSON array.
 *
 * @param states as `writeExporterState` makes them.
 */
export function encodeStateFile(states: readonly string[]): Buffer {
  const body = Buffer.from(`[\n${states.join(",\n")}\n]\n`);
  return Buffer.concat([Buffer.from(`${magic} ${version} ${body.length} ${digest(body)}\n`), body]);
}

/** Reads such a file. Whatever the bytes are, this does not throw. */
export function decodeStateFile(bytes: Uint8Array): readonly ExporterState[] | IgnoreReason {
  const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const end = all.subarray(0, maxHeader).indexOf(0x0a);
  const [name, fileVersion, length, sum] = all.toString("latin1", 0, Math.max(0, end)).split(" ");
  if (name !== magic || !/^[0-9]{1,9}$/.test(fileVersion ?? "")) return all.length === 0 ? "torn" : "foreign";
  if (Number(fileVersion) !== version) return "newer";
  const body = all.subarray(end + 1);
  if (Number(length) !== body.length || digest(body) !== sum) return "torn";
  try {
    const values = JSON.parse(body.toString()) as unknown;
    const states = Array.isArray(values) ? values.map(readExporterState) : [undefined];
    return states.every((state) => state !== undefined) ? states : "content";
  } catch {
    return "content";
  }
}

function digest(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("hex");
}

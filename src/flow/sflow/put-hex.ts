import type { RecordFields, Scalar } from "../../record/index.ts";

/** What a structure is of: each has numbers of its own. */
export type StructureKind = "sample" | "flow" | "counters";

/**
 * Puts a structure that cannot be told in fields as hex: `flow.ie.sflow.<kind>.<enterprise>.<format>`. It is an array
 * always, because a sample may have several of one format.
 *
 * @param key enterprise in the upper twenty bits, format in the lower twelve.
 */
export function putHex(
  record: RecordFields,
  kind: StructureKind,
  key: number,
  bytes: Buffer,
  at: number,
  end: number,
): void {
  const name = `flow.ie.sflow.${kind}.${key >>> 12}.${key & 0xfff}`;
  const text = `0x${bytes.toString("hex", at, end)}`;
  const known = record.get(name) as Scalar[] | undefined;
  if (known === undefined) record.set(name, [text]);
  else known.push(text);
}

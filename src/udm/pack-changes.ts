import { parseKey } from "../ip/index.ts";
import { itemsATurn, nextTurn } from "./next-turn.ts";
import type { UdmChange } from "./udm-pages.ts";

// Changes as bytes, one after the other: length of the key's text (1), length of the YAML (4), both texts.
const headBytes = 5;
/** In place of a length: the entry is gone. */
const isGone = 0xffff_ffff;
const firstBytes = 4096;

/**
 * Changes as bytes that go to another thread without a copy: many objects would be copied in one go. Takes several turns of
 * the event loop for many.
 */
export async function packChanges(changes: readonly UdmChange[]): Promise<Uint8Array<ArrayBuffer>> {
  let packed = Buffer.from(new ArrayBuffer(firstBytes));
  let at = 0;
  for (const [i, { key, yaml }] of changes.entries()) {
    if (i % itemsATurn === itemsATurn - 1) await nextTurn();
    // UTF-8 has at most three bytes for each unit of a text.
    const most = headBytes + key.text.length + 3 * (yaml?.length ?? 0);
    if (at + most > packed.length) {
      const larger = Buffer.from(new ArrayBuffer(2 * (at + most)));
      packed.copy(larger, 0, 0, at);
      packed = larger;
    }
    packed[at] = key.text.length;
    const start = at + headBytes + packed.write(key.text, at + headBytes, "latin1");
    packed.writeUInt32LE(yaml === undefined ? isGone : put(packed, yaml, start), at + 1);
    at = start + (yaml === undefined ? 0 : packed.readUInt32LE(at + 1));
  }
  return new Uint8Array(packed.buffer, 0, at);
}

function put(into: Buffer, yaml: string | Uint8Array, at: number): number {
  if (typeof yaml === "string") return into.write(yaml, at);
  into.set(yaml, at);
  return yaml.length;
}

/** The changes again; their YAML stays where it is. */
export function unpackChanges(packed: Uint8Array): UdmChange[] {
  const bytes = Buffer.from(packed.buffer, packed.byteOffset, packed.length);
  const changes: UdmChange[] = [];
  for (let at = 0; at < bytes.length;) {
    const start = at + headBytes + (bytes[at] as number);
    const length = bytes.readUInt32LE(at + 1);
    const key = parseKey(bytes.toString("latin1", at + headBytes, start));
    at = length === isGone ? start : start + length;
    changes.push({ key, yaml: length === isGone ? undefined : bytes.subarray(start, at) });
  }
  return changes;
}

import { parseKey, type Key } from "../../base/ip/index.ts";
import type { UdmChange } from "./udm-pages.ts";

// Changes as bytes, one after the other: length of the key's text (1), length of the YAML (4), both texts.
const headBytes = 5;
/** In place of a length: the entry is gone. */
const isGone = 0xffff_ffff;
const firstBytes = 4096;

/**
 * Changes to the file in their order, kept as bytes: so many texts would slow down the garbage collector, and
 * would be copied one by one on their way to another thread.
 */
export interface ChangeLog {
  /** @param yaml of the entry as `renderEntry` has it, undefined when it is gone. */
  add(key: Key, yaml: string | undefined): void;
  readonly isEmpty: boolean;
  /** In bytes. */
  readonly length: number;
  /** Gives up what was added behind this length. */
  cut(length: number): void;
  /** All of them, for {@link readChanges}. The memory is given away: nothing may be added afterwards. */
  take(): Uint8Array<ArrayBuffer>;
}

export function createChangeLog(): ChangeLog {
  let bytes = Buffer.from(new ArrayBuffer(firstBytes));
  let at = 0;
  return {
    get isEmpty() {
      return at === 0;
    },
    get length() {
      return at;
    },
    cut: (length) => void (at = length),
    add(key, yaml) {
      // UTF-8 has at most three bytes for each unit of a text.
      const most = headBytes + key.text.length + 3 * (yaml?.length ?? 0);
      if (at + most > bytes.length) {
        const larger = Buffer.from(new ArrayBuffer(2 * (at + most)));
        bytes.copy(larger, 0, 0, at);
        bytes = larger;
      }
      bytes[at] = key.text.length;
      const start = at + headBytes + bytes.write(key.text, at + headBytes, "latin1");
      const length = yaml === undefined ? 0 : bytes.write(yaml, start);
      bytes.writeUInt32LE(yaml === undefined ? isGone : length, at + 1);
      at = start + length;
    },
    take: () => new Uint8Array(bytes.buffer, 0, at),
  };
}

/** What a {@link ChangeLog} has kept. The texts stay where they are. */
export function readChanges(taken: Uint8Array): UdmChange[] {
  const bytes = Buffer.from(taken.buffer, taken.byteOffset, taken.length);
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

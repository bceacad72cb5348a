import { readValueAt } from "./read-line.ts";
import type { FieldValues, Value } from "./record-fields.ts";

/** The fields of one line of ours after the other; each is looked for when it is asked for. */
export interface LineValues extends FieldValues {
  /** Goes to the line from its brace at `start` up to `end`. Its bytes must stay as they are while it is asked. */
  use(bytes: Buffer, start: number, end: number): void;
}

/** Names come from settings and requests; more of them are looked up without being remembered. */
const maxNames = 1024;

export function createLineValues(): LineValues {
  const keys = new Map<string, Buffer>();
  let line: Buffer = Buffer.alloc(0);

  const keyOf = (name: string): Buffer => {
    const known = keys.get(name);
    if (known !== undefined) return known;
    const key = Buffer.from(`,${JSON.stringify(name)}:`);
    if (keys.size < maxNames) keys.set(name, key);
    return key;
  };

  /** Behind the colon; -1 when there is no such field. A quote within a text is escaped, so `,"name":` is not part of one. */
  const findValue = (key: Buffer): number => {
    if (key.compare(line, 1, key.length, 1) === 0) return key.length;
    const at = line.indexOf(key);
    return at < 0 ? -1 : at + key.length;
  };

  return {
    use(bytes, start, end) {
      line = bytes.subarray(start, end);
    },
    get(name): Value | undefined {
      const at = findValue(keyOf(name));
      return at < 0 ? undefined : readValueAt(line, at);
    },
  };
}

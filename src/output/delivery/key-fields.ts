import { endOfValue, fieldKey, findValue } from "./line-fields.ts";

/** Makes the function that finds the key of a line: the value of the first of these fields, a text without its quotes. */
export function createKeyOf(fields: readonly string[]): (line: Buffer) => Buffer | undefined {
  const keys = fields.map(fieldKey);
  return (line) => {
    for (const key of keys) {
      const from = findValue(line, 0, line.length, key);
      if (from < 0) continue;
      const to = endOfValue(line, from, line.length);
      return line[from] === 0x22 ? line.subarray(from + 1, to - 1) : line.subarray(from, to);
    }
    return undefined;
  };
}

import { fieldKey, findValue } from "./line-fields.ts";

const timestampKey = fieldKey("@timestamp");

/** Milliseconds since the epoch of a line's `@timestamp`; 0: it has none that can be read. */
export type TimeOf = (line: Buffer, from: number, to: number) => number;

/** Lines of one time follow each other, so the last one is kept. */
export function createTimeOf(): TimeOf {
  let lastText = "";
  let lastTime = 0;
  return (line, from, to) => {
    const at = findValue(line, from, to, timestampKey);
    if (at < 0) return 0;
    const text = line.toString("latin1", at + 1, Math.min(to, line.indexOf(0x22, at + 1)));
    if (text !== lastText) {
      lastText = text;
      lastTime = Date.parse(text) || 0;
    }
    return lastTime;
  };
}

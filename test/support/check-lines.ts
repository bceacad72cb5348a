import assert from "node:assert/strict";
import { isUtf8 } from "node:buffer";

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;

/** Judges NDJSON of flat objects, fast enough for every byte that a fuzz run brings out. */
export interface LineChecker {
  /**
   * @returns how many lines there are.
   * @throws AssertionError unless each is one JSON object in UTF-8 without a name twice, whose values are no objects.
   */
  check(lines: Uint8Array): number;
}

export function createLineChecker(): LineChecker {
  /** By the low bits of a name's hash, the line that had it last. */
  const seen = new Uint32Array(65_536);
  let line = 0;

  return {
    check(bytes) {
      assert.ok(isUtf8(bytes));
      let count = 0;
      for (let at = 0; at < bytes.length; count++) {
        const start = at;
        line = (line + 1) >>> 0;
        const end = scanLine(bytes, at, seen, line);
        at = end > 0 ? end : bytes.indexOf(0x0a, start) + 1 || bytes.length;
        // What the scan cannot vouch for is looked at slowly, and so is a line now and then, whatever the scan says.
        if (end < 0 || line % 64 === 0) checkLine(Buffer.from(bytes.subarray(start, at)).toString());
      }
      return count;
    },
  };
}

/** The slow and obvious check of one line with its line feed. */
function checkLine(text: string): void {
  assert.ok(text.endsWith("}\n"), text);
  const parsed = JSON.parse(text) as Record<string, unknown>;
  // In a flat object a string with a colon behind it is a name.
  let names = 0;
  for (const [, colon] of text.matchAll(/"(?:[^"\\]|\\.)*"(:?)/g)) if (colon !== "") names++;
  assert.equal(names, Object.keys(parsed).length, text);
}

/** @returns where the next line begins; -1 when this one may be wrong: two names that only seem the same are rare. */
function scanLine(bytes: Uint8Array, start: number, seen: Uint32Array, line: number): number {
  let at = start;
  if (bytes[at++] !== 0x7b) return -1;
  for (;;) {
    if (bytes[at] !== quote) return -1;
    let hash = 0x811c9dc5;
    let byte: number | undefined;
    for (at++; (byte = bytes[at]) !== quote; at++) {
      // Names with escapes are left to the slow check.
      if (byte === undefined || byte === backslash || byte < 0x20) return -1;
      hash = Math.imul(hash ^ byte, 0x01000193);
    }
    const slot = (hash ^ (hash >>> 16)) & 0xffff;
    if (seen[slot] === line) return -1;
    seen[slot] = line;
    if (bytes[at + 1] !== 0x3a) return -1;
    at = scanValue(bytes, at + 2);
    if (at < 0) return -1;
    const next = bytes[at++];
    if (next === comma) continue;
    return next === 0x7d && bytes[at] === 0x0a ? at + 1 : -1;
  }
}

/** @returns where a string, a number, a literal or an array of such ends; -1 when it may be none. */
function scanValue(bytes: Uint8Array, start: number): number {
  const first = bytes[start];
  if (first === quote) return scanString(bytes, start);
  if (first !== 0x5b) return scanPlain(bytes, start);
  let at = start;
  do {
    at = scanValue(bytes, at + 1);
    if (at < 0) return -1;
  } while (bytes[at] === comma);
  return bytes[at] === 0x5d ? at + 1 : -1;
}

function scanString(bytes: Uint8Array, start: number): number {
  for (let at = start + 1; ; at++) {
    const byte = bytes[at];
    if (byte === quote) return at + 1;
    // Strings with escapes are left to the slow check.
    if (byte === undefined || byte === backslash || byte < 0x20) return -1;
  }
}

/** A whole number, or a literal; other numbers are left to the slow check. */
function scanPlain(bytes: Uint8Array, start: number): number {
  let at = start;
  const first = bytes[at];
  if (first === 0x74 || first === 0x66 || first === 0x6e) {
    const length = first === 0x66 ? 5 : 4;
    const text = String.fromCharCode(...bytes.subarray(at, at + length));
    return text === "true" || text === "false" || text === "null" ? at + length : -1;
  }
  if (first === 0x2d) at++;
  const digits = at;
  for (;;) {
    const byte = bytes[at];
    if (byte === undefined || byte < 0x30 || byte > 0x39) break;
    at++;
  }
  const isWhole = at > digits && (bytes[digits] !== 0x30 || at === digits + 1);
  const behind = bytes[at];
  return isWhole && (behind === comma || behind === 0x7d || behind === 0x5d) ? at : -1;
}

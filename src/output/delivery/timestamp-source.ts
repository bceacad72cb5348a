const start = Buffer.from('{"@timestamp":"');
const quote = 0x22;

/**
 * Makes the function that puts the value of another field of time into `@timestamp`, which is the first field of each line.
 * A line without that field stays as it is. @returns lines in memory of their own.
 *
 * @param field a field of texts without escapes, as times are.
 */
export function createTimestampSource(field: string): (lines: Uint8Array) => Uint8Array {
  // In a text a quote has a backslash before it, so that this is the field itself.
  const name = Buffer.from(`,"${field}":"`);
  return (lines) => {
    const from = Buffer.from(lines.buffer, lines.byteOffset, lines.length);
    const parts: Buffer[] = [];
    for (let at = 0; at < from.length;) {
      const end = from.indexOf(0x0a, at) + 1 || from.length;
      const line = from.subarray(at, end);
      at = end;
      const found = line.indexOf(name);
      const isTimed = line.subarray(0, start.length).equals(start);
      const valueEnd = isTimed && found >= 0 ? line.indexOf(quote, found + name.length) : -1;
      if (valueEnd < 0) parts.push(line);
      else {
        const rest = line.indexOf(quote, start.length);
        parts.push(start, line.subarray(found + name.length, valueEnd), line.subarray(rest));
      }
    }
    // Who keeps the lines is to keep no more memory than they take.
    return new Uint8Array(Buffer.concat(parts));
  };
}

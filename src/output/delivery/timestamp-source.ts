const start = Buffer.from('{"@timestamp":"');
const quote = 0x22;

/** A time of an exporter that is further from the time of receipt is not believed, milliseconds. */
const believedMs = 86_400_000;
/** `2026-01-02` */
const dateLength = 10;

/**
 * Makes the function that puts the value of another field of time into `@timestamp`, which is the first field of each line.
 * A line without that field stays as it is. So does one whose field is more than a day from the time of receipt, which is
 * there before: `@timestamp` names indices and partitions, and an exporter's clock must not make one for each year that it shows.
 *
 * @returns lines in memory of their own.
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
      const rest = line.indexOf(quote, start.length);
      if (valueEnd < 0 || !isNear(line, start.length, rest, found + name.length, valueEnd)) parts.push(line);
      else parts.push(start, line.subarray(found + name.length, valueEnd), line.subarray(rest));
    }
    // Who keeps the lines is to keep no more memory than they take.
    return new Uint8Array(Buffer.concat(parts));
  };
}

/** Whether two times of a line, from here to there, are at most a day apart. */
function isNear(line: Buffer, from: number, to: number, otherFrom: number, otherTo: number): boolean {
  // Those of one date are, and need no parsing.
  const dateEnd = from + dateLength;
  if (to > dateEnd && otherTo > otherFrom + dateLength) {
    if (line.compare(line, from, dateEnd, otherFrom, otherFrom + dateLength) === 0) return true;
  }
  const [received, named] = [timeOf(line, from, to), timeOf(line, otherFrom, otherTo)];
  return Math.abs(received - named) <= believedMs;
}

/** Milliseconds since the epoch; NaN: it is no time. */
function timeOf(line: Buffer, from: number, to: number): number {
  // Nanoseconds are more than the engine's parser takes.
  return Date.parse(line.toString("latin1", from, to).replace(/(\.[0-9]{3})[0-9]+/, "$1"));
}

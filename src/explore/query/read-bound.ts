const units: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/**
 * Reads an end of a range of time: RFC 3339, `now`, or a time span before now: `-15m`, `-1h`, `-7d`.
 *
 * @param now milliseconds since the epoch. @returns the same; undefined when the text is none.
 */
export function readBound(text: string, now: number): number | undefined {
  if (text === "now") return now;
  const relative = /^-(\d{1,6})([smhdw])$/.exec(text);
  if (relative !== null) return now - Number(relative[1]) * (units[relative[2] as string] as number);
  if (!/^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d(\.\d+)?)?([Zz]|[+-]\d\d:\d\d)$/.test(text)) return undefined;
  const time = Date.parse(text);
  return Number.isNaN(time) ? undefined : time;
}

/** Writes times as RFC 3339 in UTC, with the digits that the exporter gave. */
export interface TimeFormat {
  /**
   * @param seconds whole seconds since the epoch.
   * @returns undefined outside the years 1970 to 9999, which RFC 3339 cannot write or no clock shows.
   */
  seconds(seconds: number): string | undefined;
  /** @param milliseconds since the epoch, whole. */
  milliseconds(milliseconds: number): string | undefined;
  /**
   * @param fraction digits after the second, below 10^digits.
   * @param digits 6 or 9.
   */
  fraction(seconds: number, fraction: number, digits: number): string | undefined;
}

const lastSecond = 253_402_300_799;
const cacheSize = 1024;
const milliTails = Array.from({ length: 1000 }, (_, i) => `.${String(i).padStart(3, "0")}Z`);

/** A format that remembers recent seconds: the records of a datagram fall into few of them, and a Date costs most. */
export function createTimeFormat(): TimeFormat {
  const cachedSeconds = new Float64Array(cacheSize).fill(-1);
  const cachedTexts = Array<string>(cacheSize).fill("");

  /** `YYYY-MM-DDTHH:MM:SS` */
  const prefix = (seconds: number): string | undefined => {
    const slot = seconds % cacheSize;
    if (cachedSeconds[slot] === seconds) return cachedTexts[slot];
    if (!(seconds >= 0 && seconds <= lastSecond)) return undefined;
    const text = new Date(seconds * 1000).toISOString().slice(0, 19);
    cachedSeconds[slot] = seconds;
    cachedTexts[slot] = text;
    return text;
  };
  // The headers of many datagrams have the same time: the same text is not put together again.
  let wholeSecond = Number.NaN;
  let wholeText: string | undefined;
  let millisecond = Number.NaN;
  let millisecondText: string | undefined;
  const join = (head: string | undefined, tail: string | undefined): string | undefined =>
    head === undefined || tail === undefined ? undefined : head + tail;

  return {
    seconds(seconds) {
      if (seconds !== wholeSecond) {
        wholeText = join(prefix(seconds), "Z");
        wholeSecond = seconds;
      }
      return wholeText;
    },
    milliseconds(milliseconds) {
      if (milliseconds !== millisecond) {
        const seconds = Math.floor(milliseconds / 1000);
        millisecondText = join(prefix(seconds), milliTails[milliseconds - seconds * 1000]);
        millisecond = milliseconds;
      }
      return millisecondText;
    },
    fraction: (seconds, fraction, digits) => join(prefix(seconds), `.${String(fraction).padStart(digits, "0")}Z`),
  };
}

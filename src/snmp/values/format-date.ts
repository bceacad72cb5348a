/** A clock that was never set says 0, 1900 or 1970; the first two are no times. */
const firstYear = 1901;

/**
 * DateAndTime (RFC 2579) as an RFC 3339 time in UTC with tenths of a second. Without the time zone octets the local
 * time of an unknown place is all there is; it is given as if it were UTC.
 *
 * @returns undefined for octets that are no time, such as the zeros of an agent that has none.
 */
export function formatDateAndTime(bytes: Uint8Array): string | undefined {
  if (bytes.length !== 8 && bytes.length !== 11) return undefined;
  const [high, low, month, day, hour, minute, second, tenths] = bytes as unknown as Octets;
  const year = high * 256 + low;
  if (year < firstYear || year > 9999 || month < 1 || month > 12 || day < 1 || day > daysOf(year, month))
    return undefined;
  // A leap second has the number 60.
  if (hour > 23 || minute > 59 || second > 60 || tenths > 9) return undefined;
  const offset = bytes.length === 11 ? readOffset(bytes) : 0;
  if (offset === undefined) return undefined;
  const text = new Date(Date.UTC(year, month - 1, day, hour, minute - offset, second, tenths * 100)).toISOString();
  // The shift to UTC can lead out of the years that RFC 3339 can write.
  return text.length === 24 ? `${text.slice(0, 21)}Z` : undefined;
}

type Octets = [number, number, number, number, number, number, number, number];

/** Minutes by which local clocks are ahead of UTC: "+" is east of it. */
function readOffset(bytes: Uint8Array): number | undefined {
  const [sign, hours, minutes] = bytes.subarray(8) as unknown as [number, number, number];
  if ((sign !== 0x2b && sign !== 0x2d) || hours > 14 || minutes > 59) return undefined;
  return (sign === 0x2b ? 1 : -1) * (hours * 60 + minutes);
}

function daysOf(year: number, month: number): number {
  return new Date(Date.UTC(year, month, 0)).getUTCDate();
}

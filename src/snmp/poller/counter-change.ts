import type { Attribute } from "../definitions/definitions.ts";

/**
 * Why two readings of a counter give no rate: it went back (`reset`), it has 32 bits and goes round more than once between
 * two polls at the speed of its interface (`narrow`), or it went on by more than its interface can count (`step`).
 */
export const rateRefusals = ["reset", "narrow", "step"] as const;
export type RateRefusal = (typeof rateRefusals)[number];

/** What a counter did between two polls, in the unit of its field. */
export type CounterChange =
  | { readonly attribute: Attribute; readonly delta: number | bigint; readonly perSecond: number }
  | { readonly attribute: Attribute; readonly refused: RateRefusal };

/** Where a counter of 32 bits goes round. */
export const counter32 = 2 ** 32;
/** The octets on the wire of the shortest packet: 32 bits of packets last longer than 32 bits of octets. */
const leastPacket = 84;

/** What an interface can count in this many milliseconds at most; undefined where that is not known. */
export function mostIn({ field }: Attribute, speed: number | undefined, elapsed: number): number | undefined {
  if (speed === undefined || speed <= 0) return undefined;
  const octets = (speed * elapsed) / 8000;
  return /(?:^|[._])(?:bytes|octets)(?:$|[._])/.test(field) ? octets : octets / leastPacket;
}

/** Readings are not taken at the time of the answer to the millisecond, nor do agents count up to then. */
const readingMs = 1000;

/**
 * Whether the change is more than the interface can count in this many milliseconds. Speeds of tunnels and virtual
 * interfaces are often made up, so that a change is a step only where the one before was not as fast.
 *
 * @param rateBefore per second, of the change before; {@link steppedRate} when that was a step.
 */
export function isStep(
  change: number,
  rateBefore: number,
  attribute: Attribute,
  speed: number | undefined,
  elapsed: number,
): boolean {
  const most = mostIn(attribute, speed, elapsed + readingMs);
  if (most === undefined || change <= Math.max(most * tolerance, 1)) return false;
  return rateBefore !== steppedRate && !(rateBefore > (mostIn(attribute, speed, 1000) as number) * tolerance);
}

/** In the place of the rate of a change that was a step. */
export const steppedRate = -1;

/** Interfaces count a little more than their speed: clocks differ, and some count what is not on the wire. */
const tolerance = 1.1;

/**
 * What the change of a counter means (RFC 2863 section 3.1.6). One of 32 bits that went back has gone round, unless that
 * would be more than the interface can count, or, where its speed is not known, more than half of the way.
 */
export function judgeChange(
  change: number,
  isReset: boolean,
  isNarrow: boolean,
  most: number | undefined,
): number | RateRefusal {
  if (isReset) return "reset";
  if (isNarrow && most !== undefined && most >= counter32) return "narrow";
  if (change >= 0) return change;
  const round = change + counter32;
  if (!isNarrow || round < 0) return "reset";
  return round <= (most === undefined ? counter32 / 2 : Math.max(most * tolerance, 1)) ? round : "reset";
}

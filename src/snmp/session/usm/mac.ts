import { createHmac, timingSafeEqual } from "node:crypto";
import type { HashAlgorithm } from "./hash.ts";

/** Where the MAC lies in a message. */
export interface MacPlace {
  readonly at: number;
  readonly length: number;
}

/** The MAC of a message, computed over zeros in the MAC's own place (RFC 3414 section 6.3.1). */
function messageMac(algorithm: HashAlgorithm, key: Uint8Array, message: Uint8Array, place: MacPlace): Uint8Array {
  return createHmac(algorithm.name, key)
    .update(message.subarray(0, place.at))
    .update(new Uint8Array(place.length))
    .update(message.subarray(place.at + place.length))
    .digest()
    .subarray(0, algorithm.macLength);
}

/** Puts the MAC of the message to where it belongs. */
export function signMessage(algorithm: HashAlgorithm, key: Uint8Array, message: Uint8Array, macAt: number): void {
  message.set(messageMac(algorithm, key, message, { at: macAt, length: algorithm.macLength }), macAt);
}

/** Whether the MAC that lies at `place` is that of the message. */
export function isMessageAuthentic(
  algorithm: HashAlgorithm,
  key: Uint8Array,
  message: Uint8Array,
  place: MacPlace,
): boolean {
  if (place.length !== algorithm.macLength) return false;
  const received = message.subarray(place.at, place.at + place.length);
  return timingSafeEqual(messageMac(algorithm, key, message, place), received);
}

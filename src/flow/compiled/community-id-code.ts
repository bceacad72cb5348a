import type { Log } from "../../report/index.ts";
import { icmpPartners, icmpV6Partners } from "../community-id.ts";
import { makeFunction } from "./make-function.ts";
import { sha1Code } from "./sha1-code.ts";
import { base64Pairs } from "./text-tables.ts";

/** What a flow's community id is made of. A number that the record does not have is -1. */
export type WriteCommunityId = (
  out: DataView,
  at: number,
  input: DataView,
  source: number,
  destination: number,
  /** Of each address: 4, or 16. */
  length: number,
  protocol: number,
  sourcePort: number,
  destinationPort: number,
  icmpType: number,
  icmpCode: number,
) => number;

/** `,"flow.community.id":"1:`, a digest of 28 characters, a quote. */
export const communityIdLength = 24 + 28 + 1;

/**
 * Makes the function that writes `,"flow.community.id":"…"` by the rules of {@link createCommunityId}, or nothing where
 * those give none. It returns where it ended. Its SHA-1 is straight-line code made for messages of this length: a call of
 * a general one costs more than the hash.
 *
 * @throws EvalError where code may not be made from text.
 */
function compileCommunityId(): WriteCommunityId {
  const inputs = {
    base64Pairs,
    icmpPartners: partnerTable(icmpPartners),
    icmpV6Partners: partnerTable(icmpV6Partners),
  };
  return makeFunction(inputs, source) as WriteCommunityId;
}

/** As {@link compileCommunityId}; undefined where code may not be made from text, and then the log says it. */
export function tryCompileCommunityId(log: Log): WriteCommunityId | undefined {
  try {
    return compileCommunityId();
  } catch (error) {
    if (!(error instanceof EvalError)) throw error;
    log.warn({ error }, "code may not be made from text here: samples of sFlow become fields first, which is slower");
    return undefined;
  }
}

/** By type: its partner, -1 where it has none. */
function partnerTable(partners: ReadonlyMap<number, number>): Int16Array {
  const table = new Int16Array(256).fill(-1);
  for (const [type, partner] of partners) table[type] = partner;
  return table;
}

const pair = (bits: string): string => `base64Pairs[${bits}]`;
/** 60 bits from the top of two words, and what follows them. */
const digest = [
  [`h0 >>> 20`, `(h0 >>> 8) & 4095`],
  [`((h0 & 255) << 4) | (h1 >>> 28)`, `(h1 >>> 16) & 4095`],
  [`(h1 >>> 4) & 4095`, `((h1 & 15) << 8) | (h2 >>> 24)`],
  [`(h2 >>> 12) & 4095`, `h2 & 4095`],
  [`h3 >>> 20`, `(h3 >>> 8) & 4095`],
  [`((h3 & 255) << 4) | (h4 >>> 28)`, `(h4 >>> 16) & 4095`],
] as const;
const prefix = Buffer.from(',"flow.community.id":"1:');

const writeDigest = [
  ...[0, 8, 16].map((i) => `out.setFloat64(at + ${i}, ${prefix.readDoubleLE(i)}, true);`),
  ...digest.map(
    ([first, second], i) =>
      `out.setUint32(at + ${prefix.length + 4 * i}, ${pair(first)} | (${pair(second)} << 16), true);`,
  ),
  // The last four bits, with zeros behind them; the padding and the quote.
  `out.setUint16(at + ${prefix.length + 24}, ${pair("(h4 >>> 4) & 4095")}, true);`,
  `out.setUint16(at + ${prefix.length + 26}, (${pair("(h4 & 15) << 8")} & 255) | 0x3d00, true);`,
  `out.setUint8(at + ${prefix.length + 28}, 0x22);`,
  `return at + ${prefix.length + 29};`,
].join("\n");

const source = `
const write4 = (out, at, x, y, protocol, ports, hasPorts) => {
  const w0 = x >>> 16, w1 = (x << 16) | (y >>> 16), w2 = (y << 16) | (protocol << 8);
  const w3 = hasPorts ? ports : ${0x8000_0000 | 0}, w4 = hasPorts ? ${0x8000_0000 | 0} : 0, w15 = hasPorts ? 128 : 96;
  ${sha1Code([0, 1, 2, 3, 4, 15])}
  ${writeDigest}
};
const write6 = (out, at, input, first, second, protocol, ports, hasPorts) => {
  const a0 = input.getInt32(first), a1 = input.getInt32(first + 4), a2 = input.getInt32(first + 8);
  const a3 = input.getInt32(first + 12), b0 = input.getInt32(second), b1 = input.getInt32(second + 4);
  const b2 = input.getInt32(second + 8), b3 = input.getInt32(second + 12);
  const w0 = a0 >>> 16, w1 = (a0 << 16) | (a1 >>> 16), w2 = (a1 << 16) | (a2 >>> 16), w3 = (a2 << 16) | (a3 >>> 16);
  const w4 = (a3 << 16) | (b0 >>> 16), w5 = (b0 << 16) | (b1 >>> 16), w6 = (b1 << 16) | (b2 >>> 16);
  const w7 = (b2 << 16) | (b3 >>> 16), w8 = (b3 << 16) | (protocol << 8);
  const w9 = hasPorts ? ports : ${0x8000_0000 | 0}, w10 = hasPorts ? ${0x8000_0000 | 0} : 0, w15 = hasPorts ? 320 : 288;
  ${sha1Code([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 15])}
  ${writeDigest}
};
const compare6 = (input, a, b) => {
  for (let i = 0; i < 16; i += 4) {
    const x = input.getUint32(a + i), y = input.getUint32(b + i);
    if (x !== y) return x < y ? -1 : 1;
  }
  return 0;
};
return (out, at, input, source, destination, length, protocol, sourcePort, destinationPort, icmpType, icmpCode) => {
  if (protocol < 0 || protocol > 255) return at;
  let first = 0, second = 0, isOneWay = false, hasPorts = false;
  if (protocol === 6 || protocol === 17 || protocol === 132) {
    if (sourcePort < 0 || sourcePort > 65535 || destinationPort < 0 || destinationPort > 65535) return at;
    first = sourcePort;
    second = destinationPort;
    hasPorts = true;
  } else if (protocol === 1 || protocol === 58) {
    const hasPort = destinationPort >= 0 && destinationPort <= 65535;
    const hasType = icmpType >= 0 && icmpType <= 65535;
    if (!hasType && !hasPort) return at;
    first = hasType ? icmpType : destinationPort >>> 8;
    const partner = first > 255 ? -1 : (protocol === 1 ? icmpPartners : icmpV6Partners)[first];
    isOneWay = partner < 0;
    second = isOneWay ? (icmpCode >= 0 && icmpCode <= 65535 ? icmpCode : hasPort ? destinationPort & 255 : 0) : partner;
    hasPorts = true;
  }
  if (length === 4) {
    const a = input.getUint32(source), b = input.getUint32(destination);
    return isOneWay || a < b || (a === b && first <= second)
      ? write4(out, at, a | 0, b | 0, protocol, (first << 16) | second, hasPorts)
      : write4(out, at, b | 0, a | 0, protocol, (second << 16) | first, hasPorts);
  }
  const order = compare6(input, source, destination);
  return isOneWay || order < 0 || (order === 0 && first <= second)
    ? write6(out, at, input, source, destination, protocol, (first << 16) | second, hasPorts)
    : write6(out, at, input, destination, source, protocol, (second << 16) | first, hasPorts);
};`;

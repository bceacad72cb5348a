import { compareKeys, familyBits, formatAddress, parseKey, type Family, type Key } from "../../../base/ip/index.ts";
import { parseUdmJson, type UdmEntry, type UdmIndex } from "../../../metadata/index.ts";
import { turn } from "../common/tools-context.ts";
import type { FindBytes } from "./find-bytes.ts";

export interface ScanOptions {
  /** Only entries that lie within this key. */
  readonly within?: Key | undefined;
  /** Only the entry with this key and those behind it in the order of lists. */
  readonly from?: Key | undefined;
  /** Of each, one has to be found in the JSON of an entry. */
  readonly anyOf?: readonly (readonly FindBytes[])[];
  /** Called between turns of the event loop. @throws to end the scan. */
  readonly check?: () => void;
}

/** JSON taken at a time, in bytes. */
const portionBytes = 262_144;
/** After how many milliseconds other requests get a turn. */
const turnMs = 5;
/** After how many entries that were taken the clock is looked at. */
const entriesByClock = 64;

/**
 * Entries in the order of lists, without what the file alone knows of them. Takes many turns of the event loop; the state stays
 * the same meanwhile.
 *
 * @param take @returns whether to go on.
 */
export async function scanEntries(
  index: UdmIndex,
  options: ScanOptions,
  take: (entry: UdmEntry) => boolean,
): Promise<void> {
  const { from, anyOf = [], check } = options;
  let taken = 0;
  let since = performance.now();
  const mayTurn = async (): Promise<void> => {
    if (performance.now() - since < turnMs) return;
    await turn();
    check?.();
    since = performance.now();
  };
  for (const bounds of boundsOf(options)) {
    const selection = bounds === "all" ? "all" : { within: bounds };
    for (const { bytes, starts, ends, count } of index.jsonTexts(selection, portionBytes)) {
      const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
      for (let i = 0; i < count; i++) {
        const start = starts[i] as number;
        const end = ends[i] as number;
        if (!hasAll(anyOf, bytes, start, end)) continue;
        const values = parseUdmJson(buffer.toString("utf8", start, end));
        const entry = { ...values, key: parseKey(values.key) };
        if (from !== undefined && compareKeys(entry.key, from) < 0) continue;
        if (!take(entry)) return;
        if (++taken % entriesByClock === 0) await mayTurn();
      }
      await mayTurn();
    }
  }
}

/** Plain loops: this is asked of each entry. */
function hasAll(anyOf: readonly (readonly FindBytes[])[], bytes: Uint8Array, start: number, end: number): boolean {
  for (let i = 0; i < anyOf.length; i++) {
    const finds = anyOf[i] as readonly FindBytes[];
    let at = -1;
    for (let n = 0; n < finds.length && at < 0; n++) at = (finds[n] as FindBytes)(bytes, start, end);
    if (at < 0) return false;
  }
  return true;
}

/** Keys that hold all that is asked for, in order. */
function boundsOf({ within, from }: ScanOptions): readonly (Key | "all")[] {
  if (from === undefined) return [within ?? "all"];
  const { family, first } = from;
  const rest = rangeKey(family, first, (1n << BigInt(familyBits(family))) - 1n);
  const others = family === 4 ? [parseKey("::/0")] : [];
  if (within === undefined) return [rest, ...others];
  if (within.family !== family) return within.family > family ? [within] : [];
  if (within.last < first) return [];
  return [first > within.first ? rangeKey(family, first, within.last) : within];
}

function rangeKey(family: Family, first: bigint, last: bigint): Key {
  return parseKey(`${formatAddress({ family, value: first })}-${formatAddress({ family, value: last })}`);
}

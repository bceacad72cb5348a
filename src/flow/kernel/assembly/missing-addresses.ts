// Addresses that the table lacks, looked up together before the records of their set.
import { listedBytes } from "../../../record/address-layout";
import { filterKeeps, filterStart, missingAddresses } from "../layout";
import { search, word } from "./address-search";
import { locateAll } from "./imports";

let missingEnd: usize = 0;
/** Addresses of the set under way that were not in the table. */
let missed: i32 = 0;
/** Addresses that were looked up before their records. */
let made: i32 = 0;
/** In how many sets missing addresses are still looked for. */
let setsAhead: i32 = 0;
const manyMissed = 4;
const maxSetsAhead = 4;

/**
 * Whether missing addresses are to be looked for before their records, so that they are looked up together. Nearly all sets have none, and
 * looking costs a twentieth of such records: so it is done behind sets that missed many. A filter may drop records before anything is asked
 * about their addresses.
 */
export function listsMissing(): bool {
  if (missed >= manyMissed) setsAhead = maxSetsAhead;
  missed = 0;
  if (setsAhead == 0) return false;
  setsAhead--;
  missingEnd = missingAddresses;
  return load<u32>(filterStart) == filterKeeps;
}

/** Lists an address if it is not in the table. */
export function listMissing(object: i32, address: usize, isIpv6: bool): void {
  const a = isIpv6 ? word(address) : 0;
  const b = isIpv6 ? word(address + 4) : 0;
  const c = isIpv6 ? word(address + 8) : 0xffff;
  const d = word(isIpv6 ? address + 12 : address);
  if (search(object, a, b, c, d) != 0) return;
  store<i32>(missingEnd, object);
  store<u32>(missingEnd, a, 4);
  store<u32>(missingEnd, b, 8);
  store<u32>(missingEnd, c, 12);
  store<u32>(missingEnd, d, 16);
  missingEnd += listedBytes;
}

/** Has the addresses that are listed put into the table together; a single one is looked up when its turn comes. */
export function locateMissing(): void {
  const count = <i32>((missingEnd - missingAddresses) / listedBytes);
  if (count < 2) return;
  missed = count;
  made += locateAll(missingAddresses, count);
}

@inline
export function countMissed(): void {
  missed++;
}

/** How many of the addresses that the records found were there before. */
@inline
export function foundBefore(hits: i32): i32 {
  const ahead = min(made, hits);
  made -= ahead;
  return hits - ahead;
}

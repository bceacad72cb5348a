// Whether a record is wanted, as far as the values say that are kept of it: runs the program that src/flow/line/filter-program.ts
// makes of a filter.
import * as L from "../layout.gen";
import { writeDigests } from "./community-id";
import { judgeLine } from "./memory";
import { slot } from "./memory";

/** Whether the other side is to judge the line of the record under way. */
let isAsked: bool = false;

/** The position of the last of some pairs of ascending ranges that does not begin above a value, -1: none. */
@inline
function find64(table: usize, count: i32, value: i64): bool {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (load<i64>(table + 16 * middle) <= value) low = middle + 1;
    else high = middle;
  }
  return low > 0 && value <= load<i64>(table + 16 * (low - 1), 8);
}

@inline
function find32(table: usize, count: i32, value: u32): bool {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (load<u32>(table + 8 * middle) <= value) low = middle + 1;
    else high = middle;
  }
  return low > 0 && value <= load<u32>(table + 8 * (low - 1), 4);
}

/** Whether an address is above another one, each as two words of 64 bits. */
@inline
function isAbove(upper: u64, lower: u64, otherUpper: u64, otherLower: u64): bool {
  return upper > otherUpper || (upper == otherUpper && lower > otherLower);
}

function find128(table: usize, count: i32, upper: u64, lower: u64): bool {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const at = table + 32 * middle;
    if (isAbove(load<u64>(at), load<u64>(at, 8), upper, lower)) high = middle;
    else low = middle + 1;
  }
  if (low == 0) return false;
  const at = table + 32 * (low - 1);
  return !isAbove(upper, lower, load<u64>(at, 16), load<u64>(at, 24));
}

function hasAddress(node: usize, value: i64): bool {
  const at = <usize>(value & 0xffffffff);
  const isMapped = value >> 32 == 16 && load<u64>(at) == 0 && load<u32>(at, 8) == 0xffff0000;
  if (value >> 32 == 4 || isMapped) {
    const address = bswap(load<u32>(isMapped ? at + 12 : at));
    return find32(load<u32>(node, L.nodeTable), load<i32>(node, L.nodeCount), address);
  }
  const upper = bswap(load<u64>(at));
  const lower = bswap(load<u64>(at, 8));
  return find128(load<u32>(node, L.nodeTable6), load<i32>(node, L.nodeCount6), upper, lower);
}

/** Where a test of a value leads. */
@inline
function next(node: usize): usize {
  const value = slot(load<u8>(node, L.nodeSlot));
  let isTrue = false;
  if (value < 0) {
    if (value != L.isAbsent) return L.filterAsks;
  } else {
    switch (<i32>load<u8>(node, L.nodeTest)) {
      case L.testRange:
        isTrue = value >= load<i64>(node, L.nodeFirst) && value <= load<i64>(node, L.nodeLast);
        break;
      case L.testRanges:
        isTrue = find64(load<u32>(node, L.nodeTable), load<i32>(node, L.nodeCount), value);
        break;
      case L.testAddress:
        isTrue = hasAddress(node, value);
        break;
      default:
        isTrue = true;
    }
  }
  return isTrue ? load<u32>(node, L.nodeTrue) : load<u32>(node, L.nodeFalse);
}

/** Whether the record under way is wanted, or may be; what is not is counted. */
@inline
export function isWanted(): bool {
  let at = <usize>load<u32>(L.filterStart);
  isAsked = false;
  if (at == L.filterKeeps) return true;
  while (<i32>at > L.filterAsks) at = next(at);
  if (at == L.filterDrops) {
    countUnwanted();
    return false;
  }
  isAsked = at == L.filterAsks;
  return true;
}

/** Whether its line is wanted, which is asked of the other side where its values were not enough. */
@inline
export function isLineWanted(start: usize, end: usize): bool {
  if (!isAsked) return true;
  writeDigests();
  if (judgeLine(<i32>start, <i32>end) != 0) return true;
  countUnwanted();
  return false;
}

function countUnwanted(): void {
  store<u32>(L.filterDropped, load<u32>(L.filterDropped) + 1);
}

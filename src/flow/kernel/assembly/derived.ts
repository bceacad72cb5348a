// Names and numbers that follow from the fields of a line.
import * as L from "../layout";
import { slot } from "./slots";
import { copy, putText, writeUint64 } from "./values";

const closingBracket: u8 = 0x5d;
const comma: u8 = 0x2c;
const quote: u8 = 0x22;
const maxSafe: u64 = 9_007_199_254_740_991;

/** The names of type and code of ICMP. */
export function writeIcmpNames(p: usize): usize {
  const protocol = slot(L.protocolSlot);
  if (protocol != 1 && protocol != 58) return p;
  const type = slot(L.icmpTypeSlot);
  if (<u64>type > 255) return p;
  const entry: usize = (protocol == 1 ? L.icmpNames : L.icmpV6Names) + L.icmpNameBytes * <usize>type;
  const length = load<i32>(entry, 4);
  if (length == 0) return p;
  copy(p, load<u32>(entry), length);
  p += length;
  const code = slot(L.icmpCodeSlot);
  if (<u64>code >= <u64>load<u32>(entry, 12)) return p;
  const named: usize = load<u32>(entry, 8) + 8 * <usize>code;
  const codeLength = load<i32>(named, 4);
  if (codeLength == 0) return p;
  copy(p, load<u32>(named), codeLength);
  return p + codeLength;
}

/** The IP version by the addresses where the line has none, and its name. */
export function writeVersion(p: usize, addressLength: i32): usize {
  let version = slot(L.versionSlot);
  if (version == L.isAbsent) {
    if (addressLength == 0) return p;
    version = addressLength == 4 ? 4 : 6;
    p = putText(p, L.versionText);
    store<u8>(p++, 0x30 + <u8>version);
  }
  if (version != 4 && version != 6) return p;
  p = putText(p, L.versionNameText);
  store<u8>(p, 0x30 + <u8>version);
  store<u8>(p, quote, 1);
  return p + 2;
}

/** The VLANs of both ends by where the packets came in and went out; and both, where they are not 0. */
export function writeVlans(p: usize): usize {
  const source = slot(L.sourceVlanSlot);
  const destination = slot(L.destinationVlanSlot);
  const hasSource = <u64>source <= maxSafe;
  const hasDestination = <u64>destination <= maxSafe;
  if (!hasSource && !hasDestination) return p;
  if (hasSource) p = writeUint64(putText(p, L.inVlanText), source);
  if (hasDestination) p = writeUint64(putText(p, L.outVlanText), destination);
  const first = hasSource && source != 0;
  const second = hasDestination && destination != 0 && (!first || destination != source);
  if (!first && !second) return p;
  p = putText(p, L.vlansText);
  if (first) p = writeUint64(p, source);
  if (first && second) store<u8>(p++, comma);
  if (second) p = writeUint64(p, destination);
  store<u8>(p, closingBracket);
  return p + 1;
}

const fin = 1;
const syn = 2;
const rst = 4;
const psh = 8;
const ack = 16;

/** Whether flags of TCP say that a session was established, or was not. */
export function writeEstablished(p: usize): usize {
  if (slot(L.protocolSlot) != 6) return p;
  const all = slot(L.tcpFlagsSlot);
  if (all < 0) return p;
  const flags = <i32>(all & (fin | syn | rst | psh | ack));
  if (flags == 0) return p;
  if ((flags & ack) == 0) return putText(p, L.notEstablishedText);
  if ((flags & (fin | psh)) == 0 && (flags & (syn | rst)) != 0) return p;
  return putText(p, L.establishedText);
}

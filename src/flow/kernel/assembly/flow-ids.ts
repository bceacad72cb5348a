import * as L from "../layout.gen";
import { slot } from "./memory";
import { putText } from "./values";

// Identifiers of conversations and sessions, as src/flow/line/flow-ends.ts has them.

@inline
function mix(hash: u64, value: u64): u64 {
  const mixed = (hash ^ value) * 0x9e3779b97f4a7c15;
  return mixed ^ (mixed >>> 29);
}

@inline
function upper(address: usize, length: i32): u64 {
  return length == 16 ? bswap(load<u64>(address)) : 0;
}

@inline
function lower(address: usize, length: i32): u64 {
  if (length == 16) return bswap(load<u64>(address, 8));
  return 0xffff_0000_0000 | <u64>bswap(load<u32>(address));
}

/** Sixteen digits and a quote. */
function writeHash(p: usize, hash: u64): usize {
  let rest = (hash ^ (hash >>> 32)) * 0xd6e8feb86659fd93;
  rest = rest ^ (rest >>> 32);
  const bytes = i64x2.splat(bswap(rest));
  const upper = v128.and(i16x8.shr_u(bytes, 4), i8x16.splat(0x0f));
  const halves = v128.shuffle<u8>(upper, v128.and(bytes, i8x16.splat(0x0f)), 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  // "0123456789abcdef"
  v128.store(p, i8x16.swizzle(i64x2(0x3736353433323130, 0x6665646362613938), halves));
  store<u8>(p, 0x22, 16);
  return p + 17;
}

@inline
function portOf(value: i64): u64 {
  return <u64>value <= 65535 ? <u64>value : 0;
}

/**
 * Writes both: that of the session is the same for both directions of a flow, that of the conversation for all sessions of a client
 * with a service, or of two addresses where it is not known which is the client.
 */
export function writeIds(p: usize, role: i32, source: usize, destination: usize, length: i32): usize {
  const protocol = slot(L.protocolSlot);
  if (<u64>protocol > 255) return p;
  const sourceUpper = upper(source, length);
  const sourceLower = lower(source, length);
  const destinationUpper = upper(destination, length);
  const destinationLower = lower(destination, length);
  const hasPorts = protocol == 6 || protocol == 17 || protocol == 132;
  const sourcePort = hasPorts ? portOf(slot(L.sourcePortSlot)) : 0;
  const destinationPort = hasPorts ? portOf(slot(L.destinationPortSlot)) : 0;
  const isHigher =
    sourceUpper > destinationUpper || (sourceUpper == destinationUpper && sourceLower > destinationLower);
  const isSame = sourceUpper == destinationUpper && sourceLower == destinationLower;
  const isTurned = isHigher || (isSame && sourcePort > destinationPort);
  const seed = <u64>load<u32>(L.conversationSeed);

  const fromDestination = role == 0 ? isTurned : role == L.destinationIsClient;
  const serverPort = role == 0 ? 0 : fromDestination ? sourcePort : destinationPort;
  let hash = mix(seed, fromDestination ? destinationUpper : sourceUpper);
  hash = mix(hash, fromDestination ? destinationLower : sourceLower);
  hash = mix(hash, fromDestination ? sourceUpper : destinationUpper);
  hash = mix(hash, fromDestination ? sourceLower : destinationLower);
  hash = mix(hash, (<u64>protocol << 32) | serverPort);
  p = writeHash(putText(p, L.conversationText), hash);

  hash = mix(seed, isTurned ? destinationUpper : sourceUpper);
  hash = mix(hash, isTurned ? destinationLower : sourceLower);
  hash = mix(hash, isTurned ? sourceUpper : destinationUpper);
  hash = mix(hash, isTurned ? sourceLower : destinationLower);
  const low = isTurned ? destinationPort : sourcePort;
  const high = isTurned ? sourcePort : destinationPort;
  hash = mix(hash, (<u64>protocol << 32) | (low << 16) | high);
  return writeHash(putText(p, L.sessionText), hash);
}

// Flows chosen by their ports, for the comparison of exporters and directions.

/** All exporters have to choose the same flows, so the choice depends on the flow alone. */
@inline
function isChosen(ports: u32): bool {
  return (ports * <u32>0x9e3779b1) >>> (32 - L.seenBits) == 1;
}

@inline
function lengthOf(address: i64): i32 {
  return address < 0 ? 0 : <i32>(address >> 32);
}

/** Leaves the flow of a line that is wanted for the other side if its ports are chosen. Both directions of a conversation are two flows. */
@inline
export function noteSeen(): void {
  const ports = (<u32>slot(L.sourcePortSlot) << 16) | (<u32>slot(L.destinationPortSlot) & 0xffff);
  if (isChosen(ports)) keepSeen();
}

function keepSeen(): void {
  const source = <usize>(slot(L.sourceSlot) & 0xffffffff);
  const destination = <usize>(slot(L.destinationSlot) & 0xffffffff);
  const length = lengthOf(slot(L.sourceSlot));
  if (length == 0 || length != lengthOf(slot(L.destinationSlot))) return;
  const sourcePort = slot(L.sourcePortSlot);
  const destinationPort = slot(L.destinationPortSlot);
  const protocol = slot(L.protocolSlot);
  const count = load<u32>(L.seenCount);
  if (count >= <u32>L.maxSeen || <u64>protocol > 255) return;
  if (sourcePort <= 0 || sourcePort > 65535 || <u64>destinationPort > 65535) return;
  let hash = mix(0, upper(source, length));
  hash = mix(hash, lower(source, length));
  hash = mix(hash, upper(destination, length));
  hash = mix(hash, lower(destination, length));
  hash = mix(hash, (<u64>protocol << 32) | (<u64>sourcePort << 16) | <u64>destinationPort);
  hash = (hash ^ (hash >>> 32)) * 0xd6e8feb86659fd93;
  const direction = slot(load<u8>(L.seenDirectionSlot));
  const at: usize = L.seenFlows + L.seenBytes * <usize>count;
  store<u32>(at, <u32>(hash >>> 32));
  store<u32>(at, direction == 0 ? L.seenIngress : direction == 1 ? L.seenEgress : 0, 4);
  store<u32>(L.seenCount, count + 1);
}

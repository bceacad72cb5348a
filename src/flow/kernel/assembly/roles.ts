// Which end of a flow is the client, as src/flow/line/flow-ends.ts does it, with the same sketch of servers in the same
// memory.
import * as L from "../layout.gen";
import { slot } from "./memory";

/** The rule that said it, for the line under way. */
export let method: i32 = 0;

const syn = 2;
const rst = 4;
const ack = 16;

@inline
function say(role: i32, by: i32): i32 {
  method = by;
  return role;
}

/** What the exporter says of who began: elements, events of firewalls and of address translation. */
function roleByExporter(began: i32): i32 {
  const biflow = slot(L.biflowDirectionSlot);
  if (biflow == 1 || biflow == 2) return say(<i32>biflow, L.methodBiflow);
  const first = (began & L.isReverseLine) != 0 ? L.destinationIsClient : L.sourceIsClient;
  if ((began & L.hasInitiator) != 0) return say(first, L.methodInitiator);
  const firewall = slot(L.firewallEventSlot);
  if (firewall == 1 || firewall == 2 || firewall == 3 || firewall == 5) return say(first, L.methodEvent);
  const translation = slot(L.natEventSlot);
  const isSession = translation == 1 || translation == 2 || (translation >= 4 && translation <= 7);
  return isSession ? say(first, L.methodEvent) : 0;
}

/** SYN without ACK is the first packet of a client; with ACK, alone, it is the server's answer. */
function roleBySyn(): i32 {
  const flags = slot(L.tcpFlagsSlot);
  if (flags < 0 || (flags & syn) == 0) return 0;
  if ((flags & ack) == 0) return say(L.sourceIsClient, L.methodSyn);
  return slot(L.packetsSlot) == 1 ? say(L.destinationIsClient, L.methodSyn) : 0;
}

/** RST with ACK, alone, refuses a connection. It may also end one, so all that is known of the ends comes before. */
function isRefusal(): bool {
  const flags = slot(L.tcpFlagsSlot);
  return flags >= 0 && (flags & (rst | ack)) == (rst | ack) && slot(L.packetsSlot) == 1;
}

/**
 * Whether two ends talk to each other: a scan has one or two packets to each end, and as many come back. Where few packets of many are
 * looked at, a flow of data has no more: it shows by its flags, and by more bytes than headers have.
 */
function isTalk(): bool {
  const packets = slot(L.packetsSlot);
  if (packets < 0 || packets >= L.leastTalk) return true;
  const flags = slot(L.tcpFlagsSlot);
  return flags >= 0 && (flags & (syn | rst | ack)) == ack && slot(L.octetsSlot) > L.mostHeader * packets;
}

/** Requests and replies of ICMP. */
function roleByIcmp(protocol: i64): i32 {
  const type = slot(L.icmpTypeSlot);
  if (protocol == 1) {
    if (type == 8 || type == 13 || type == 15 || type == 17 || type == 42) return say(L.sourceIsClient, L.methodIcmp);
    if (type == 0 || type == 14 || type == 16 || type == 18 || type == 43) return say(L.destinationIsClient, L.methodIcmp);
    return 0;
  }
  if (type == 128 || type == 139 || type == 160) return say(L.sourceIsClient, L.methodIcmp);
  if (type == 129 || type == 140 || type == 161) return say(L.destinationIsClient, L.methodIcmp);
  return 0;
}

/** Both ends as keys of the sketch: hash and tag of each, then the bit of the host of each. */
const ends: usize = L.endKeys;
const hosts: usize = L.endKeys + 16;

@inline
function word(at: usize): u32 {
  return bswap(load<u32>(at));
}

/** Leaves hash and tag of an end at a place, and the bit of its host at another. */
function hashEnd(into: usize, host: usize, address: usize, length: i32, port: u32, protocol: u32): void {
  const isIpv6 = length == 16;
  const a = isIpv6 ? word(address) : 0;
  const b = isIpv6 ? word(address + 4) : 0;
  const c = isIpv6 ? word(address + 8) : 0xffff;
  const d = word(isIpv6 ? address + 12 : address);
  let x: u32 = (d ^ (c * 0x2c1b3c6d) ^ (b * 0x297a2d39) ^ (a * 0x1b873593)) * 0x9e3779b1;
  store<u32>(host, <u32>1 << (((x ^ (x >>> 15)) * 0x85ebca6b) >>> 27));
  x = (x ^ (x >>> 15) ^ (port << 8) ^ protocol) * 0x85ebca6b;
  x = (x ^ (x >>> 13)) * 0xc2b2ae35;
  x = x ^ (x >>> 16);
  store<u32>(into, x);
  store<u32>(into, ((x ^ d) * 0x27d4eb2f + port * 31 + protocol) | 1, 4);
}

@inline
function bucketOf(key: usize): usize {
  return L.sketch + L.sketchBucket * <usize>(load<u32>(key) & (L.sketchBuckets - 1));
}

/** Whether flows of a protocol have ports. */
@inline
function hasPorts(protocol: i64): bool {
  return protocol == 6 || protocol == 17 || protocol == 132;
}

/** The bytes of the tags of the cells in which an end may be. */
@inline
function tagBytesOf(key: usize): usize {
  return L.sketchTags + L.cellsOfBucket * <usize>(load<u32>(key) & (L.sketchBuckets - 1));
}

/** Makes the keys of both ends. */
export function makeKeys(source: usize, destination: usize, length: i32): void {
  const protocol = slot(L.protocolSlot);
  if (!hasPorts(protocol)) return;
  hashEnd(ends, hosts, source, length, <u32>slot(L.sourcePortSlot), <u32>protocol);
  hashEnd(ends + 8, hosts + 4, destination, length, <u32>slot(L.destinationPortSlot), <u32>protocol);
}

/** The cell of an end; 0 when there is none. */
function findCell(key: usize, now: u32): usize {
  const differ = load<u32>(tagBytesOf(key)) ^ (((load<u32>(key, 4) >>> L.tagByteShift) & 0xff) * 0x0101_0101);
  // Whether a byte of it is 0.
  if (((differ - 0x0101_0101) & ~differ & 0x8080_8080) == 0) return 0;
  const bucket = bucketOf(key);
  const isTag = i32x4.eq(v128.load(bucket), i32x4.splat(load<u32>(key, 4)));
  for (let found = i32x4.bitmask(isTag); found != 0; found &= found - 1) {
    const cell = bucket + L.sketchCell * ctz(found);
    if (now - load<u32>(cell, L.cellTick) > <u32>L.maxCellAge) continue;
    store<u32>(cell, now, L.cellTick);
    return cell;
  }
  return 0;
}

@inline
function weightOf(cell: usize): i32 {
  const marks = load<u32>(cell, L.cellMarks);
  const ofServer = (marks & L.markServer) != 0 ? L.serverWeight : 0;
  return <i32>popcnt<u32>(load<u32>(cell, L.cellPeers)) + ofServer + <i32>(marks & L.markClient);
}

/** The same, made where there is none: in place of one that is too old, else of the one that says least. */
function takeCell(key: usize, now: u32): usize {
  const known = findCell(key, now);
  if (known != 0) return known;
  const bucket = bucketOf(key);
  let cell = bucket;
  let least = i32.MAX_VALUE;
  let taken = cell;
  for (let i = 0; i < L.cellsOfBucket; i++, cell += L.sketchCell) {
    const isFree = load<u32>(cell) == 0 || now - load<u32>(cell, L.cellTick) > <u32>L.maxCellAge;
    const weight = isFree ? -1 : weightOf(cell);
    if (weight >= least) continue;
    least = weight;
    taken = cell;
  }
  store<u32>(taken, load<u32>(key, 4));
  store<u8>(tagBytesOf(key) + (taken - bucket) / L.sketchCell, <u8>(load<u32>(key, 4) >>> L.tagByteShift));
  store<u32>(taken, 0, L.cellPeers);
  store<u32>(taken, now, L.cellTick);
  store<u32>(taken, 0, L.cellMarks);
  return taken;
}

@inline
function mark(key: usize, now: u32, bit: u32): void {
  const cell = takeCell(key, now);
  store<u32>(cell, load<u32>(cell, L.cellMarks) | bit, L.cellMarks);
}

@inline
function isServer(cell: usize): bool {
  if (cell == 0) return false;
  const marks = load<u32>(cell, L.cellMarks);
  if ((marks & L.markClient) != 0) return false;
  return marks != 0 || <i32>popcnt<u32>(load<u32>(cell, L.cellPeers)) >= L.leastPeers;
}

@inline
function isClient(cell: usize): bool {
  return cell != 0 && load<u32>(cell, L.cellMarks) == L.markClient;
}

function roleByCells(source: usize, destination: usize): i32 {
  const first = isServer(source);
  const second = isServer(destination);
  if (first != second) return first ? L.destinationIsClient : L.sourceIsClient;
  const third = isClient(source);
  const fourth = isClient(destination);
  if (third != fourth) return third ? L.sourceIsClient : L.destinationIsClient;
  return 0;
}

/** Whether a port below those that systems give to clients belongs to a service. */
function isService(protocol: i64, port: i32): bool {
  if (port >= L.firstClientPort) return false;
  const bits: usize = L.servicePorts + 8192 * (protocol == 6 ? 0 : protocol == 17 ? 1 : 2);
  return ((<i32>load<u8>(bits + (port >>> 3)) >>> (port & 7)) & 1) != 0;
}

function roleByPorts(protocol: i64, source: i32, destination: i32): i32 {
  const first = isService(protocol, source);
  const second = isService(protocol, destination);
  if (first && second) {
    const isSystem = source < L.firstUserPort;
    if (isSystem == (destination < L.firstUserPort)) return 0;
    return isSystem ? L.destinationIsClient : L.sourceIsClient;
  }
  if (!first && !second) return 0;
  const server = first ? source : destination;
  const client = first ? destination : source;
  if (server >= L.firstUserPort && client < L.firstClientPort) return 0;
  return first ? L.destinationIsClient : L.sourceIsClient;
}

/**
 * Of two addresses of which {@link prefetchEnds} has made the keys.
 *
 * @param began what the program says of who began, see `programBegan`. @returns 0 where no rule applies.
 */
export function decideRole(began: i32): i32 {
  method = 0;
  const protocol = slot(L.protocolSlot);
  let role = roleByExporter(began);
  if (role == 0 && protocol == 6) role = roleBySyn();
  if (!hasPorts(protocol)) {
    const isIcmp = protocol == 1 || protocol == 58;
    return role == 0 && isIcmp && (load<u8>(L.endsFlags) & L.withoutPorts) != 0 ? roleByIcmp(protocol) : role;
  }
  const sourcePort = slot(L.sourcePortSlot);
  const destinationPort = slot(L.destinationPortSlot);
  if (<u64>sourcePort > 65535 || <u64>destinationPort > 65535) return role;
  const now = load<u32>(L.sketchTick);
  const first = ends;
  const second = ends + 8;
  if (role != 0) {
    mark(first, now, role == L.sourceIsClient ? L.markClient : L.markServer);
    mark(second, now, role == L.sourceIsClient ? L.markServer : L.markClient);
    return role;
  }
  const firstCell = findCell(first, now);
  const secondCell = findCell(second, now);
  role = roleByCells(firstCell, secondCell);
  if (role != 0) method = L.methodLearnt;
  const byPorts = roleByPorts(protocol, <i32>sourcePort, <i32>destinationPort);
  if (byPorts != 0) {
    const isSystem = (byPorts == L.sourceIsClient ? destinationPort : sourcePort) < L.firstUserPort;
    return role == 0 || (isSystem && role != byPorts) ? say(byPorts, L.methodPort) : role;
  }
  if (protocol == 17) return role;
  if (protocol == 6 && isRefusal()) return role != 0 ? role : say(L.destinationIsClient, L.methodSyn);
  if (!isTalk()) return role;
  if (destinationPort >= L.firstClientPort) addPeer(firstCell, first, load<u32>(hosts, 4), now);
  if (sourcePort >= L.firstClientPort) addPeer(secondCell, second, load<u32>(hosts), now);
  return role;
}

/** Notes that a host talked to an end. @param known its cell; another end may have taken it since. @param host its bit. */
@inline
function addPeer(known: usize, key: usize, host: u32, now: u32): void {
  const isStill = known != 0 && load<u32>(known) == load<u32>(key, 4);
  const cell = isStill ? known : takeCell(key, now);
  store<u32>(cell, load<u32>(cell, L.cellPeers) | host, L.cellPeers);
}

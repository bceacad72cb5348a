// What passed the interfaces of an exporter, by the flows it reports.
import * as L from "../layout";
import { slot } from "./slots";

/** The cell of a key that is not in its first place; 0 when there is no room for it. */
function findCell(key: u64, cell: u32): usize {
  for (let i = 0; i < L.trafficProbes; i++) {
    const at: usize = L.trafficTable + L.trafficCell * <usize>cell;
    const found = load<u64>(at);
    if (found == 0) store<u64>(at, key);
    if (found == 0 || found == key) return at;
    cell = (cell + 1) & (L.trafficCells - 1);
  }
  store<u32>(L.trafficLost, load<u32>(L.trafficLost) + 1);
  return 0;
}

/** Adds to one way of an interface. @param rest bytes as exported, and packets. */
@inline
function add(index: i64, base: u64, bytes: f64, rest: v128): void {
  // 0 stands for an interface that is not known.
  if (<u64>(index - 1) >= 0xffff_ffff) return;
  const key = base | (<u64>index << L.trafficIndexShift);
  const cell = <u32>((key * 0x9e3779b97f4a7c15) >>> 52);
  let at: usize = L.trafficTable + L.trafficCell * <usize>cell;
  if (load<u64>(at) != key) at = findCell(key, cell);
  if (at == 0) return;
  store<f64>(at, load<f64>(at, L.trafficBytes) + bytes, L.trafficBytes);
  v128.store(at, f64x2.add(v128.load(at, L.trafficRawBytes), rest), L.trafficRawBytes);
}

/** The counter of a slot; 0 where there is none. */
@inline
function counter(number: i32): f64 {
  const value = slot(number);
  if (value == L.tooLarge) return <f64>load<u64>(L.exactValues + 8 * <usize>number);
  return value < 0 ? 0 : <f64>value;
}

/** Adds what passed from one interface to another, by the slots of its counters. */
@inline
function addBoth(from: i64, to: i64, base: u64, octets: i32, packets: i32, rate: f64): void {
  const raw = counter(octets);
  if (raw == 0) return;
  const rest = f64x2.replace_lane(f64x2.splat(raw), 1, counter(packets) * rate);
  add(from, base, raw * rate, rest);
  add(to, base | L.trafficWay, raw * rate, rest);
}

/** Adds what a flow reports, whether its line is wanted or not. @param known its sampling rate; one that is not known counts as 1. */
export function noteTraffic(known: f64): void {
  const rate = known < 0 ? 1.0 : known;
  const direction = slot(load<u8>(L.seenDirectionSlot));
  const seen: u64 = direction == 0 ? L.trafficSeenIngress : direction == 1 ? L.trafficSeenEgress : 0;
  const base = ((<u64>load<u32>(L.trafficExporter)) << L.trafficKeyShift) | seen;
  const input = slot(load<u8>(L.trafficInSlot));
  const output = slot(load<u8>(L.trafficOutSlot));
  addBoth(input, output, base, L.octetsSlot, L.packetsSlot, rate);
  if (slot(L.reverseOctetsSlot) < 0) return;
  addBoth(output, input, base, L.reverseOctetsSlot, L.reversePacketsSlot, rate);
}

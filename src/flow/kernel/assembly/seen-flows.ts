// Flows chosen by their ports, for the comparison of exporters and directions.
import * as L from "../layout";
import { lower, mix, upper } from "./flow-ids";
import { slot } from "./slots";

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

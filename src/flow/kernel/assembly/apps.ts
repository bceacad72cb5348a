// Adds the application at an end of the flow, by its address and port.
import * as L from "../layout";
import { addApp } from "./imports";
import { slot } from "./slots";

/** The port of an end where there may be an application, else -1. */
@inline
function portOf(number: i32, address: i64): i32 {
  const port = slot(number);
  if (address < 0 || <u64>port > 65535) return -1;
  return (load<u8>(L.appPorts + (<usize>port >> 3)) & (1 << (<i32>port & 7))) != 0 ? <i32>port : -1;
}

/** @returns where the line ends then; 0 when the record must become fields. */
export function writeApp(p: usize, source: i64, destination: i64): usize {
  const sourcePort = portOf(L.sourcePortSlot, source);
  const destinationPort = portOf(L.destinationPortSlot, destination);
  if (sourcePort < 0 && destinationPort < 0) return p;
  const end = addApp(
    <i32>p,
    <i32>source,
    <i32>(source >> 32),
    sourcePort,
    <i32>destination,
    <i32>(destination >> 32),
    destinationPort,
  );
  return end < 0 ? 0 : <usize>end;
}

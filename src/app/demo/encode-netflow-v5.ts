import type { DemoFlow } from "./demo-flow.ts";
import type { ExportState } from "./export-state.ts";

const headerLength = 24;
const recordLength = 48;

/**
 * A NetFlow v5 datagram (Cisco, "NetFlow Export Datagram Format", version 5). It knows IPv4 only.
 *
 * @param flows 1 to 30 flows of IPv4.
 */
export function encodeNetflowV5(flows: readonly DemoFlow[], state: ExportState): Buffer {
  const datagram = Buffer.alloc(headerLength + flows.length * recordLength);
  datagram.writeUInt16BE(5, 0);
  datagram.writeUInt16BE(flows.length, 2);
  datagram.writeUInt32BE(uptime(state.now, state), 4);
  datagram.writeUInt32BE(Math.floor(state.now / 1000), 8);
  datagram.writeUInt32BE((state.now % 1000) * 1_000_000, 12);
  datagram.writeUInt32BE(state.sequence >>> 0, 16);
  datagram.writeUInt8(0, 20);
  datagram.writeUInt8(state.domain & 0xff, 21);
  flows.forEach((flow, i) => writeRecord(datagram, headerLength + i * recordLength, flow, state));
  return datagram;
}

function writeRecord(datagram: Buffer, at: number, flow: DemoFlow, state: ExportState): void {
  datagram.writeUInt32BE(Number(flow.source.value), at);
  datagram.writeUInt32BE(Number(flow.destination.value), at + 4);
  datagram.writeUInt16BE(flow.inputInterface, at + 12);
  datagram.writeUInt16BE(flow.outputInterface, at + 14);
  datagram.writeUInt32BE(flow.packets, at + 16);
  datagram.writeUInt32BE(flow.bytes, at + 20);
  datagram.writeUInt32BE(uptime(flow.start, state), at + 24);
  datagram.writeUInt32BE(uptime(flow.end, state), at + 28);
  datagram.writeUInt16BE(flow.sourcePort, at + 32);
  datagram.writeUInt16BE(flow.destinationPort, at + 34);
  datagram.writeUInt8(flow.tcpFlags, at + 37);
  datagram.writeUInt8(flow.protocol, at + 38);
}

/** Milliseconds since the exporter started, modulo 2^32. */
function uptime(time: number, state: ExportState): number {
  return (time - state.bootTime) >>> 0;
}

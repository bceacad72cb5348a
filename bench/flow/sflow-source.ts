import { createRandom } from "../support/random.ts";
import { ringSize, type AddressPool, type PacketSource } from "./packet-source.ts";

/** Flow samples of sFlow version 5, so many in a datagram of at most 1400 bytes. */
export const samplesPerDatagram = 6;

const headerLength = 128;
const sampleHead = 8 + 32;
const recordHead = 8 + 16;
const switchRecord = 8 + 16;
const sampleLength = sampleHead + recordHead + headerLength + switchRecord;

/** A datagram with everything in place but what differs: HTTPS over IPv4 in a VLAN, and what the switch says of it. */
function template(): Buffer {
  const bytes = Buffer.alloc(28 + samplesPerDatagram * sampleLength);
  const words = (at: number, ...values: readonly number[]): void =>
    values.forEach((value, i) => bytes.writeUInt32BE(value, at + 4 * i));
  words(0, 5, 1, 0x7f000001, 0, 1, 86_400_000, samplesPerDatagram);
  for (let i = 0; i < samplesPerDatagram; i++) {
    const at = 28 + i * sampleLength;
    words(at, 1, sampleLength - 8, 0, 3, 1000, 1_000_000, 0, 3, 12, 2);
    words(at + sampleHead, 1, recordHead - 8 + headerLength, 1, 1400, 4, headerLength);
    const frame = at + sampleHead + recordHead;
    bytes.write("00005e0053ff00005e005301810000640800450005000000400040060000", frame, "hex");
    bytes.writeUInt16BE(443, frame + 40);
    bytes.writeUInt16BE(0x5018, frame + 50);
    words(frame + headerLength, 1001, 16, 100, 0, 200, 0);
  }
  return bytes;
}

/** Datagrams of one agent: addresses, port, interface, length and sequence numbers differ. */
export function createSflowSource(seed: number, pool: AddressPool): PacketSource {
  const random = createRandom(seed);
  const ring = Array.from({ length: ringSize }, template);
  let turn = 0;
  const address = (): number => {
    const bits = random();
    return 0x0a000000 | (bits & (bits >>> 29 === 0 ? pool.seldom : pool.often));
  };
  return {
    templates: () => undefined,
    next() {
      const packet = ring[turn % ringSize] as Buffer;
      packet.writeUInt32BE(turn + 1, 16);
      for (let i = 0; i < samplesPerDatagram; i++) {
        const at = 28 + i * sampleLength;
        const frame = at + sampleHead + recordHead;
        const bits = random();
        packet.writeUInt32BE(turn * samplesPerDatagram + i + 1, at + 8);
        packet.writeUInt32BE(1 + (bits & 15), at + 28);
        packet.writeUInt32BE(64 + (bits & 0x3ff), at + sampleHead + 12);
        packet.writeUInt32BE(address(), frame + 30);
        packet.writeUInt32BE(address(), frame + 34);
        packet.writeUInt16BE(1024 + (bits >>> 17), frame + 38);
      }
      turn++;
      return packet;
    },
  };
}

import type { ByteSource } from "./byte-source.ts";
import { CaptureError } from "./capture-error.ts";
import type { Frame } from "./frame.ts";

const blocks = { section: 0x0a0d0d0a, interface: 1, packet: 2, simplePacket: 3, enhancedPacket: 6 } as const;
const options = { end: 0, timeResolution: 9, timeOffset: 14 } as const;
const maxBlock = 256 * 1024 * 1024;

interface Interface {
  readonly linkType: number;
  readonly snapLength: number;
  /** Units of its times in a second. */
  readonly perSecond: bigint;
  /** Seconds that are added to its times. */
  readonly offset: bigint;
}

/** Reads pcapng from behind its first four bytes on. Blocks that are no packets are passed over. */
export async function* readPcapng(source: ByteSource): AsyncGenerator<Frame> {
  let isBig = false;
  let interfaces: Interface[] = [];
  let type: number = blocks.section;
  for (;;) {
    const body = await readBlock(source, type, isBig, (big) => (isBig = big));
    if (type === blocks.section) interfaces = [];
    else if (type === blocks.interface) interfaces.push(readInterface(body, isBig));
    else if (type === blocks.enhancedPacket || type === blocks.packet || type === blocks.simplePacket) {
      const frame = readPacket(type, body, isBig, interfaces);
      if (frame === undefined)
        throw new CaptureError(`a packet that does not fit into its block, at byte ${source.at}`);
      yield frame;
    }
    const next = await source.take(4);
    if (next === undefined) return;
    // The type of a section is the same in both orders.
    type = isBig ? next.readUInt32BE(0) : next.readUInt32LE(0);
  }
}

/** What is between the two lengths of a block. A section says the byte order of all that follows. */
async function readBlock(
  source: ByteSource,
  type: number,
  isBig: boolean,
  setOrder: (isBig: boolean) => void,
): Promise<Buffer> {
  const cut = (): CaptureError => new CaptureError(`the capture ends within a block, at byte ${source.at}`);
  const isSection = type === blocks.section;
  const head = await source.take(isSection ? 8 : 4);
  if (head === undefined) throw cut();
  let big = isBig;
  if (isSection) {
    big = head.readUInt32BE(4) === 0x1a2b3c4d;
    if (!big && head.readUInt32LE(4) !== 0x1a2b3c4d) {
      throw new CaptureError(`a section without a byte order, at byte ${source.at}`);
    }
    setOrder(big);
  }
  const length = big ? head.readUInt32BE(0) : head.readUInt32LE(0);
  const left = length - 4 - head.length;
  if (left < 4 || length % 4 !== 0 || length > maxBlock) {
    throw new CaptureError(`a block of ${length} bytes, at byte ${source.at}: the file is damaged`);
  }
  const body = await source.take(left);
  if (body === undefined) throw cut();
  return body.subarray(0, left - 4);
}

function readInterface(body: Buffer, isBig: boolean): Interface {
  if (body.length < 8) throw new CaptureError("the description of an interface is too short");
  const linkType = isBig ? body.readUInt16BE(0) : body.readUInt16LE(0);
  const snapLength = isBig ? body.readUInt32BE(4) : body.readUInt32LE(4);
  let perSecond = 1_000_000n;
  let offset = 0n;
  for (let at = 8; at + 4 <= body.length;) {
    const code = isBig ? body.readUInt16BE(at) : body.readUInt16LE(at);
    const length = isBig ? body.readUInt16BE(at + 2) : body.readUInt16LE(at + 2);
    const value = body.subarray(at + 4, at + 4 + length);
    if (code === options.end) break;
    if (code === options.timeResolution && value.length === 1) {
      const [resolution = 6] = value;
      perSecond = resolution < 128 ? 10n ** BigInt(resolution) : 1n << BigInt(resolution & 127);
    }
    if (code === options.timeOffset && value.length === 8) {
      offset = isBig ? value.readBigInt64BE(0) : value.readBigInt64LE(0);
    }
    at += 4 + ((length + 3) & ~3);
  }
  return { linkType, snapLength, perSecond, offset };
}

/** @returns undefined when it does not fit. */
function readPacket(type: number, body: Buffer, isBig: boolean, interfaces: readonly Interface[]): Frame | undefined {
  const uint = (at: number): number => (isBig ? body.readUInt32BE(at) : body.readUInt32LE(at));
  if (type === blocks.simplePacket) {
    const [only] = interfaces;
    if (only === undefined || body.length < 4) return undefined;
    const wireLength = uint(0);
    const captured = Math.min(wireLength, only.snapLength === 0 ? wireLength : only.snapLength, body.length - 4);
    return { linkType: only.linkType, time: undefined, bytes: body.subarray(4, 4 + captured), wireLength };
  }
  if (body.length < 20) return undefined;
  // The older kind has 16 bits of interface and 16 of drops.
  const index = type === blocks.packet ? (isBig ? body.readUInt16BE(0) : body.readUInt16LE(0)) : uint(0);
  const of = interfaces[index];
  const captured = uint(12);
  if (of === undefined || captured > body.length - 20) return undefined;
  const units = (BigInt(uint(4)) << 32n) | BigInt(uint(8));
  const time = Number((units * 1000n) / of.perSecond + of.offset * 1000n);
  return { linkType: of.linkType, time, bytes: body.subarray(20, 20 + captured), wireLength: uint(16) };
}

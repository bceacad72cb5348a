/** One packet of a capture. */
export interface Frame {
  /** The kind of its first bytes: a LINKTYPE_ value of tcpdump.org. */
  readonly linkType: number;
  /** Milliseconds since the epoch; undefined where the capture does not say. */
  readonly time: number | undefined;
  readonly bytes: Buffer;
  /** Its length on the wire; more than the bytes when the capture cut it. */
  readonly wireLength: number;
}

/** A file is no capture, or ends or goes on in a way that its format does not have. */
export class CaptureError extends Error {
  readonly code = "bad_capture";

  constructor(message: string) {
    super(message);
    this.name = "CaptureError";
  }
}

/** Bytes of a stream, taken in chunks of a given length. */
class ByteSource {
  readonly #chunks: AsyncIterator<string | Uint8Array>;
  #rest: Buffer = Buffer.alloc(0);
  /** The number of bytes that were taken. */
  at = 0;

  constructor(stream: AsyncIterable<string | Uint8Array>) {
    this.#chunks = stream[Symbol.asyncIterator]();
  }

  /** The next bytes; undefined at the end of the stream. @throws CaptureError when it ends within them. */
  async take(length: number): Promise<Buffer | undefined> {
    const parts = [this.#rest];
    let size = this.#rest.length;
    while (size < length) {
      const next = await this.#chunks.next();
      if (next.done === true) break;
      const part = typeof next.value === "string" ? Buffer.from(next.value, "latin1") : Buffer.from(next.value);
      parts.push(part);
      size += part.length;
    }
    const all = parts.length === 1 ? this.#rest : Buffer.concat(parts);
    if (all.length < length) {
      if (all.length === 0) return undefined;
      throw new CaptureError(`the capture ends within a packet, at byte ${this.at + all.length}`);
    }
    this.#rest = all.subarray(length);
    this.at += length;
    return all.subarray(0, length);
  }
}

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
async function* readPcapng(source: ByteSource): AsyncGenerator<Frame> {
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

/** Reads what is between the two lengths of a block. A section says the byte order of all that follows. */
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

/** No packet is longer; a length beyond it says that the file is damaged. */
const maxFrame = 256 * 1024 * 1024;

/** First four bytes as a little-endian number: whether the others are big-endian, and parts of a second in the times. */
const pcapFormats: ReadonlyMap<number, { readonly isBig: boolean; readonly perMs: number }> = new Map([
  [0xa1b2c3d4, { isBig: false, perMs: 1000 }],
  [0xd4c3b2a1, { isBig: true, perMs: 1000 }],
  [0xa1b23c4d, { isBig: false, perMs: 1_000_000 }],
  [0x4d3cb2a1, { isBig: true, perMs: 1_000_000 }],
]);
const sectionHeader = 0x0a0d0d0a;

/**
 * Reads a capture, packet by packet: pcap (micro- and nanoseconds, both byte orders) or pcapng.
 *
 * @throws CaptureError, after the packets before the fault.
 */
export async function* readCapture(stream: AsyncIterable<string | Uint8Array>): AsyncGenerator<Frame> {
  const source = new ByteSource(stream);
  const magic = await source.take(4);
  if (magic === undefined) throw new CaptureError("the capture is empty");
  const first = magic.readUInt32LE(0);
  const format = pcapFormats.get(first);
  if (format !== undefined) yield* readPcap(source, format.isBig, format.perMs);
  else if (first === sectionHeader) yield* readPcapng(source);
  else if (magic[0] === 0x1f && magic[1] === 0x8b) throw new CaptureError("it is compressed: use gunzip first");
  else throw new CaptureError("it is no capture: expected pcap or pcapng");
}

async function* readPcap(source: ByteSource, isBig: boolean, perMs: number): AsyncGenerator<Frame> {
  const uint = (bytes: Buffer, at: number): number => (isBig ? bytes.readUInt32BE(at) : bytes.readUInt32LE(at));
  const header = await source.take(20);
  if (header === undefined) throw new CaptureError("the capture ends within its header");
  // The upper bits say whether frames end in a check sum.
  const linkType = uint(header, 16) & 0xffff;
  for (;;) {
    const head = await source.take(16);
    if (head === undefined) return;
    const length = uint(head, 8);
    if (length > maxFrame)
      throw new CaptureError(`a packet of ${length} bytes, at byte ${source.at}: the file is damaged`);
    const bytes = length === 0 ? Buffer.alloc(0) : await source.take(length);
    if (bytes === undefined) throw new CaptureError(`the capture ends within a packet, at byte ${source.at}`);
    const time = uint(head, 0) * 1000 + Math.floor(uint(head, 4) / perMs);
    yield { linkType, time, bytes, wireLength: uint(head, 12) };
  }
}

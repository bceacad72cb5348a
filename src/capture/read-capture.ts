import { createByteSource, type ByteSource } from "./byte-source.ts";
import { CaptureError } from "./capture-error.ts";
import type { Frame } from "./frame.ts";
import { readPcapng } from "./read-pcapng.ts";

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
  const source = createByteSource(stream);
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

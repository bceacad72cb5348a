import { setImmediate } from "node:timers/promises";
import type { EntryTexts } from "../../udm/index.ts";
import type { EntryList, ListItems } from "./entry-list.ts";
import { createUdmTranscoder, mostMessageBytes, type UdmTranscoder } from "./udm-transcoder.ts";
import { varintSize, writeVarint } from "./varint.ts";

/** ListUdmsResponse, ListUdmKeysResponse or one like them: a message of one repeated field, its number 1. */
export interface ListMessage {
  readonly list: Pick<EntryList, "texts">;
  readonly items: ListItems;
}

const itemsTag = 0x0a;
/** What is made at once, in bytes of JSON. */
const shortSize = 32_768;

/**
 * The message of a short list behind `reserved` bytes for its envelope; undefined for one of more than 32 KiB of JSON.
 *
 * @param transcoder any; making one takes longer than a short list.
 */
export function shortListBytes(
  { list, items }: ListMessage,
  reserved: number,
  transcoder: UdmTranscoder = createUdmTranscoder(),
): Buffer | undefined {
  let made: Buffer | undefined;
  let size = 0;
  for (const portion of list.texts()) {
    size += textBytes(portion);
    if (size > shortSize) return undefined;
    const bytes = writeItems(transcoder, portion, items, made === undefined ? reserved : 0);
    made = made === undefined ? bytes : Buffer.concat([made, bytes]);
  }
  return made ?? Buffer.allocUnsafe(reserved);
}

/** Bytes of the message, counted in turns; undefined when `isWanted` says that nobody waits for them any more. */
export async function listSize({ list, items }: ListMessage, isWanted: () => boolean): Promise<number | undefined> {
  const sizeOf = itemSizes[items](createUdmTranscoder());
  let size = 0;
  for (const { bytes, starts, count } of list.texts()) {
    for (let i = 0; i < count; i++) {
      const length = sizeOf(bytes, starts[i] as number);
      size += 1 + varintSize(length) + length;
    }
    await setImmediate();
    if (!isWanted()) return undefined;
  }
  return size;
}

/** The bytes of the message, made when they are asked for. */
export function* listPieces({ list, items }: ListMessage): Generator<Buffer> {
  const transcoder = createUdmTranscoder();
  for (const portion of list.texts()) yield writeItems(transcoder, portion, items, 0);
}

const keyStart = '{"key":"'.length;
const quote = 0x22;

function keyEnd(bytes: Uint8Array, start: number): number {
  let end = start + keyStart;
  while (bytes[end] !== quote) end++;
  return end;
}

type SizeOf = (bytes: Uint8Array, start: number) => number;

const itemSizes: Readonly<Record<ListItems, (transcoder: UdmTranscoder) => SizeOf>> = {
  udms: (transcoder) => (bytes, start) => transcoder.size(bytes, start),
  keys: () => (bytes, start) => keyEnd(bytes, start) - start - keyStart,
};

function textBytes({ starts, ends, count }: EntryTexts): number {
  let size = 0;
  for (let i = 0; i < count; i++) size += (ends[i] as number) - (starts[i] as number);
  return size;
}

function keyBytes({ bytes, starts, count }: EntryTexts): number {
  let size = 0;
  for (let i = 0; i < count; i++) size += keyEnd(bytes, starts[i] as number) - (starts[i] as number) - keyStart;
  return size;
}

/** The items of a portion behind some free bytes. */
function writeItems(transcoder: UdmTranscoder, texts: EntryTexts, items: ListItems, reserved: number): Buffer {
  const { bytes, starts, ends, count } = texts;
  const most = items === "udms" ? mostMessageBytes(textBytes(texts)) : keyBytes(texts);
  const out = Buffer.allocUnsafe(reserved + most + maxHead * count);
  let to = reserved;
  /** Bytes of the length of the item before: most are alike. */
  let head = 1;
  for (let i = 0; i < count; i++) {
    const start = starts[i] as number;
    out[to] = itemsTag;
    const first = to + 1 + head;
    const end = items === "udms" ? transcoder.write(bytes, start, out, first) : writeKey(bytes, start, out, first);
    const length = end - first;
    const needed = varintSize(length);
    if (needed !== head) out.copyWithin(first + needed - head, first, end);
    writeVarint(length, out, to + 1);
    to = end + needed - head;
    head = needed;
  }
  if (to > out.length) throw new Error(`${ends[count - 1]} bytes of JSON became too many`);
  return out.subarray(0, to);
}

const maxHead = 6;

function writeKey(bytes: Uint8Array, start: number, out: Uint8Array, first: number): number {
  let to = first;
  for (let at = start + keyStart; bytes[at] !== quote; at++) out[to++] = bytes[at] as number;
  return to;
}

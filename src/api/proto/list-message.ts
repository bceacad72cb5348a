import { setImmediate } from "node:timers/promises";
import { udmJson, type UdmEntry } from "../../udm/index.ts";
import { fieldSize, udmSize, writeUdm, writeVarint } from "./write-udm.ts";

/** What each entry of a list is in the message: itself, or its key. */
export interface ItemWriter {
  size(entry: UdmEntry): number;
  /** @returns where the next byte goes. */
  write(entry: UdmEntry, into: Buffer, at: number): number;
  /** The same in JSON. */
  readonly json: (entry: UdmEntry) => string;
  /** What the list is called there. */
  readonly jsonName: string;
}

export const udmItem: ItemWriter = { size: udmSize, write: writeUdm, json: udmJson, jsonName: "udms" };

export const keyItem: ItemWriter = {
  size: ({ key }) => key.text.length,
  write: ({ key }, into, at) => at + into.write(key.text, at, "latin1"),
  json: ({ key }) => JSON.stringify(key.text),
  jsonName: "keys",
};

/** A message of one repeated field, its number 1: ListUdmsResponse and those like it. */
export interface ListMessage {
  /** Gone through twice. */
  readonly entries: Iterable<UdmEntry>;
  readonly item: ItemWriter;
}

const itemsTag = 0x0a;
/** What is made at once. */
const shortSize = 32_768;
/** How much of a longer list is made at a time: some hundred entries, a few milliseconds. */
const pieceSize = 16_384;
/** How many entries are measured before other requests get a turn. */
const measuredPerTurn = 200;

/**
 * The message of a short list behind `reserved` bytes for its envelope; undefined for one that takes more than 32 KiB.
 */
export function shortListBytes({ entries, item }: ListMessage, reserved: number): Buffer | undefined {
  const kept: UdmEntry[] = [];
  let size = 0;
  for (const entry of entries) {
    kept.push(entry);
    size += fieldSize(item.size(entry));
    if (size > shortSize) return undefined;
  }
  const bytes = Buffer.allocUnsafe(reserved + size);
  writeItems(kept, item, bytes, reserved);
  return bytes;
}

/** Bytes of the message, counted in turns; undefined when `isWanted` says that nobody waits for them any more. */
export async function listSize({ entries, item }: ListMessage, isWanted: () => boolean): Promise<number | undefined> {
  let size = 0;
  let count = 0;
  for (const entry of entries) {
    size += fieldSize(item.size(entry));
    if (++count % measuredPerTurn !== 0) continue;
    await setImmediate();
    if (!isWanted()) return undefined;
  }
  return size;
}

/** The bytes of the message, made when they are asked for, about `pieceSize` at a time. */
export function* listPieces({ entries, item }: ListMessage): Generator<Buffer> {
  let kept: UdmEntry[] = [];
  let size = 0;
  for (const entry of entries) {
    kept.push(entry);
    size += fieldSize(item.size(entry));
    if (size < pieceSize) continue;
    yield pieceOf(kept, item, size);
    kept = [];
    size = 0;
  }
  if (size > 0) yield pieceOf(kept, item, size);
}

function pieceOf(entries: readonly UdmEntry[], item: ItemWriter, size: number): Buffer {
  const bytes = Buffer.allocUnsafe(size);
  writeItems(entries, item, bytes, 0);
  return bytes;
}

function writeItems(entries: readonly UdmEntry[], item: ItemWriter, into: Buffer, start: number): void {
  let at = start;
  for (const entry of entries) {
    into[at++] = itemsTag;
    at = writeVarint(item.size(entry), into, at);
    at = item.write(entry, into, at);
  }
}

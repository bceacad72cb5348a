import { compareKeys, parseKey, type Key } from "../../base/ip/index.ts";
import { type EntryChange, isChange, yieldToEventLoop } from "../model/apply-writes.ts";
import type { UdmEntry } from "../model/entry.ts";
import { readEntries } from "../model/read-entries.ts";
import { emptyFileText, entryEnd } from "../model/render-entry.ts";
import type { UdmIndex } from "../model/udm-store.ts";
import type { UdmChange } from "./change.ts";

/** Returns what happened to each key in all of the changes. */
function collapse(changes: readonly UdmChange[]): ReadonlyMap<string, EntryChange> {
  const byKey = new Map<string, EntryChange>();
  for (const { changes: entries } of changes) {
    for (const { before, after } of entries) {
      const key = (after ?? before)?.key.text ?? "";
      const earlier = byKey.get(key);
      byKey.set(key, { before: earlier === undefined ? before : earlier.before, after });
    }
  }
  return byKey;
}

/** Tells whether changes that were saved by one replacement of the file, all or none, are in it. */
export function isInFile(changes: readonly UdmChange[], index: UdmIndex): boolean {
  let isBefore = false;
  for (const [key, change] of collapse(changes)) {
    if (!isChange(change)) continue;
    const there = index.get(parseKey(key));
    if (isSame(there, change.after)) return true;
    if (isSame(there, change.before)) isBefore = true;
  }
  return !isBefore;
}

/** Finds what happened to entries since changes, the last of which is the last one at all. */
export function findEdits(changes: readonly UdmChange[], index: UdmIndex): readonly EntryChange[] {
  const edits: EntryChange[] = [];
  for (const [key, { after: before }] of collapse(changes)) {
    const after = index.get(parseKey(key));
    if (!isSame(before, after)) edits.push({ before, after });
  }
  return edits;
}

function isSame(a: UdmEntry | undefined, b: UdmEntry | undefined): boolean {
  return !isChange({ before: a, after: b });
}

const chunkBytes = 64 * 1024;
const entriesPerYield = 1000;

/**
 * Finds the entries that are other ones in a state than in a base, a metadata file behind a first line. Most are byte for byte the same and are not read. Yields to the event loop.
 *
 * @returns of each key, what the base has of it.
 * @throws YamlFault for a base that was damaged.
 */
export async function differencesOf(base: Uint8Array, index: UdmIndex): Promise<ReadonlyMap<string, BaseEntry>> {
  const bytes = Buffer.from(base.buffer, base.byteOffset, base.length);
  const found = new Map<string, BaseEntry>();
  const note = (key: Key, entry: UdmEntry | undefined): void => void found.set(key.text, { key, entry });
  let at = bytes.indexOf(0x0a) + 1;
  if (bytes.subarray(at).equals(Buffer.from(emptyFileText))) at = bytes.length;
  const isBoundary = (offset: number): boolean => offset >= bytes.length || bytes[offset] !== 0x20;
  for (const rendered of index.render("all", "yaml", "", chunkBytes)) {
    const chunk = Buffer.from(rendered.buffer, rendered.byteOffset, rendered.length);
    if (isBoundary(at + chunk.length) && chunk.equals(bytes.subarray(at, at + chunk.length))) {
      at += chunk.length;
    } else {
      for (let start = 0, end: number; start < chunk.length; start = end) {
        end = entryEnd(chunk, start);
        const now = chunk.subarray(start, end);
        let order = 1;
        while (at < bytes.length && order > 0) {
          const next = entryEnd(bytes, at);
          if (now.equals(bytes.subarray(at, next))) order = 0;
          else {
            const before = entryOf(bytes.subarray(at, next));
            order = compareKeys(entryOf(now).key, before.key);
            if (order >= 0) note(before.key, before);
          }
          if (order >= 0) at = next;
        }
        if (order !== 0) note(entryOf(now).key, undefined);
      }
    }
    await yieldToEventLoop();
  }
  for (let read = 1; at < bytes.length; read++) {
    const next = entryEnd(bytes, at);
    const before = entryOf(bytes.subarray(at, next));
    note(before.key, before);
    at = next;
    if (read % entriesPerYield === 0) await yieldToEventLoop();
  }
  return found;
}

/** An entry of a base; undefined: it has none of that key. */
export interface BaseEntry {
  readonly key: Key;
  readonly entry: UdmEntry | undefined;
}

function entryOf(bytes: Buffer): UdmEntry {
  const [entry] = readEntries(bytes.toString()).entries;
  if (entry === undefined) throw new Error("there is no entry where one was");
  return entry;
}

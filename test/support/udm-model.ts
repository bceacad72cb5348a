// The index as it must behave, by linear scans over an array: slow, short and obviously right.
import type { Address, Key } from "../../src/base/ip/index.ts";
import {
  udmJson,
  type UdmEdit,
  type UdmEntry,
  type UdmIndex,
  type UdmSelection,
  type UdmText,
} from "../../src/metadata/index.ts";
import { renderEntry } from "../../src/metadata/model/render-entry.ts";

export function modelIndex(entries: readonly UdmEntry[] = [], version = 0): UdmIndex {
  const sorted = [...entries].sort((a, b) => (modelOrder(a.key) < modelOrder(b.key) ? -1 : 1));
  return {
    version,
    size: sorted.length,
    get: (key) => sorted.find((entry) => isSame(entry.key, key)),
    covering: (address) => sorted.filter((entry) => covers(entry.key, address)),
    within: (bounds) => sorted.filter((entry) => isWithin(bounds, entry.key)),
    entries: () => sorted,
    texts: () => {
      throw new Error("the model has no texts");
    },
    *render(selection, text, separator) {
      const texts = modelSelection(modelIndex(sorted, version), selection).map(modelTexts[text]);
      if (texts.length > 0) yield Buffer.from(texts.join(separator));
    },
    *jsonTexts(selection) {
      for (const entry of modelSelection(modelIndex(sorted, version), selection)) {
        const bytes = Buffer.from(udmJson(entry));
        yield { bytes, starts: [0], ends: [bytes.length], count: 1 };
      }
    },
    edit: () => modelEdit(sorted, version),
  };
}

function modelSelection(index: UdmIndex, selection: UdmSelection): UdmEntry[] {
  if (selection === "all") return [...index.entries()];
  if ("within" in selection) return [...index.within(selection.within)];
  if ("covering" in selection) return index.covering(selection.covering);
  return [index.get(selection.key)].filter((entry) => entry !== undefined);
}

const modelTexts: Readonly<Record<UdmText, (entry: UdmEntry) => string>> = {
  json: udmJson,
  key: ({ key }) => JSON.stringify(key.text),
  yaml: renderEntry,
};

function modelEdit(before: readonly UdmEntry[], version: number): UdmEdit {
  let entries = before;
  const without = (key: Key): UdmEntry[] => entries.filter((entry) => !isSame(entry.key, key));
  return {
    get size() {
      return entries.length;
    },
    get: (key) => entries.find((entry) => isSame(entry.key, key)),
    put: (entry) => {
      entries = [...without(entry.key), entry];
    },
    delete: (key) => {
      const rest = without(key);
      const isThere = rest.length < entries.length;
      entries = rest;
      return isThere;
    },
    mark() {
      const kept = entries;
      return { undo: () => void (entries = kept), keep: () => {} };
    },
    done: () => modelIndex(entries, version + 1),
    drop: () => {},
  };
}

function isSame(a: Key, b: Key): boolean {
  return a.kind === b.kind && a.text === b.text;
}

function covers(key: Key, { family, value }: Address): boolean {
  return key.family === family && key.first <= value && value <= key.last;
}

function isWithin(bounds: Key, key: Key): boolean {
  return key.family === bounds.family && bounds.first <= key.first && key.last <= bounds.last;
}

/** A text that sorts as lists do: family, first, last (the wider first), CIDR before range before IP, as written. */
function modelOrder(key: Key): string {
  const digits = (value: bigint): string => value.toString().padStart(40, "0");
  const kind = { cidr: 0, range: 1, ip: 2 }[key.kind];
  return [key.family, digits(key.first), digits(2n ** 128n - key.last), kind, digits(key.written)].join(" ");
}

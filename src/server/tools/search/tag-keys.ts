import { compareKeys, type Key } from "../../../base/ip/index.ts";
import type { UdmChange, UdmIndex, UdmStoreWithHistory } from "../../../metadata/index.ts";
import { findInJson } from "./find-bytes.ts";
import { scanEntries } from "./scan-entries.ts";

/** The keys of entries by tag, for tags that were asked for: found once, then kept up to date by the changes. */
export interface TagKeys {
  /** In the order of lists; undefined for a tag that very many entries have. */
  of(tag: string, index: UdmIndex, check: () => void): Promise<readonly Key[] | undefined>;
}

const mostTags = 64;
/** Pages of a tag that more entries have fill up soon without its keys. */
const mostKeys = 50_000;

interface Keys {
  readonly keys: Key[];
  /** The version of the state that they are of. */
  version: number;
}

export function createTagKeys(store: () => UdmStoreWithHistory): TagKeys {
  const known = new Map<string, Keys>();
  let isWatching = false;

  const follow = ({ changes, layer }: UdmChange): void => {
    if (layer !== undefined) return;
    const { version } = store().current();
    for (const [tag, list] of known) {
      // Changes that came together are reported one by one, all after the last.
      if (list.version < version - 1) {
        known.delete(tag);
        continue;
      }
      for (const { before, after } of changes) {
        const had = before?.tags.includes(tag) === true;
        const has = after?.tags.includes(tag) === true;
        if (has && !had) insert(list.keys, after.key);
        else if (had && !has) remove(list.keys, before.key);
      }
      list.version = version;
    }
  };

  const scan = async (tag: string, index: UdmIndex, check: () => void): Promise<Key[] | undefined> => {
    const keys: Key[] = [];
    const find = findInJson(tag);
    await scanEntries(index, { anyOf: find === undefined ? [] : [[find]], check }, (entry) => {
      if (entry.tags.includes(tag)) keys.push(entry.key);
      return keys.length <= mostKeys;
    });
    return keys.length <= mostKeys ? keys : undefined;
  };

  return {
    async of(tag, index, check) {
      const found = known.get(tag);
      if (found?.version === index.version) return found.keys;
      if (!isWatching) {
        isWatching = true;
        store().history.watch(follow);
      }
      const keys = await scan(tag, index, check);
      if (keys === undefined) return undefined;
      known.delete(tag);
      const [oldest] = known.size >= mostTags ? known.keys() : [];
      if (oldest !== undefined) known.delete(oldest);
      known.set(tag, { keys, version: index.version });
      return keys;
    },
  };
}

/** The place of a key, or where it would be. */
export function placeOfKey(keys: readonly Key[], key: Key): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareKeys(keys[middle] as Key, key) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

function insert(keys: Key[], key: Key): void {
  const at = placeOfKey(keys, key);
  if (keys[at]?.text !== key.text) keys.splice(at, 0, key);
}

function remove(keys: Key[], key: Key): void {
  const at = placeOfKey(keys, key);
  if (keys[at]?.text === key.text) keys.splice(at, 1);
}

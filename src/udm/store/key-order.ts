import { compareKeys, type Key } from "../../ip/index.ts";
import { Unfamiliar } from "./plain-yaml-cursor.ts";

/** What the reader asks of the keys that it meets. */
export interface KeyOrder {
  /** @returns whether all keys so far have come in list order. @throws Unfamiliar for a key that was there before. */
  add(key: Key): boolean;
  count(): number;
}

/** Keys in list order cannot come twice; only when they are not in it, all must be remembered. */
export function createKeyOrder(): KeyOrder {
  const inOrder: string[] = [];
  let last: Key | undefined;
  let all: Set<string> | undefined;
  return {
    count: () => all?.size ?? inOrder.length,
    add(key) {
      if (all === undefined && (last === undefined || compareKeys(last, key) < 0)) {
        inOrder.push(key.text);
        last = key;
        return true;
      }
      all ??= new Set(inOrder);
      if (all.has(key.text)) throw new Unfamiliar();
      all.add(key.text);
      return false;
    },
  };
}

import { compareKeys, type Key } from "../../../ip/index.ts";
import type { UdmEntry } from "../../../udm/index.ts";
import { quote } from "../../../text/index.ts";
import { badRequest } from "../../udm/store-fault.ts";

/** A place in an order: behind the entry with this value and key, whether it is still there or not. */
export interface Position {
  readonly value: string;
  readonly key: Key;
  /** "" for what people write. */
  readonly layer: string;
}

/** An entry that was found. */
export interface FoundEntry {
  readonly entry: UdmEntry;
  readonly layer: string;
}

export interface Page {
  /** @returns whether entries of this layer that come later in the order of lists can change the page. */
  add(found: FoundEntry): boolean;
  entries(): readonly FoundEntry[];
}

/** An order of entries; those of one value are in the order of lists, those of one key by their layers. */
export interface Order {
  /** Whether it is that of lists, or that the other way round. */
  readonly isOfKeys: boolean;
  readonly isReversed: boolean;
  /** What {@link Position} says of an entry. */
  valueOf(entry: UdmEntry): string;
  /** The first entries behind a position. */
  page(limit: number, after: Position | undefined): Page;
}

const values: Readonly<Record<string, (entry: UdmEntry) => string>> = {
  key: () => "",
  name: ({ name }) => name,
  // Of one length, so that texts are in the order of numbers.
  vlan: ({ vlan }) => vlan.toString().padStart(20, "0"),
};

/** @throws ConnectError `invalid_argument` */
export function readOrder(text: string): Order {
  const isReversed = text.startsWith("-");
  const name = (isReversed ? text.slice(1) : text) || "key";
  const valueOf = Object.hasOwn(values, name) ? values[name] : undefined;
  if (valueOf === undefined) {
    const description = `order ${quote(text)} is not known: expected ${Object.keys(values).join(", ")}, or one of them behind a "-"`;
    throw badRequest([{ field: "order", description }]);
  }
  const isOfKeys = name === "key";
  const sign = isReversed ? -1 : 1;
  const compare = (a: Position, b: Position): number => {
    if (a.value !== b.value) return a.value < b.value ? -sign : sign;
    const byKeys = compareKeys(a.key, b.key) * (isOfKeys ? sign : 1);
    if (byKeys !== 0 || a.layer === b.layer) return byKeys;
    return a.layer < b.layer ? -1 : 1;
  };
  return {
    isOfKeys,
    isReversed,
    valueOf,
    page(limit, after) {
      const found: (Position & FoundEntry)[] = [];
      const isInOrder = isOfKeys && !isReversed;
      return {
        entries: () => found,
        add({ entry, layer }) {
          const item = { value: valueOf(entry), key: entry.key, layer, entry };
          if (after !== undefined && compare(item, after) <= 0) return true;
          const last = found.at(-1);
          const isBeforeLast = last !== undefined && compare(item, last) < 0;
          if (isBeforeLast) found.splice(placeOf(found, item, compare), 0, item);
          else if (found.length < limit) found.push(item);
          else return !isInOrder;
          if (found.length > limit) found.pop();
          return !isInOrder || isBeforeLast || found.length < limit;
        },
      };
    },
  };
}

function placeOf<T>(sorted: readonly T[], item: T, compare: (a: T, b: T) => number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compare(sorted[middle] as T, item) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

import { parseAddress, parseKey, unmapAddress, type Key } from "../../base/ip/index.ts";
import type { ScopeList, ScopeMatch } from "../../metadata/index.ts";
import { addressLayout, lineObjects, type LineScopes, type Value } from "../../record/index.ts";

/** The facts about an end of a record that a row of a scope may test. */
interface ScopeSide {
  readonly exporter: Key["first"] | undefined;
  readonly family: Key["family"] | undefined;
  /** The known ones of id, name and route distinguisher. */
  readonly vrf: readonly string[];
  /** The index and the name. */
  readonly netif: readonly string[];
  readonly vlan: number | undefined;
}

/** A compiled row of a scope. */
interface Row {
  /** The position among all rows. */
  readonly order: number;
  readonly scope: number;
  fits(side: ScopeSide): boolean;
}

type Get = (name: string) => Value | undefined;

/** The names of the fields for a way through a device. */
const ways = {
  in: {
    index: "flow.in.netif.index",
    name: "flow.in.netif.name",
    vrfId: "flow.in.vrf.id",
    vrf: ["flow.in.vrf.id", "flow.in.vrf.name", "flow.in.vrf.rd"],
    vlan: "flow.src.vlan.tag.id",
  },
  out: {
    index: "flow.out.netif.index",
    name: "flow.out.netif.name",
    vrfId: "flow.out.vrf.id",
    vrf: ["flow.out.vrf.id", "flow.out.vrf.name", "flow.out.vrf.rd"],
    vlan: "flow.dst.vlan.tag.id",
  },
} as const;
const { export: exportObject, dst: destination } = lineObjects;
const exporterName = "flow.export.ip.addr";
const systemName = "system.ip.addr";

/** Returns the first value as a text; undefined if there is none, or if it is a number 0 that means "unknown". */
function textOf(value: Value | undefined, isZeroKnown: boolean): string | undefined {
  const first = typeof value === "object" ? value[0] : value;
  return first === undefined || (!isZeroKnown && Number(first) === 0) ? undefined : String(first);
}

/**
 * Finds the scope of an end of a record: the first, in the order of definition, that has a matching row.
 *
 * The source of a flow is on the way in. The VRF, interface and VLAN of its destination count on the way out, and each on the way in if
 * the record lacks it there. An exporter or a polled device is in a scope only by rows that name nothing but exporters.
 */
export class ScopeChooser implements LineScopes {
  readonly list: ScopeList;
  readonly #names: ReadonlyMap<number, string>;
  readonly #numbers: readonly number[];
  /** The rows by the fact that they test, so that only a few are tried. */
  readonly #byVrf = new Map<string, Row[]>();
  readonly #byExporter = new Map<bigint, Row[]>();
  readonly #others: Row[] = [];

  constructor(list: ScopeList) {
    this.list = list;
    this.#names = new Map(list.scopes.map(({ name, number }) => [number, name]));
    this.#numbers = [...this.#names.keys()];
    let order = 0;
    for (const { number, match } of list.scopes) {
      for (const line of match) this.#add(line, number, order++);
    }
  }

  /** True if there are no scopes. */
  get isEmpty(): boolean {
    return this.list.scopes.length === 0;
  }

  serial(): number {
    return this.isEmpty ? 0 : this.list.serial;
  }

  /** Returns the numbers of all scopes. */
  numbers(): readonly number[] {
    return this.#numbers;
  }

  /** Returns the number of a scope by its name; 0 if there is no such scope. */
  numberOf(name: string): number {
    return this.list.scopes.find((scope) => scope.name === name)?.number ?? 0;
  }

  nameOf(number: number): string | undefined {
    return this.#names.get(number);
  }

  of(object: number, get: Get): number {
    if (this.isEmpty) return 0;
    const exporter = textOf(get(object > exportObject ? systemName : exporterName), true);
    const parsed = exporter === undefined ? undefined : parseAddress(exporter);
    const address = parsed && unmapAddress(parsed);
    const side = object >= exportObject ? noSide : readSide(get, object === destination);
    return this.#choose({ ...side, exporter: address?.value, family: address?.family });
  }

  #choose(side: ScopeSide): number {
    let best: Row | undefined;
    const tryRows = (rows: readonly Row[] | undefined): void => {
      for (const row of rows ?? []) {
        if (best !== undefined && row.order >= best.order) return;
        if (row.fits(side)) {
          best = row;
          return;
        }
      }
    };
    for (const vrf of side.vrf) tryRows(this.#byVrf.get(vrf));
    if (side.exporter !== undefined) tryRows(this.#byExporter.get(side.exporter));
    tryRows(this.#others);
    return best?.scope ?? 0;
  }

  #add(match: ScopeMatch, scope: number, order: number): void {
    const row = { order, scope, fits: compile(match) };
    const exporters = (match.exporter ?? []).map((text) => parseKey(text));
    if (match.vrf !== undefined) for (const vrf of new Set(match.vrf)) addTo(this.#byVrf, vrf, row);
    else if (exporters.length > 0 && exporters.every(({ first, last }) => first === last)) {
      for (const first of new Set(exporters.map((key) => key.first))) addTo(this.#byExporter, first, row);
    } else this.#others.push(row);
  }
}

function addTo<K>(rows: Map<K, Row[]>, key: K, row: Row): void {
  const known = rows.get(key);
  if (known === undefined) rows.set(key, [row]);
  else known.push(row);
}

const noSide: ScopeSide = { exporter: undefined, family: undefined, vrf: [], netif: [], vlan: undefined };

function readSide(get: Get, isDestination: boolean): Pick<ScopeSide, "vrf" | "netif" | "vlan"> {
  const { in: input, out } = ways;
  const way = (has: (of: typeof input | typeof out) => boolean): typeof input | typeof out =>
    isDestination && has(out) ? out : input;
  const vrf = way((of) => get(of.vrfId) !== undefined);
  const netif = way((of) => textOf(get(of.index), false) !== undefined || get(of.name) !== undefined);
  const vlan = textOf(get(way((of) => textOf(get(of.vlan), false) !== undefined).vlan), false);
  return {
    vrf: vrf.vrf.flatMap((name) => textOf(get(name), true) ?? []),
    netif: [textOf(get(netif.index), false), textOf(get(netif.name), true)].filter((text) => text !== undefined),
    vlan: vlan === undefined ? undefined : Number(vlan),
  };
}

function compile({ vrf, exporter, interface: netif, vlan }: ScopeMatch): Row["fits"] {
  const tests: ((side: ScopeSide) => boolean)[] = [];
  if (vrf !== undefined) {
    const wanted = new Set(vrf);
    tests.push((side) => side.vrf.some((text) => wanted.has(text)));
  }
  if (exporter !== undefined) {
    const keys = exporter.map((text) => parseKey(text));
    tests.push(({ exporter: address, family }) =>
      keys.some((key) => address !== undefined && key.family === family && key.first <= address && address <= key.last),
    );
  }
  if (netif !== undefined) {
    const patterns = netif.map((text) => globOf(text));
    tests.push((side) => side.netif.some((text) => patterns.some((pattern) => pattern(text))));
  }
  if (vlan !== undefined) {
    tests.push(({ vlan: number }) =>
      vlan.some(([first, last]) => number !== undefined && first <= number && number <= last),
    );
  }
  return (side) => tests.every((fits) => fits(side));
}

/**
 * Compiles a pattern in which `*` is any text and `?` is one character. For each of its own characters it reads each character of the
 * text at most once.
 */
function globOf(pattern: string): (text: string) => boolean {
  return (text) => {
    let [at, from] = [0, 0];
    // The position of the last star, and the end of the text that it covers.
    let star = -1;
    let reach = 0;
    while (from < text.length) {
      if (pattern[at] === "*") {
        star = at++;
        reach = from;
      } else if (at < pattern.length && (pattern[at] === "?" || pattern[at] === text[from])) {
        at++;
        from++;
      } else if (star >= 0) {
        at = star + 1;
        from = ++reach;
      } else return false;
    }
    while (pattern[at] === "*") at++;
    return at === pattern.length;
  };
}

export const noScopes = new ScopeChooser({ serial: 0, scopes: [] });

/** Returns one number for an object of a record in a scope. */
export function placeOf(object: number, scope: number): number {
  return object | (scope << addressLayout.objectBits);
}

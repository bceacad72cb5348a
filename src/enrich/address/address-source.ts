import type { Address, Family, Key } from "../../base/ip/index.ts";
import { addressOf, isIpv4, addressScope } from "./address-limbs.ts";
import { renderFields, type RenderedFields, type Value } from "../../record/index.ts";
import { asLabel, enrichedObjects, type EnrichedObject } from "./enriched-object.ts";

/** First and last addresses, ascending, without overlap. */
type Intervals = readonly [firsts: readonly (number | bigint)[], lasts: readonly (number | bigint)[]];

/** Selects the addresses of `include` (all if it is empty) without those of `exclude`. */
export class AddressSelection {
  readonly #isAll: boolean;
  readonly #included: Readonly<Record<Family, Intervals>>;
  readonly #excluded: Readonly<Record<Family, Intervals>>;

  constructor(include: readonly Key[], exclude: readonly Key[]) {
    this.#isAll = include.length === 0;
    this.#included = { 4: intervalsOf(include, 4), 6: intervalsOf(include, 6) };
    this.#excluded = { 4: intervalsOf(exclude, 4), 6: intervalsOf(exclude, 6) };
  }

  /** @param a to d: the words of the address, IPv4 in its mapped form. */
  has(a: number, b: number, c: number, d: number): boolean {
    const is4 = isIpv4(a, b, c);
    const address = is4 ? d >>> 0 : addressOf(a, b, c, d).value;
    const family = is4 ? 4 : 6;
    return (this.#isAll || isIn(this.#included[family], address)) && !isIn(this.#excluded[family], address);
  }
}

function intervalsOf(keys: readonly Key[], family: Family): Intervals {
  const own = keys.filter((key) => key.family === family).toSorted((a, b) => (a.first < b.first ? -1 : 1));
  const merged: { first: bigint; last: bigint }[] = [];
  for (const { first, last } of own) {
    const before = merged.at(-1);
    if (before === undefined || first > before.last + 1n) merged.push({ first, last });
    else if (last > before.last) before.last = last;
  }
  const plain = (value: bigint): number | bigint => (family === 4 ? Number(value) : value);
  return [merged.map(({ first }) => plain(first)), merged.map(({ last }) => plain(last))];
}

function isIn([firsts, lasts]: Intervals, address: number | bigint): boolean {
  let low = 0;
  let high = firsts.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((firsts[middle] as number | bigint) <= address) low = middle + 1;
    else high = middle;
  }
  return low > 0 && address <= (lasts[low - 1] as number | bigint);
}

/** Facts about an address, rendered below an object: its fields, each with a comma before it. */
export interface RenderedFacts {
  readonly from: DataView;
  readonly start: number;
  readonly fieldsEnd: number;
  /**
   * The end of the system's number. The number follows the other fields, because exporters report it, too; then follows its
   * organisation.
   */
  readonly numberEnd: number;
  readonly end: number;
  /** The number of the autonomous system; 0 for none. */
  readonly system: number;
}

/** Renders facts when they are written, which is once for addresses that share a text. */
export interface FactRenderer {
  /**
   * A number that no other renderer of the source ever has, if facts follow from their number. Addresses with the same facts may then
   * share a text. Undefined if each address has a text of its own.
   */
  readonly generation: number | undefined;
  /**
   * @param fact the number that was added with the renderer.
   * @param position of the object in `enrichedObjects`.
   * @returns the fields, valid until the next call.
   */
  render(fact: number, position: number): RenderedFacts;
}

/** Takes the facts that sources know of an address. */
export interface FoundFacts {
  /** Adds facts. No decoder and no other source may give a field of these facts. */
  add(renderer: FactRenderer, fact: number): void;
}

/** A source of facts about addresses. It answers at once with what it knows, and reports when its answer would differ. */
export interface AddressSource {
  /** The objects whose addresses are looked up in it, such as `flow.src`. */
  readonly objects: ReadonlySet<string>;
  /**
   * Adds the facts about an address of four words, IPv4 in its mapped form.
   *
   * @returns the time for which they hold, in ms; infinite until it reports a change.
   */
  find(a: number, b: number, c: number, d: number, found: FoundFacts): number;
  /** @param changed gets the address whose facts have changed; undefined for all addresses. */
  watch(changed: (address: Address | undefined) => void): () => void;
}

/** The two ends of a flow. */
export const endpointObjects: ReadonlySet<string> = new Set(["flow.src", "flow.dst"]);

/** The listeners of a source. */
export class Listeners {
  readonly #listeners = new Set<(address: Address | undefined) => void>();

  /** Adds a listener here, and to the source behind this one, if there is any. @returns a function that removes it. */
  add(listener: (address: Address | undefined) => void, next?: AddressSource): () => void {
    this.#listeners.add(listener);
    const end = next?.watch(listener);
    return () => {
      this.#listeners.delete(listener);
      end?.();
    };
  }

  report(address: Address | undefined): void {
    for (const listener of this.#listeners) listener(address);
  }
}

/** A source that is used for some addresses only. */
export class SelectedSource implements AddressSource {
  readonly objects: AddressSource["objects"];
  readonly #source: AddressSource;
  readonly #listeners = new Listeners();
  #selection: AddressSelection | undefined;

  constructor(source: AddressSource) {
    this.objects = source.objects;
    this.#source = source;
  }

  find(a: number, b: number, c: number, d: number, found: FoundFacts): number {
    if (this.#selection?.has(a, b, c, d) === false) return Number.POSITIVE_INFINITY;
    return this.#source.find(a, b, c, d, found);
  }

  watch(changed: (address: Address | undefined) => void): () => void {
    return this.#listeners.add(changed, this.#source);
  }

  /** Applies the selection of a file that was read. Before the first one, all addresses are selected. */
  use(selection: AddressSelection): void {
    this.#selection = selection;
    this.#listeners.report(undefined);
  }
}

/** A name below the object with the address, with a dot before it (`.geo.country.code`), and its value. */
export type Fact = readonly [suffix: string, value: Value];

/** The facts of one source about an address. */
export interface AddressFacts {
  readonly fields: readonly Fact[];
  readonly as?: { readonly number: number; readonly organisation: string | undefined } | undefined;
  /** The label that replaces the system's if the exporter names no system. */
  readonly label?: string;
}

const nothing: RenderedFields = new Uint8Array();

/** Creates a renderer of the facts of one address, or, with a generation, of all addresses with the same facts. */
export function createFactRenderer(facts: AddressFacts, generation?: number): FactRenderer {
  const rendered: RenderedFacts[] = [];
  return {
    generation,
    render: (_, position) => (rendered[position] ??= renderFacts(facts, enrichedObjects[position] as EnrichedObject)),
  };
}

function renderFacts({ fields, as, label }: AddressFacts, object: EnrichedObject): RenderedFacts {
  const own = renderFields(fields.map(([suffix, value]) => [object.name + suffix, value]));
  const number = as === undefined ? nothing : renderFields([[object.asNumberName, as.number]]);
  const organisation =
    as !== undefined
      ? renderSystem(as, object)
      : label === undefined
        ? nothing
        : renderFields([[object.asLabelName, label]]);
  const all = Uint8Array.from([...own, ...number, ...organisation]);
  const numberEnd = own.length + number.length;
  return {
    from: new DataView(all.buffer),
    start: 0,
    fieldsEnd: own.length,
    numberEnd,
    end: all.length,
    system: as?.number ?? 0,
  };
}

/** Renders the names of a system: its organisation, if known, and its label. */
function renderSystem(
  { number, organisation }: NonNullable<AddressFacts["as"]>,
  object: EnrichedObject,
): RenderedFields {
  const label = [object.asLabelName, asLabel(number, organisation)] as const;
  return renderFields(organisation === undefined ? [label] : [[object.asOrganisationName, organisation], label]);
}

const privateSystem = "PRIVATE";

/** Creates a source that gives private addresses at the ends of flows the system `PRIVATE`, as NetObserv does. */
export function createPrivateSystems(): AddressSource {
  const renderer = createFactRenderer({ fields: [[".as.org", privateSystem]], label: privateSystem }, 1);
  return {
    objects: endpointObjects,
    find(a, b, c, d, found) {
      if (addressScope(a, b, c, d) === "private") found.add(renderer, 0);
      return Number.POSITIVE_INFINITY;
    },
    watch: () => () => {},
  };
}

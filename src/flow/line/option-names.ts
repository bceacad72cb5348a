import { renderFields, type Workspace } from "../../record/index.ts";
import * as layout from "../kernel/layout.gen.ts";
import { sides, type Applications, type NameTable } from "../exporters/options.ts";
import { moreOfApplication } from "./flow-ends.ts";
import type { RecordSlots } from "./flow-ends.ts";

/** The most bytes that the operator's fields of one application take, rendered. */
const maxApplication = 8192;
/** No names of one record are longer: ten of 255 characters of up to six bytes, their own names, and an application. */
export const maxNamesLength = 16_384 + maxApplication;

/** A name and what belongs to it, as they stand in a line. */
type Texts = readonly [first: Uint8Array | undefined, second: Uint8Array | undefined];

/** The names of one name table as they stand in a line, by the values that they follow from. */
interface RenderedNames {
  readonly own: NameTable;
  readonly whole: NameTable | undefined;
  readonly version: number;
  readonly wholeVersion: number | undefined;
  readonly sides: readonly {
    readonly netifs: Map<number, Texts | undefined>;
    readonly vrfs: Map<number, Texts>;
  }[];
  /** By the bytes of an application's id; the second are fields that no record brings itself. */
  readonly apps: Map<string, Texts>;
  /** The applications that the operator gives. */
  readonly given: Applications | undefined;
  readonly domain: Uint8Array | undefined;
}

/** Numbers come from the network: this many of one kind are kept in a table, and this many in all. */
const maxRendered = 4096;
const maxRenderedInAll = 65_536;
const appName = "app.name";
const domainName = "flow.export.domain.name";

/** The names that options gave to numbers in the record under way. */
export class OptionNames {
  readonly #memory: Buffer;
  readonly #values: RecordSlots;
  readonly #applicationText: (at: number, length: number) => string | undefined;
  readonly #sideSlots: readonly { readonly index: number; readonly vrfId: number }[];
  readonly #appSlot: number;
  #rendered = new WeakMap<NameTable, RenderedNames>();
  /** In all tables, those that are gone too. */
  #count = 0;
  #current: RenderedNames | undefined;

  /** @param applicationText makes the text of an application's id. */
  constructor(
    { bytes }: Workspace,
    slots: ReadonlyMap<string, number>,
    values: RecordSlots,
    applicationText: (at: number, length: number) => string | undefined,
  ) {
    this.#memory = bytes;
    this.#values = values;
    this.#applicationText = applicationText;
    const slotOf = (name: string): number => slots.get(name) as number;
    this.#sideSlots = sides.map(({ index, vrfId }) => ({ index: slotOf(index), vrfId: slotOf(vrfId) }));
    this.#appSlot = slotOf("app.id");
  }

  /** Sets whose names count: those of the record's domain, and of the whole exporter where that says nothing. */
  use(own: NameTable, whole: NameTable | undefined, given: Applications | undefined): void {
    const known = this.#rendered.get(own);
    const isCurrent =
      known?.version === own.version &&
      known.whole === whole &&
      known.wholeVersion === whole?.version &&
      known.given === given;
    if (isCurrent) {
      this.#current = known;
      return;
    }
    this.#current = {
      own,
      whole,
      version: own.version,
      wholeVersion: whole?.version,
      sides: sides.map(() => ({ netifs: new Map(), vrfs: new Map() })),
      apps: new Map(),
      given,
      domain: render(domainName, own.domainName),
    };
    this.#rendered.set(own, this.#current);
  }

  /** Writes those that the record does not bring itself. @returns where they end. */
  write(at: number): number {
    const of = this.#current;
    if (of === undefined) return at;
    const { own, whole } = of;
    let p = at;
    for (let i = 0; i < sides.length; i++) {
      const side = sides[i] as (typeof sides)[number];
      const { netifs, vrfs } = of.sides[i] as RenderedNames["sides"][number];
      const { index, vrfId } = this.#sideSlots[i] as { index: number; vrfId: number };
      const number = this.#values.number(index);
      if (number >= 0) {
        const text = this.#remembered(netifs, number, () => netifTexts(of, side, number));
        p = this.#put(p, text?.[0], side.name);
        p = this.#put(p, text?.[1], side.descr);
      }
      const vrf = this.#values.number(vrfId);
      if (vrf >= 0) {
        const [name, rd] = this.#remembered(vrfs, vrf, () => [
          render(side.vrfName, own.vrf(vrf) ?? whole?.vrf(vrf)),
          render(side.vrfRd, own.rd(vrf) ?? whole?.rd(vrf)),
        ]);
        p = this.#put(p, name, side.vrfName);
        p = this.#put(p, rd, side.vrfRd);
      }
    }
    p = this.#writeApp(p, of);
    return this.#put(p, of.domain, domainName);
  }

  #remembered<Key, T>(known: Map<Key, T>, key: Key, make: () => T): T {
    const before = known.get(key);
    if (before !== undefined || known.has(key)) return before as T;
    const made = make();
    if (known.size >= maxRendered) known.clear();
    known.set(key, made);
    if (++this.#count > maxRenderedInAll) {
      this.#rendered = new WeakMap();
      this.#count = 0;
    }
    return made;
  }

  #put(at: number, text: Uint8Array | undefined, name: string): number {
    if (text === undefined || this.#values.isTaken(name)) return at;
    this.#values.take(name);
    this.#memory.set(text, at);
    return at + text.length;
  }

  #writeApp(p: number, of: RenderedNames): number {
    const slot = layout.slots + 8 * this.#appSlot;
    const length = this.#memory.readInt32LE(slot + 4);
    if (length < 0) {
      const id = this.#values.get("app.id");
      return typeof id === "string" ? this.#putApp(p, appTexts(of, id)) : p;
    }
    const at = this.#memory.readUInt32LE(slot);
    const key = this.#memory.toString("latin1", at, at + length);
    const texts = this.#remembered(of.apps, key, () => appTexts(of, this.#applicationText(at, length)));
    return this.#putApp(p, texts);
  }

  #putApp(at: number, [name, more]: Texts): number {
    const end = this.#put(at, name, appName);
    if (more === undefined) return end;
    this.#values.take(moreOfApplication);
    this.#memory.set(more, end);
    return end + more.length;
  }
}

function netifTexts({ own, whole }: RenderedNames, side: (typeof sides)[number], index: number): Texts | undefined {
  const names = own.netif(index) ?? whole?.netif(index);
  return names && [render(side.name, names.name), render(side.descr, names.descr)];
}

function appTexts({ own, whole, given }: RenderedNames, id: string | undefined): Texts {
  if (id === undefined) return [undefined, undefined];
  const fields = given?.get(id) ?? [];
  const [, named] = fields.find(([name]) => name === appName) ?? [];
  const more = renderFields(fields.filter(([name]) => name !== appName));
  const isKept = more.length > 0 && more.length <= maxApplication;
  return [render(appName, named ?? own.app(id) ?? whole?.app(id)), isKept ? more : undefined];
}

function render(name: string, value: string | undefined): Uint8Array | undefined {
  return value === undefined ? undefined : renderFields([[name, value]]);
}

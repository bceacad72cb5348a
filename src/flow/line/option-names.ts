import { renderFields, type Workspace } from "../../record/index.ts";
import * as layout from "../kernel/layout.gen.ts";
import { sides, type Applications, type NameTable, type NetifNames } from "../exporters/options.ts";
import { moreOfApplication } from "./record-slots.ts";
import type { RecordSlots } from "./record-slots.ts";

/** The names that options gave to numbers in the record under way. */
export interface OptionNames {
  /** Sets whose names count: those of the record's domain, and of the whole exporter where that says nothing. */
  use(own: NameTable, whole: NameTable | undefined, apps: Applications | undefined): void;
  /** Writes those that the record does not bring itself. @returns where they end. */
  write(at: number): number;
}

/** What the operator says of one application is no longer, rendered. */
const maxApplication = 8192;
/** No names of one record are longer: ten of 255 characters of up to six bytes, their own names, and an application. */
export const maxNamesLength = 16_384 + maxApplication;

interface AppText {
  readonly name: Uint8Array | undefined;
  /** Fields that no record brings itself. */
  readonly more: Uint8Array | undefined;
}

interface NetifText {
  readonly name: Uint8Array | undefined;
  readonly descr: Uint8Array | undefined;
}

interface VrfText {
  readonly name: Uint8Array | undefined;
  readonly rd: Uint8Array | undefined;
}

/** Of one name table: names as they stand in a line, by the values that they follow from. */
interface RenderedNames {
  readonly own: NameTable;
  readonly whole: NameTable | undefined;
  readonly version: number;
  readonly wholeVersion: number | undefined;
  readonly sides: readonly {
    readonly netifs: Map<number, NetifText | undefined>;
    readonly vrfs: Map<number, VrfText>;
  }[];
  /** By the bytes of an application's id. */
  readonly apps: Map<string, AppText>;
  /** What the operator says of them. */
  readonly given: Applications | undefined;
  readonly domain: Uint8Array | undefined;
}

/** Numbers come from the network: this many of one kind are kept in a table, and this many in all. */
const maxRendered = 4096;
const maxRenderedInAll = 65_536;
const appName = "app.name";
const domainName = "flow.export.domain.name";

export function createOptionNames(
  { bytes: memory }: Workspace,
  slots: ReadonlyMap<string, number>,
  values: RecordSlots,
  applicationText: (at: number, length: number) => string | undefined,
): OptionNames {
  let rendered = new WeakMap<NameTable, RenderedNames>();
  /** In all tables, those that are gone too. */
  let count = 0;
  const sideSlots = sides.map(({ index, vrfId }) => ({
    index: slots.get(index) as number,
    vrfId: slots.get(vrfId) as number,
  }));
  const appSlot = slots.get("app.id") as number;
  let current: RenderedNames | undefined;

  const remembered = <Key, T>(known: Map<Key, T>, key: Key, make: () => T): T => {
    const before = known.get(key);
    if (before !== undefined || known.has(key)) return before as T;
    const made = make();
    if (known.size >= maxRendered) known.clear();
    known.set(key, made);
    if (++count > maxRenderedInAll) {
      rendered = new WeakMap();
      count = 0;
    }
    return made;
  };

  const put = (at: number, text: Uint8Array | undefined, name: string): number => {
    if (text === undefined || values.isTaken(name)) return at;
    values.take(name);
    memory.set(text, at);
    return at + text.length;
  };

  const netifText = ({ own, whole }: RenderedNames, side: (typeof sides)[number], index: number) => {
    const names: NetifNames | undefined = own.netif(index) ?? whole?.netif(index);
    return names && { name: render(side.name, names.name), descr: render(side.descr, names.descr) };
  };

  const vrfText = ({ own, whole }: RenderedNames, side: (typeof sides)[number], vrf: number): VrfText => ({
    name: render(side.vrfName, own.vrf(vrf) ?? whole?.vrf(vrf)),
    rd: render(side.vrfRd, own.rd(vrf) ?? whole?.rd(vrf)),
  });

  const appText = ({ own, whole, given }: RenderedNames, id: string | undefined): AppText => {
    if (id === undefined) return { name: undefined, more: undefined };
    const fields = given?.get(id) ?? [];
    const [, named] = fields.find(([name]) => name === appName) ?? [];
    const more = renderFields(fields.filter(([name]) => name !== appName));
    return {
      name: render(appName, named ?? own.app(id) ?? whole?.app(id)),
      more: more.length > 0 && more.length <= maxApplication ? more : undefined,
    };
  };

  const putApp = (at: number, { name, more }: AppText): number => {
    const end = put(at, name, appName);
    if (more === undefined) return end;
    values.take(moreOfApplication);
    memory.set(more, end);
    return end + more.length;
  };

  const writeApp = (p: number, of: RenderedNames): number => {
    const slot = layout.slots + 8 * appSlot;
    const length = memory.readInt32LE(slot + 4);
    if (length < 0) {
      const id = values.get("app.id");
      return typeof id === "string" ? putApp(p, appText(of, id)) : p;
    }
    const at = memory.readUInt32LE(slot);
    const key = memory.toString("latin1", at, at + length);
    return putApp(
      p,
      remembered(of.apps, key, () => appText(of, applicationText(at, length))),
    );
  };

  return {
    use(own, whole, given) {
      const known = rendered.get(own);
      const isCurrent =
        known?.version === own.version &&
        known.whole === whole &&
        known.wholeVersion === whole?.version &&
        known.given === given;
      if (isCurrent) {
        current = known;
        return;
      }
      current = {
        own,
        whole,
        version: own.version,
        wholeVersion: whole?.version,
        sides: sides.map(() => ({ netifs: new Map(), vrfs: new Map() })),
        apps: new Map(),
        given,
        domain: render(domainName, own.domainName),
      };
      rendered.set(own, current);
    },
    write(at) {
      const of = current;
      if (of === undefined) return at;
      let p = at;
      for (let i = 0; i < sides.length; i++) {
        const side = sides[i] as (typeof sides)[number];
        const { netifs, vrfs } = of.sides[i] as RenderedNames["sides"][number];
        const { index, vrfId } = sideSlots[i] as (typeof sideSlots)[number];
        const number = values.number(index);
        if (number >= 0) {
          const text = remembered(netifs, number, () => netifText(of, side, number));
          p = put(p, text?.name, side.name);
          p = put(p, text?.descr, side.descr);
        }
        const vrf = values.number(vrfId);
        if (vrf >= 0) {
          const text = remembered(vrfs, vrf, () => vrfText(of, side, vrf));
          p = put(p, text.name, side.vrfName);
          p = put(p, text.rd, side.vrfRd);
        }
      }
      p = writeApp(p, of);
      return put(p, of.domain, domainName);
    },
  };
}

function render(name: string, value: string | undefined): Uint8Array | undefined {
  return value === undefined ? undefined : renderFields([[name, value]]);
}

import type { RecordFields } from "../../record/index.ts";
import { LearntTable, noShare, type EntryShare } from "./limits.ts";
import { newer, SamplingTable, type SamplingState, type DoubtRate } from "./sampling.ts";

/** Both sides of a flow record, by the names of their fields. */
export const sides = ["flow.in", "flow.out"].map((side) => ({
  index: `${side}.netif.index`,
  name: `${side}.netif.name`,
  descr: `${side}.netif.descr`,
  vrfId: `${side}.vrf.id`,
  vrfName: `${side}.vrf.name`,
  vrfRd: `${side}.vrf.rd`,
}));

/** The fields of a flow record that options give names to. */
export const optionNumbers: readonly string[] = [...sides.flatMap(({ index, vrfId }) => [index, vrfId]), "app.id"];

/** The names that options may give. */
export const optionNames: readonly string[] = [
  ...sides.flatMap(({ name, descr, vrfName, vrfRd }) => [name, descr, vrfName, vrfRd]),
  "app.name",
  "flow.export.domain.name",
];

/** Names that an exporter gives one of its interfaces. The same object until it says something else, so it can be a cache's key. */
export interface NetifNames {
  readonly name: string | undefined;
  readonly descr: string | undefined;
}

/** Plain data; null is no name. */
interface NamesState {
  readonly netifs: readonly (readonly [index: number, name: string | null, descr: string | null])[];
  readonly apps: readonly (readonly [id: string, name: string])[];
  readonly vrfs: readonly (readonly [id: number, name: string])[];
  readonly rds: readonly (readonly [id: number, rd: string])[];
  readonly domainName: string | null;
}

/** Names are cut here: they go into every record. */
const maxText = 255;

/**
 * The names that the options of one observation domain give to numbers in its flow records.
 *
 * Interfaces: interfaceName (82), interfaceDescription (83) of the scope interface of NetFlow v9, of ingressInterface (10)
 * or egressInterface (14). Applications: applicationName (96) of applicationId (95), RFC 6759. VRFs: VRFname (236) of
 * ingressVRFID (234) or egressVRFID (235), and its mplsVpnRouteDistinguisher (90). Domains: observationDomainName (300).
 */
export class NameTable {
  readonly #netifs: LearntTable<number, NetifNames>;
  readonly #apps: LearntTable<string, string>;
  readonly #vrfs: LearntTable<number, string>;
  readonly #rds: LearntTable<number, string>;
  /** The name of the observation domain itself. */
  domainName: string | undefined;
  /** Goes up with each change. 0: nothing was learned yet. */
  version = 0;

  constructor(share: EntryShare) {
    this.#netifs = new LearntTable(
      share,
      (a, b) => a.name === b.name && a.descr === b.descr,
      ({ name = "", descr = "" }) => name.length + descr.length,
    );
    const lengthOf = ({ length }: string): number => length;
    this.#apps = new LearntTable(share, Object.is, lengthOf);
    this.#vrfs = new LearntTable(share, Object.is, lengthOf);
    this.#rds = new LearntTable(share, Object.is, lengthOf);
  }

  /** @param index as in ingressInterface. */
  netif(index: number): NetifNames | undefined {
    return this.#netifs.get(index);
  }

  /** @param id engine, colon, selector, as in `app.id`. */
  app(id: string): string | undefined {
    return this.#apps.get(id);
  }

  vrf(id: number): string | undefined {
    return this.#vrfs.get(id);
  }

  /** The route distinguisher of a VRF. */
  rd(id: number): string | undefined {
    return this.#rds.get(id);
  }

  /** Takes what an options record says. Returns whether that was something new. */
  learn(options: RecordFields): boolean {
    const areNew = [
      this.#learnNetif(options),
      this.#learnApp(options),
      this.#learnVrf(options),
      this.#learnDomain(options),
    ];
    const isNew = areNew.includes(true);
    if (isNew) this.version++;
    return isNew;
  }

  /** For people. */
  counts(): { readonly interfaces: number; readonly applications: number; readonly vrfs: number } {
    return { interfaces: this.#netifs.size, applications: this.#apps.size, vrfs: this.#vrfs.size };
  }

  state(): NamesState {
    const netifs = Array.from(this.#netifs.entries(), ([index, { name, descr }]) => {
      return [index, name ?? null, descr ?? null] as const;
    });
    return {
      netifs,
      apps: [...this.#apps.entries()],
      vrfs: [...this.#vrfs.entries()],
      rds: [...this.#rds.entries()],
      domainName: this.domainName ?? null,
    };
  }

  /** Adds what `state` gave, where nothing is known yet. @param isNewer it counts before what is known. */
  restore(state: NamesState, isNewer: boolean): void {
    const netifs = state.netifs.map(([index, name, descr]) => [index, { name: cut(name), descr: cut(descr) }] as const);
    this.#netifs.restore(netifs, isNewer, (names) => names);
    this.#apps.restore(state.apps, isNewer, cut);
    this.#vrfs.restore(state.vrfs, isNewer, cut);
    this.#rds.restore(state.rds, isNewer, cut);
    this.domainName = newer(this.domainName, cut(state.domainName) ?? null, isNewer);
    this.version++;
  }

  clear(): void {
    for (const table of [this.#netifs, this.#apps, this.#vrfs, this.#rds]) table.clear();
    this.domainName = undefined;
    this.version++;
  }

  #learnNetif(options: RecordFields): boolean {
    const name = text(options, "flow.ie.interfaceName");
    const descr = text(options, "flow.ie.interfaceDescription");
    if (name === undefined && descr === undefined) return false;
    const index = number(options, ["flow.scope.interface", "flow.in.netif.index", "flow.out.netif.index"]);
    if (index === undefined) return false;
    const known = this.#netifs.get(index);
    return this.#netifs.set(index, { name: name ?? known?.name, descr: descr ?? known?.descr });
  }

  #learnApp(options: RecordFields): boolean {
    const id = options.get("app.id");
    const name = text(options, "app.name");
    return typeof id === "string" && name !== undefined && this.#apps.set(id, name);
  }

  #learnVrf(options: RecordFields): boolean {
    const id = number(options, ["flow.in.vrf.id", "flow.out.vrf.id"]);
    if (id === undefined) return false;
    const name = text(options, "flow.ie.VRFname");
    const rd = text(options, "mpls.vpn.rd");
    const isNewName = name !== undefined && this.#vrfs.set(id, name);
    return (rd !== undefined && this.#rds.set(id, rd)) || isNewName;
  }

  #learnDomain(options: RecordFields): boolean {
    const name = text(options, "flow.ie.observationDomainName");
    if (name === undefined || name === this.domainName) return false;
    this.domainName = name;
    return true;
  }
}

/**
 * Fields that the operator gives applications, by `app.id`: their names and values. No decoder writes them, but for `app.name`, which
 * comes first.
 */
export type Applications = ReadonlyMap<string, readonly (readonly [name: string, value: string])[]>;

/**
 * Adds the names of the interfaces, VRFs, application and observation domain that a flow record has numbers of. A name
 * that the record brought itself stays.
 *
 * @param whole of domain 0, which speaks for the whole exporter where the record's own domain says nothing.
 * @param apps count before what options say.
 */
export function addNames(
  record: RecordFields,
  own: NameTable,
  whole: NameTable | undefined,
  apps?: Applications,
): void {
  if (own.version === 0 && (whole === undefined || whole.version === 0) && apps === undefined) return;
  for (const side of sides) {
    const index = record.get(side.index);
    const names = typeof index === "number" ? (own.netif(index) ?? whole?.netif(index)) : undefined;
    if (names !== undefined) {
      add(record, side.name, names.name);
      add(record, side.descr, names.descr);
    }
    const vrf = record.get(side.vrfId);
    if (typeof vrf === "number") {
      add(record, side.vrfName, own.vrf(vrf) ?? whole?.vrf(vrf));
      add(record, side.vrfRd, own.rd(vrf) ?? whole?.rd(vrf));
    }
  }
  const app = record.get("app.id");
  if (typeof app === "string") {
    const given = new Map(apps?.get(app));
    add(record, "app.name", given.get("app.name") ?? own.app(app) ?? whole?.app(app));
    for (const [name, value] of given) add(record, name, value);
  }
  add(record, "flow.export.domain.name", own.domainName);
}

function add(record: RecordFields, name: string, value: string | undefined): void {
  if (value !== undefined && !record.has(name)) record.set(name, value);
}

function number(options: RecordFields, names: readonly string[]): number | undefined {
  for (const name of names) {
    const value = options.get(name);
    if (typeof value === "number") return value;
  }
  return undefined;
}

function text(options: RecordFields, name: string): string | undefined {
  const value = options.get(name);
  return typeof value === "string" ? cut(value) : undefined;
}

/** A text that says something, without blanks around it. */
function cut(value: string | null): string | undefined {
  const trimmed = value === null ? "" : value.trim();
  if (trimmed.length <= maxText) return trimmed === "" ? undefined : trimmed;
  // By way of bytes, because a slice of a text keeps the whole of it alive.
  return Buffer.from(trimmed.slice(0, maxText)).toString();
}

/** Plain data. */
export interface DomainOptionsState {
  readonly sampling: SamplingState;
  readonly names: NamesState;
  readonly bootTime: number | null;
  /** When it changed for the last time, milliseconds since the epoch. Left out: not known. */
  readonly changedAt?: number;
}

/** Exporters that compute their start from an uptime send a slightly different one each time. */
const sameBootMs = 1000;

/** The table of domains that said nothing; nothing is put into it. */
const noSampling = new SamplingTable(noShare);
const noNames = new NameTable(noShare);

/** All that the options of one observation domain say for its flow records. */
export class DomainOptions {
  readonly #share: EntryShare;
  #heardAt = 0;
  #changedAt = 0;
  // Made when there is something to learn: most domains send no options, and there may be many.
  sampling = noSampling;
  names = noNames;
  /** When the exporter started, milliseconds since the epoch, where its options say so. */
  bootTime: number | undefined;
  /** The number of templates of flows of the domain that name samplers. */
  samplerTemplates = 0;

  constructor(share: EntryShare) {
    this.#share = share;
  }

  /** Returns whether nothing was learned yet. */
  isEmpty(): boolean {
    if (this.bootTime !== undefined) return false;
    return this.sampling === noSampling || (this.names.version === 0 && this.sampling.isEmpty);
  }

  /**
   * Takes an options record. Returns whether it said something new.
   *
   * @param now milliseconds since the epoch.
   * @param hasForeignScope, doubt as {@link SamplingTable.learn}.
   */
  learn(options: RecordFields, now: number, hasForeignScope: boolean, doubt?: DoubtRate): boolean {
    this.#begin();
    this.#heardAt = now;
    const isRate = this.sampling.learn(options, hasForeignScope, doubt);
    const isName = this.names.learn(options);
    const isChange = this.#learnBootTime(options) || isRate || isName;
    if (isChange) this.#changedAt = now;
    return isChange;
  }

  /** Takes of such a record only when the exporter started: that is the same in all its domains. Returns whether it said something new. */
  learnStart(options: RecordFields, now: number): boolean {
    const isChange = this.#learnBootTime(options);
    if (isChange) this.#changedAt = this.#heardAt = now;
    return isChange;
  }

  state(): DomainOptionsState {
    return {
      sampling: this.sampling.state(),
      names: this.names.state(),
      bootTime: this.bootTime ?? null,
      changedAt: this.#changedAt,
    };
  }

  /**
   * Adds what `state` gave, where nothing is known yet. What has changed since options came here counts before what is known.
   *
   * @returns whether nothing was known, or something older.
   */
  restore(state: DomainOptionsState): boolean {
    const wasEmpty = this.isEmpty();
    this.#begin();
    const saidAt = state.changedAt ?? 0;
    const isNewer = saidAt > this.#heardAt && saidAt > this.#changedAt;
    this.sampling.restore(state.sampling, isNewer);
    this.names.restore(state.names, isNewer);
    this.bootTime = newer(this.bootTime, state.bootTime, isNewer);
    this.#changedAt = Math.max(this.#changedAt, saidAt);
    return wasEmpty || isNewer;
  }

  clear(): void {
    this.bootTime = undefined;
    if (this.sampling === noSampling) return;
    this.sampling.clear();
    this.names.clear();
    this.sampling = noSampling;
    this.names = noNames;
  }

  #begin(): void {
    if (this.sampling !== noSampling) return;
    this.sampling = new SamplingTable(this.#share);
    this.names = new NameTable(this.#share);
  }

  #learnBootTime(options: RecordFields): boolean {
    const value = options.get("flow.ie.systemInitTimeMilliseconds");
    const time = typeof value === "string" ? Date.parse(value) : Number.NaN;
    if (Number.isNaN(time)) return false;
    const isNew = this.bootTime === undefined || Math.abs(time - this.bootTime) > sameBootMs;
    this.bootTime = time;
    return isNew;
  }
}

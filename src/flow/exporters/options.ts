import type { RecordFields } from "../../record/index.ts";
import { createLearntTable, type LearntTable, type OptionsShare } from "./limits.ts";
import { newer, createSamplingTable, type SamplingState, type SamplingTable, type DoubtRate } from "./sampling.ts";

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

/** What an exporter calls one of its interfaces. The same object until it says something else, so it can be a cache's key. */
export interface NetifNames {
  readonly name: string | undefined;
  readonly descr: string | undefined;
}

/** The names that the options of one observation domain give to numbers in its flow records. */
export interface NameTable {
  /** Goes up with each change. 0: nothing was learned yet. */
  readonly version: number;
  /** @param index as in ingressInterface. */
  netif(index: number): NetifNames | undefined;
  /** @param id engine, colon, selector, as in `app.id`. */
  app(id: string): string | undefined;
  vrf(id: number): string | undefined;
  /** The route distinguisher of a VRF. */
  rd(id: number): string | undefined;
  /** Of the observation domain itself. */
  readonly domainName: string | undefined;
  /** Takes what an options record says. Returns whether that was something new. */
  learn(options: RecordFields): boolean;
  /** For people. */
  counts(): NameCounts;
  state(): NamesState;
  /** Adds what `state` gave, where nothing is known yet. @param isNewer it counts before what is known. */
  restore(state: NamesState, isNewer: boolean): void;
  clear(): void;
}

export interface NameCounts {
  readonly interfaces: number;
  readonly applications: number;
  readonly vrfs: number;
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
 * Interfaces: interfaceName (82), interfaceDescription (83) of the scope interface of NetFlow v9, of ingressInterface (10)
 * or egressInterface (14). Applications: applicationName (96) of applicationId (95), RFC 6759. VRFs: VRFname (236) of
 * ingressVRFID (234) or egressVRFID (235), and its mplsVpnRouteDistinguisher (90). Domains: observationDomainName (300).
 */
function createNameTable(share: OptionsShare): NameTable {
  const netifs = createLearntTable<number, NetifNames>(
    share,
    (a, b) => a.name === b.name && a.descr === b.descr,
    ({ name = "", descr = "" }) => name.length + descr.length,
  );
  const apps = createLearntTable<string, string>(share, Object.is, ({ length }) => length);
  const vrfs = createLearntTable<number, string>(share, Object.is, ({ length }) => length);
  const rds = createLearntTable<number, string>(share, Object.is, ({ length }) => length);
  let domainName: string | undefined;
  let version = 0;

  const learnNetif = (options: RecordFields): boolean => {
    const name = text(options, "flow.ie.interfaceName");
    const descr = text(options, "flow.ie.interfaceDescription");
    if (name === undefined && descr === undefined) return false;
    const index = number(options, ["flow.scope.interface", "flow.in.netif.index", "flow.out.netif.index"]);
    if (index === undefined) return false;
    const known = netifs.get(index);
    return netifs.set(index, { name: name ?? known?.name, descr: descr ?? known?.descr });
  };
  const learnApp = (options: RecordFields): boolean => {
    const id = options.get("app.id");
    const name = text(options, "app.name");
    return typeof id === "string" && name !== undefined && apps.set(id, name);
  };
  const learnVrf = (options: RecordFields): boolean => {
    const id = number(options, ["flow.in.vrf.id", "flow.out.vrf.id"]);
    if (id === undefined) return false;
    const name = text(options, "flow.ie.VRFname");
    const rd = text(options, "mpls.vpn.rd");
    const isNewName = name !== undefined && vrfs.set(id, name);
    return (rd !== undefined && rds.set(id, rd)) || isNewName;
  };
  const learnDomain = (options: RecordFields): boolean => {
    const name = text(options, "flow.ie.observationDomainName");
    if (name === undefined || name === domainName) return false;
    domainName = name;
    return true;
  };

  return {
    get version() {
      return version;
    },
    netif: (index) => netifs.get(index),
    app: (id) => apps.get(id),
    vrf: (id) => vrfs.get(id),
    rd: (id) => rds.get(id),
    get domainName() {
      return domainName;
    },
    learn(options) {
      const isNew = [learnNetif, learnApp, learnVrf, learnDomain].map((learn) => learn(options)).includes(true);
      if (isNew) version++;
      return isNew;
    },
    counts: () => ({ interfaces: netifs.size, applications: apps.size, vrfs: vrfs.size }),
    state: () => ({
      netifs: Array.from(netifs.entries(), ([index, { name, descr }]) => [index, name ?? null, descr ?? null] as const),
      apps: [...apps.entries()],
      vrfs: [...vrfs.entries()],
      rds: [...rds.entries()],
      domainName: domainName ?? null,
    }),
    restore(state, isNewer) {
      for (const [index, name, descr] of state.netifs) {
        const names = { name: cut(name), descr: cut(descr) };
        if (isNewer || netifs.get(index) === undefined) netifs.set(index, names);
      }
      restoreTexts(apps, state.apps, isNewer);
      restoreTexts(vrfs, state.vrfs, isNewer);
      restoreTexts(rds, state.rds, isNewer);
      domainName = newer(domainName, cut(state.domainName) ?? null, isNewer);
      version++;
    },
    clear() {
      for (const table of [netifs, apps, vrfs, rds]) table.clear();
      domainName = undefined;
      version++;
    },
  };
}

/**
 * What the operator says of applications, by `app.id`: names of fields and their values. No decoder writes them, but for `app.name`, which
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

function restoreTexts<Key extends number | string>(
  table: LearntTable<Key, string>,
  rows: readonly (readonly [Key, string])[],
  isNewer: boolean,
): void {
  for (const [id, name] of rows) {
    const said = cut(name);
    if (said !== undefined && (isNewer || table.get(id) === undefined)) table.set(id, said);
  }
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

/** All that the options of one observation domain say for its flow records. */
export interface DomainOptions {
  readonly sampling: SamplingTable;
  readonly names: NameTable;
  /** When the exporter started, milliseconds since the epoch, where its options say so. */
  readonly bootTime: number | undefined;
  /** Whether nothing was learned yet. */
  isEmpty(): boolean;
  /** How many templates of flows of the domain name samplers. */
  samplerTemplates: number;
  /**
   * Takes an options record. Returns whether it said something new.
   *
   * @param now milliseconds since the epoch.
   * @param hasForeignScope, doubt as {@link SamplingTable.learn}.
   */
  learn(options: RecordFields, now: number, hasForeignScope: boolean, doubt?: DoubtRate): boolean;
  /** Takes of such a record only when the exporter started: that is the same in all its domains. Returns whether it said something new. */
  learnStart(options: RecordFields, now: number): boolean;
  state(): DomainOptionsState;
  /**
   * Adds what `state` gave, where nothing is known yet. What has changed since options came here counts before what is known.
   *
   * @returns whether nothing was known, or something older.
   */
  restore(state: DomainOptionsState): boolean;
  clear(): void;
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

/** Made when there is something to learn: most domains send no options, and there may be many. */
export function createDomainOptions(share: OptionsShare): DomainOptions {
  let heardAt = 0;
  let changedAt = 0;
  const begin = (): void => {
    if (all.sampling !== noSampling) return;
    all.sampling = createSamplingTable(share);
    all.names = createNameTable(share);
  };
  const learnBootTime = (options: RecordFields): boolean => {
    const value = options.get("flow.ie.systemInitTimeMilliseconds");
    const time = typeof value === "string" ? Date.parse(value) : Number.NaN;
    if (Number.isNaN(time)) return false;
    const isNew = all.bootTime === undefined || Math.abs(time - all.bootTime) > sameBootMs;
    all.bootTime = time;
    return isNew;
  };

  const all: { -readonly [Key in keyof DomainOptions]: DomainOptions[Key] } = {
    sampling: noSampling,
    names: noNames,
    bootTime: undefined,
    samplerTemplates: 0,
    isEmpty: () =>
      all.bootTime === undefined && (all.sampling === noSampling || (all.names.version === 0 && all.sampling.isEmpty)),
    learn(options, now, hasForeignScope, doubt) {
      begin();
      heardAt = now;
      const isRate = all.sampling.learn(options, hasForeignScope, doubt);
      const isName = all.names.learn(options);
      const isChange = learnBootTime(options) || isRate || isName;
      if (isChange) changedAt = now;
      return isChange;
    },
    learnStart(options, now) {
      const isChange = learnBootTime(options);
      if (isChange) changedAt = heardAt = now;
      return isChange;
    },
    state: () => ({
      sampling: all.sampling.state(),
      names: all.names.state(),
      bootTime: all.bootTime ?? null,
      changedAt,
    }),
    restore(state) {
      const wasEmpty = all.isEmpty();
      begin();
      const saidAt = state.changedAt ?? 0;
      const isNewer = saidAt > heardAt && saidAt > changedAt;
      all.sampling.restore(state.sampling, isNewer);
      all.names.restore(state.names, isNewer);
      all.bootTime = newer(all.bootTime, state.bootTime, isNewer);
      changedAt = Math.max(changedAt, saidAt);
      return wasEmpty || isNewer;
    },
    clear() {
      all.bootTime = undefined;
      if (all.sampling === noSampling) return;
      all.sampling.clear();
      all.names.clear();
      all.sampling = noSampling;
      all.names = noNames;
    },
  };
  return all;
}

const nothing: OptionsShare = { take: () => false, give() {}, addBytes() {}, evicted() {} };
/** Of domains that said nothing; nothing is put into them. */
const noSampling = createSamplingTable(nothing);
const noNames = createNameTable(nothing);

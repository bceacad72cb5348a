import { formatAddress, parseAddress } from "../../../base/ip/index.ts";
import { isSessionPort } from "../../datagram.ts";
import type { ExporterTable } from "../exporter-table.ts";
import type { Domain } from "../domain.ts";
import type { Exporter } from "../exporter.ts";
import type { TemplateRecord } from "../known-templates.ts";
import { readIpfixTemplates } from "../../wire/ipfix-decoder.ts";
import { readNetflow9OptionsTemplates, readNetflow9Templates } from "../../wire/netflow9-decoder.ts";
import type { DomainOptionsState } from "../options.ts";
import type { TemplateSettings } from "../../wire/records/decode-sets.ts";

/** An exporter's state as one line of JSON. */
export function writeExporterState(state: ExporterState): string {
  const templates = state.templates.map(({ raw, ...template }) => ({
    ...template,
    raw: Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength).toString("base64"),
  }));
  return JSON.stringify({ ...state, templates });
}

type Json = Readonly<Record<string, unknown>>;

/**
 * Reads what {@link writeExporterState} made, after JSON.parse. Nothing of it is trusted.
 *
 * @returns undefined when it is no state of an exporter.
 */
export function readExporterState(value: unknown): ExporterState | undefined {
  if (!isObject(value)) return undefined;
  const { address, relay, firstSeen, lastSeen } = value;
  const templates = listOf(value["templates"], readTemplate);
  const options = listOf(value["options"], readOptions);
  const domains = listOf(value["domains"] ?? [], readDomain);
  if (!isAddress(address) || !isNumber(firstSeen) || !isNumber(lastSeen)) return undefined;
  if (relay !== undefined && !isAddress(relay)) return undefined;
  const named = relay === undefined ? {} : { relay };
  return templates && options && domains && { address, ...named, firstSeen, lastSeen, templates, options, domains };
}

function readDomain(value: unknown): DomainState | undefined {
  if (!isObject(value)) return undefined;
  const { protocol, domain, port, bootTime, uptime, sequence } = value;
  if (!isProtocol(protocol) || !isNumber(domain) || !isNumberOrNull(port)) return undefined;
  // An exporter whose clock is unset started before the epoch.
  if (bootTime !== null && typeof bootTime !== "number") return undefined;
  if (!isNumberOrNull(uptime) || !isNumberOrNull(sequence)) return undefined;
  return { protocol, domain, port, bootTime, uptime, sequence };
}

function readTemplate(value: unknown): TemplateState | undefined {
  if (!isObject(value)) return undefined;
  const { protocol, domain, port, isOptions, raw, definedAt } = value;
  if (!isProtocol(protocol) || !isNumber(domain) || !isNumberOrNull(port)) return undefined;
  if (typeof isOptions !== "boolean" || typeof raw !== "string" || !isNumber(definedAt)) return undefined;
  return { protocol, domain, port, isOptions, raw: Buffer.from(raw, "base64"), definedAt };
}

function readOptions(value: unknown): OptionsState | undefined {
  if (!isObject(value)) return undefined;
  const { protocol, domain, port, sampling, names, bootTime, changedAt } = value;
  if (!isProtocol(protocol) || !isNumber(domain) || !isNumberOrNull(bootTime)) return undefined;
  // Files of earlier versions have none.
  if (port !== undefined && !isNumber(port)) return undefined;
  if (!isObject(sampling) || !isObject(names)) return undefined;
  if (changedAt !== undefined && !isNumber(changedAt)) return undefined;
  const samplers = rows(sampling["samplers"], isNumber, isNumber);
  const rates = rows(sampling["netifs"], isNumber, isNumber);
  // Files of earlier versions have none.
  const templates = rows(sampling["templates"] ?? [], isNumber, isNumber);
  const netifs = rows(names["netifs"], isNumber, isTextOrNull, isTextOrNull);
  const apps = rows(names["apps"], isText, isText);
  const vrfs = rows(names["vrfs"], isNumber, isText);
  const rds = rows(names["rds"] ?? [], isNumber, isText);
  const { domainRate } = sampling;
  const { domainName } = names;
  if (!samplers || !rates || !templates || !netifs || !apps || !vrfs || !rds) return undefined;
  if (!isNumberOrNull(domainRate) || !isTextOrNull(domainName)) return undefined;
  return {
    protocol,
    domain,
    ...(port !== undefined && { port }),
    bootTime,
    ...(changedAt !== undefined && { changedAt }),
    sampling: { samplers, netifs: rates, templates, domainRate },
    names: { netifs, apps, vrfs, rds, domainName },
  };
}

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null;
}
/** Returns whether it is an address in canonical text. */
function isAddress(value: unknown): value is string {
  const parsed = typeof value === "string" ? parseAddress(value) : undefined;
  return parsed !== undefined && formatAddress(parsed) === value;
}
const isNumber = (value: unknown): value is number => typeof value === "number" && value >= 0;
const isText = (value: unknown): value is string => typeof value === "string";
const isNumberOrNull = (value: unknown): value is number | null => value === null || isNumber(value);
const isTextOrNull = (value: unknown): value is string | null => value === null || isText(value);
const isProtocol = (value: unknown): value is "netflow9" | "ipfix" => value === "netflow9" || value === "ipfix";

/** All of a list, or undefined. */
function listOf<T>(value: unknown, read: (element: unknown) => T | undefined): T[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const all = value.map((element) => read(element)).filter((element) => element !== undefined);
  return all.length === value.length ? all : undefined;
}

type Check<T> = (value: unknown) => value is T;

/** A list of tuples, or undefined. */
function rows<T extends unknown[]>(value: unknown, ...checks: { [I in keyof T]: Check<T[I]> }): T[] | undefined {
  return listOf(value, (row) =>
    Array.isArray(row) && row.length === checks.length && checks.every((check, i) => check(row[i]))
      ? (row as T)
      : undefined,
  );
}

/** The protocols whose exporters send once what later datagrams need. */
type StatefulProtocol = "netflow9" | "ipfix";

/** Holds what an exporter said once and does not say with each datagram. Plain data, which may be cloned to another thread. */
export interface ExporterState {
  /** In canonical text. */
  readonly address: string;
  /** The relay whose records name it, where it sends none itself. */
  readonly relay?: string;
  /** Milliseconds since the epoch. */
  readonly firstSeen: number;
  readonly lastSeen: number;
  /** The one that did not come again for longest first. */
  readonly templates: readonly TemplateState[];
  readonly options: readonly OptionsState[];
  /** The progress of its domains. Left out: not known. */
  readonly domains?: readonly DomainState[];
}

/** By what is seen whether an exporter has started again since. Null where the protocol does not say. */
export interface DomainState {
  readonly protocol: StatefulProtocol;
  readonly domain: number;
  readonly port: number | null;
  /** Milliseconds since the epoch, by the exporter's clock. */
  readonly bootTime: number | null;
  /** Milliseconds modulo 2^32. */
  readonly uptime: number | null;
  readonly sequence: number | null;
}

export interface TemplateState {
  readonly protocol: StatefulProtocol;
  readonly domain: number;
  /** The sender's port where templates are scoped by it; null elsewhere. */
  readonly port: number | null;
  readonly isOptions: boolean;
  /** Its record on the wire. */
  readonly raw: Uint8Array;
  readonly definedAt: number;
}

export interface OptionsState extends DomainOptionsState {
  readonly protocol: StatefulProtocol;
  readonly domain: number;
  /** The sender's port where options are of one port alone. Left out: of all its ports. */
  readonly port?: number;
}

/** The changes of exporters since the last time. */
export interface StateChange {
  /** As they are now, whole. */
  readonly changed: readonly ExporterState[];
  /** The exporters that were forgotten, by `stateKey`. */
  readonly forgotten: readonly string[];
}

/** Names the changes of exporters, who was heard, and about whom other collectors are to be asked. */
export interface StateReport extends StateChange {
  /** By `stateKey`, with the time, milliseconds since the epoch: those heard since the last time this was said. */
  readonly heard: readonly (readonly [key: string, lastSeen: number])[];
  /** Addresses of senders whose data sets wait. */
  readonly asked: readonly string[];
}

/** @returns undefined for an exporter that said nothing worth keeping. What it said by TCP ends with the connection. */
export function exporterState(exporter: Exporter): ExporterState | undefined {
  const lasting = [...exporter.templates.entries()].filter(([, domain]) => !isSessionPort(domain.port ?? 0));
  const templates = lasting.map(([known, domain]): TemplateState => {
    return {
      protocol: domain.protocol as StatefulProtocol,
      domain: domain.id,
      port: domain.port ?? null,
      isOptions: known.plan.template.scopeCount !== undefined,
      raw: known.raw,
      definedAt: known.definedAt,
    };
  });
  const options = new Map<unknown, OptionsState>();
  for (const { protocol, id, port, options: said } of exporter.domains()) {
    if (isSessionPort(port ?? 0)) continue;
    if (protocol !== "netflow9" && protocol !== "ipfix") continue;
    if (said.isEmpty() || options.has(said)) continue;
    const own = protocol === "ipfix" || port === undefined ? {} : { port };
    options.set(said, { protocol, domain: id, ...own, ...said.state() });
  }
  if (templates.length === 0 && options.size === 0) return undefined;
  const { address, relay, datagrams, firstSeen, lastSeen } = exporter;
  const named = relay !== undefined && datagrams === 0 ? { relay } : {};
  const domains = [...exporter.domains()].map(domainState).filter((state) => state !== undefined);
  return { address, ...named, firstSeen, lastSeen, templates, options: [...options.values()], domains };
}

function domainState({ protocol, id, port, senders, uptime, number }: Domain): DomainState | undefined {
  if (isSessionPort(port ?? 0) || (protocol !== "netflow9" && protocol !== "ipfix")) return undefined;
  return {
    protocol,
    domain: id,
    port: port ?? null,
    bootTime: senders.latest()?.bootTime ?? null,
    uptime: uptime ?? null,
    sequence: number ?? null,
  };
}

/**
 * Takes what an earlier run knew of an exporter, within the limits. What the exporter said in this run stands. The
 * age of templates counts from now on, because nobody listened in between.
 *
 * @returns the templates taken.
 */
export function restoreExporter(
  table: ExporterTable,
  state: ExporterState,
  now: number,
  { maxFields, planTemplate }: TemplateSettings,
  silentSince: number,
): number {
  if (state.lastSeen < silentSince) return 0;
  const exporter =
    table.find(state.address) ?? table.restore(state.address, state.firstSeen, state.lastSeen, state.relay);
  if (exporter === undefined) return 0;
  let taken = 0;
  for (const template of state.templates) {
    const record = readTemplateState(template);
    if (record === undefined || record.template.fields.length > maxFields) continue;
    const domain = exporter.domain(template.protocol, template.domain, template.port ?? undefined);
    const from = { origin: "restored", definedAt: template.definedAt } as const;
    if (exporter.restoreTemplate(domain, record, planTemplate, from, now)) taken++;
  }
  for (const said of state.options) restoreOptions(exporter, said, state.relay !== undefined);
  return taken;
}

/**
 * Options of no port are shared by those of a domain: any of them will do. A domain of which no port is known is left out, unless a relay sends it, which
 * has the templates.
 *
 * @returns whether that was new.
 */
export function restoreOptions(exporter: Exporter, said: OptionsState, isRelayed: boolean): boolean {
  const { protocol, domain: id, port } = said;
  if (port !== undefined) return exporter.restoreOptions(exporter.domain(protocol, id, port), said);
  for (const domain of protocol === "ipfix" ? exporter.domains() : []) {
    if (domain.protocol === protocol && domain.id === id) return exporter.restoreOptions(domain, said);
  }
  if (protocol !== "netflow9" && !isRelayed) return false;
  return exporter.restoreOptions(exporter.domain(protocol, id), said);
}

/** The template is read again from its bytes, so that nothing but the wire format can be where it was kept. */
export function readTemplateState({ protocol, isOptions, raw }: TemplateState): TemplateRecord | undefined {
  const bytes = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength);
  const range = { bytes, start: 0, end: bytes.length };
  const { records } =
    protocol === "ipfix"
      ? readIpfixTemplates(range, isOptions)
      : isOptions
        ? readNetflow9OptionsTemplates(range)
        : readNetflow9Templates(range);
  const [record] = records;
  return records.length === 1 && record !== undefined && "template" in record ? record : undefined;
}

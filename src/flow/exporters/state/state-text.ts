import { formatAddress, parseAddress } from "../../../base/ip/index.ts";
import type { DomainState, ExporterState, OptionsState, TemplateState } from "./exporter-state.ts";

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
/** Whether it is an address in canonical text. */
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

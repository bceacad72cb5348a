import { createHash } from "node:crypto";
import { ExchangeError } from "../../exchange/import-rows.ts";
import { exchangeFormats } from "../../exchange/export-entries.ts";
import { readColumnMap, readFixed } from "../../exchange/map/read-column-map.ts";
import type { CsvOptions } from "../../exchange/rows/csv-rows.ts";
import type { FixedValues } from "../../exchange/map/column-map.ts";
import { quote, nearName } from "../../../base/text/index.ts";
import { isNullNode, type YamlNode, mergedPairs, positionAt, readYaml, YamlFault } from "../../../base/yaml/index.ts";
import { sourceKinds } from "../kinds/kinds.ts";
import { minutes, type SourceKind } from "../kinds/source-kind.ts";
import type { SecretPlace, SourceConfig } from "../source-config.ts";

/** A YAML node as texts, lists and objects; scalars as they are spelt. */
function plainValue(node: YamlNode): unknown {
  if (isNullNode(node)) return undefined;
  if (node.kind === "scalar") return node.text;
  if (node.kind === "sequence") return node.items.map(plainValue);
  return Object.fromEntries(node.pairs.map(({ key, value }) => [key.text, plainValue(value)]));
}

const unitMs = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** `30s`, `15m`, `6h`, `1d`, or seconds. @throws ExchangeError */
function readDuration(value: unknown, name: string, least: number): number {
  const match = typeof value === "string" ? /^(\d{1,9})\s*(|s|m|h|d)$/.exec(value) : null;
  if (match !== null) {
    const ms = Number(match[1]) * (match[2] === "" ? 1000 : unitMs[match[2] as keyof typeof unitMs]);
    if (ms >= least && ms <= 30 * unitMs.d) return ms;
  }
  throw new ExchangeError("", `${name} must be a time from ${least / 1000}s to 30d, like 30s, 15m, 6h or 1d`);
}

/** `33%` or `0.33`. @throws ExchangeError */
function readShare(value: unknown, name: string): number {
  const match = typeof value === "string" ? /^(\d{1,3}(?:\.\d{1,4})?)(%?)$/.exec(value) : null;
  const share = match === null ? Number.NaN : Number(match[1]) / (match[2] === "%" ? 100 : 1);
  if (share >= 0 && share <= 1) return share;
  throw new ExchangeError("", `${name} must be a share from 0% to 100%`);
}

const unitBytes = { "": 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 } as const;

/** @throws ExchangeError */
function readSize(value: unknown, name: string): number {
  const match = typeof value === "string" ? /^(\d{1,12}) ?(|KiB|MiB|GiB)$/.exec(value) : null;
  const bytes = match === null ? 0 : Number(match[1]) * unitBytes[match[2] as keyof typeof unitBytes];
  if (bytes >= 1 && bytes <= 2 * 2 ** 30) return bytes;
  const shown = typeof value === "string" ? `, not ${quote(value)}` : "";
  throw new ExchangeError("", `${name} must be a size up to 2GiB, like 64MiB${shown}`);
}

/** One thing that is wrong with the file. */
export interface SourcesFinding {
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

/** The file cannot be used; all that is wrong with it. */
export class SourcesFileError extends Error {
  readonly findings: readonly SourcesFinding[];

  constructor(findings: readonly SourcesFinding[]) {
    super(findings.map(({ line, column, message }) => `${line}:${column}: ${message}`).join("; "));
    this.name = "SourcesFileError";
    this.findings = findings;
  }
}

/** More would make metrics and views without bounds. */
const mostSources = 64;
/** A run of many answers may take so long when nothing is said: a large NetBox has thousands of pages. */
const longRunMs = 6 * 60 * minutes;

const commonFields = [
  [
    "name",
    "kind",
    "priority",
    "url",
    "path",
    "interval",
    "timeout",
    "max_time",
    "headers",
    "token_file",
    "token_env",
    "username",
  ],
  [
    "password_file",
    "password_env",
    "ca_file",
    "cert_file",
    "key_file",
    "map",
    "defaults",
    "guard",
    "max_size",
    "redirect_hosts",
  ],
].flat();
const rowFields = ["format", "select", "csv"];

/**
 * Reads the file of sources: a list, or a mapping with one as `sources`.
 *
 * @returns the sources in the order of their priority.
 * @throws SourcesFileError with all findings.
 */
export function readSourcesFile(text: string): readonly SourceConfig[] {
  const findings: SourcesFinding[] = [];
  const note = (message: string, at: number): void => void findings.push({ ...positionAt(text, at), message });
  let root: YamlNode | undefined;
  try {
    root = readYaml(text, note);
  } catch (error) {
    if (!(error instanceof YamlFault)) throw error;
    throw new SourcesFileError([{ ...error.position, message: error.message }]);
  }
  const list = root?.kind === "mapping" ? root.pairs.find(({ key }) => key.text === "sources")?.value : root;
  if (root?.kind === "mapping") {
    for (const { key } of root.pairs) if (key.text !== "sources") note(`unknown field ${quote(key.text)}`, key.at);
  }
  if (list !== undefined && list.kind !== "sequence" && !isNullNode(list)) note("sources must be a list", list.at);
  const items = list?.kind === "sequence" ? list.items : [];
  const sources: SourceConfig[] = [];
  for (const node of items) {
    const source = readSource(node, note);
    if (source === undefined) continue;
    if (sources.some(({ name }) => name === source.name))
      note(`the name ${quote(source.name)} is given twice`, node.at);
    sources.push(source);
  }
  if (items.length > mostSources) note(`there may be ${mostSources} sources at most`, list?.at ?? 0);
  if (findings.length > 0)
    throw new SourcesFileError(findings.toSorted((a, b) => a.line - b.line || a.column - b.column));
  return sources.toSorted((a, b) => a.priority - b.priority);
}

type Note = (message: string, at: number) => void;

function readSource(node: YamlNode, note: Note): SourceConfig | undefined {
  if (node.kind !== "mapping") {
    note("a source must be a mapping", node.at);
    return undefined;
  }
  const fields = new Map(
    mergedPairs(node, (message, at) => {
      throw new SourcesFileError([{ line: 0, column: at, message }]);
    }).map(({ key, value }) => [key.text, { value, at: key.at }]),
  );
  const text = (name: string): string | undefined => {
    const value = fields.get(name)?.value;
    if (value === undefined || isNullNode(value)) return undefined;
    if (value.kind === "scalar") return value.text;
    note(`${name} must be a text`, value.at);
    return undefined;
  };
  /** Reads a field; an error becomes a finding where it stands. */
  const read = <T>(name: string, absent: T, reader: (value: unknown) => T): T => {
    const value = fields.get(name)?.value;
    if (value === undefined || isNullNode(value)) return absent;
    try {
      return reader(plainValue(value));
    } catch (error) {
      if (!(error instanceof ExchangeError)) throw error;
      note(error.message, value.at);
      return absent;
    }
  };

  const kindName = text("kind") ?? "";
  const kind = sourceKinds[kindName];
  const at = fields.get("kind")?.at ?? node.at;
  if (kind === undefined) {
    const near = nearName(kindName, Object.keys(sourceKinds));
    const hint = near === undefined ? `one of ${Object.keys(sourceKinds).join(", ")}` : `did you mean ${near}?`;
    note(kindName === "" ? `a source needs a kind: ${hint}` : `unknown kind ${quote(kindName)}: ${hint}`, at);
    return undefined;
  }
  const name = text("name") ?? kindName;
  if (!/^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$/.test(name)) {
    note(`the name ${quote(name)} must be 1 to 63 letters, digits, - and _, and begin with a letter or digit`, at);
  }
  const known = [...commonFields, ...(kind.isRows ? rowFields : []), ...kind.options];
  for (const [field, { at: place }] of fields) {
    if (known.includes(field)) continue;
    const near = nearName(field, known);
    note(
      `a source of kind ${kindName} has no ${quote(field)}${near === undefined ? "" : `: did you mean ${near}?`}`,
      place,
    );
  }

  const url = text("url") ?? (text("path") === undefined ? kind.url : undefined);
  const path = text("path");
  checkPlace(kind, kindName, url, path, (message) => note(message, fields.get("url")?.at ?? at));
  const secret = (field: string): SecretPlace | undefined => {
    const file = text(`${field}_file`);
    const env = text(`${field}_env`);
    if (file !== undefined && env !== undefined) note(`${field}_file and ${field}_env exclude one another`, at);
    return file !== undefined ? { file } : env === undefined ? undefined : { env };
  };
  const guard = read("guard", {}, readGuard);
  const timeoutMs = read("timeout", 60_000, (value) => readDuration(value, "timeout", 1000));
  const config: Omit<SourceConfig, "fingerprint"> = {
    name,
    kind: kindName,
    priority: read("priority", 0, readInteger),
    url,
    path,
    intervalMs: read("interval", kind.intervalMs, (value) => readDuration(value, "interval", 5000)),
    timeoutMs,
    maxTimeMs: read("max_time", kind.isPaged === true ? longRunMs : 10 * timeoutMs, (value) =>
      readDuration(value, "max_time", 1000),
    ),
    redirectHosts: read<readonly string[]>("redirect_hosts", [], readHosts),
    headers: read("headers", {}, readTexts),
    token: secret("token"),
    username: text("username"),
    password: secret("password"),
    caPath: text("ca_file"),
    certPath: text("cert_file"),
    keyPath: text("key_file"),
    format: read("format", undefined, readFormat),
    select: text("select"),
    csv: read("csv", {}, readCsv),
    map: read("map", undefined, (value) => readColumnMap(value)),
    defaults: read<FixedValues>("defaults", {}, (value) => readFixed(value, "defaults")),
    guard: { maxShrink: kind.maxShrink, maxChange: 1, maxEntries: 1_000_000, ...guard },
    maxBytes: read("max_size", 256 * 2 ** 20, (value) => readSize(value, "max_size")),
    options: Object.fromEntries(
      kind.options.flatMap((option) => {
        const values = read<readonly string[]>(option, [], (value) => [value].flat().map(String));
        return values.length === 0 ? [] : [[option, values]];
      }),
    ),
  };
  const problem = kind.check?.(config);
  if (problem !== undefined) note(problem, at);
  const plain = JSON.stringify(config, (_, value: unknown) =>
    typeof value === "bigint" ? String(value) : value instanceof Map ? [...(value as Map<unknown, unknown>)] : value,
  );
  return { ...config, fingerprint: createHash("sha256").update(plain).digest("hex").slice(0, 32) };
}

function checkPlace(
  kind: SourceKind,
  name: string,
  url: string | undefined,
  path: string | undefined,
  note: (message: string) => void,
): void {
  if (url !== undefined && path !== undefined) note("url and path exclude one another");
  else if (kind.place === "path" && path === undefined) note(`a source of kind ${name} needs a path`);
  else if (kind.place === "url" && url === undefined) note(`a source of kind ${name} needs a url`);
  else if (url === undefined && path === undefined) note(`a source of kind ${name} needs a url or a path`);
  if (url === undefined) return;
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined || !/^https?:$/.test(parsed.protocol))
    note(`the url ${quote(url)} must begin with http:// or https://`);
  else if (parsed.username !== "" || parsed.password !== "") {
    note("the url must have no credentials: use username with password_file or password_env");
  }
}

function readFormat(value: unknown): SourceConfig["format"] {
  const format = exchangeFormats.find((one) => one === value);
  if (format === undefined) throw new ExchangeError("format", `format must be one of ${exchangeFormats.join(", ")}`);
  return format;
}

function readInteger(value: unknown): number {
  if (typeof value === "string" && /^-?\d{1,6}$/.test(value)) return Number(value);
  throw new ExchangeError("", "priority must be a whole number");
}

function readTexts(value: unknown): Readonly<Record<string, string>> {
  return Object.fromEntries(readFixed({ metadata: value }, "headers").metadata ?? []);
}

function readHosts(value: unknown): readonly string[] {
  return [value].flat().map((host) => {
    if (host === "*") return host;
    const name = typeof host === "string" && URL.canParse(`http://${host}/`) ? new URL(`http://${host}/`) : undefined;
    if (name?.href === `http://${name?.hostname}/`) return name.hostname;
    throw new ExchangeError("", `redirect_hosts must have names of hosts, or *, not ${quote(String(host))}`);
  });
}

function readGuard(value: unknown): Partial<SourceConfig["guard"]> {
  const { max_shrink: shrink, max_change: change, max_entries: entries, ...others } = value as Record<string, unknown>;
  for (const name of Object.keys(others)) {
    throw new ExchangeError("", `guard has no ${quote(name)}: one of max_shrink, max_change, max_entries`);
  }
  const most = typeof entries === "string" && /^\d{1,9}$/.test(entries) ? Number(entries) : undefined;
  if (entries !== undefined && most === undefined) throw new ExchangeError("", "max_entries must be a whole number");
  return {
    ...(shrink !== undefined && { maxShrink: readShare(shrink, "max_shrink") }),
    ...(change !== undefined && { maxChange: readShare(change, "max_change") }),
    ...(most !== undefined && { maxEntries: most }),
  };
}

function readCsv(value: unknown): CsvOptions {
  const { delimiter, comment, header, typed_headers: typed, ...others } = value as Record<string, unknown>;
  for (const name of Object.keys(others)) {
    throw new ExchangeError("", `csv has no ${quote(name)}: one of delimiter, comment, header, typed_headers`);
  }
  const sign = (name: string, given: unknown): string | undefined => {
    if (given === undefined || (typeof given === "string" && given.length === 1)) return given;
    throw new ExchangeError("", `${name} must be one character`);
  };
  return {
    delimiter: delimiter === "\\t" ? "\t" : sign("delimiter", delimiter),
    comment: sign("comment", comment),
    header: header === undefined ? undefined : [header].flat().map(String),
    hasTypedHeaders: typed === "true",
  };
}

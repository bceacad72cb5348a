import { createHash } from "node:crypto";
import { quote } from "../../../base/text/index.ts";
import {
  bool,
  defaulted,
  formatShapeFinding,
  list,
  mapOf,
  mappingOr,
  oneOf,
  oneOrList,
  optional,
  readShape,
  mapping,
  required,
  scalar,
  Shape,
  textLine,
  type FileNode,
  type ShapeFinding,
  type Values,
} from "../../../base/yaml/index.ts";
import { exchangeFormats } from "../../exchange/export-entries.ts";
import { anyText, columnMapShape, fixedValues } from "../../exchange/map/read-column-map.ts";
import { sourceKinds } from "../kinds/kinds.ts";
import { minutes, type SourceKind } from "../kinds/source-kind.ts";
import type { SecretSource, SourceConfig } from "../source-config.ts";

const unitMs = { "": 1000, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Returns the shape of a duration: `30s`, `15m`, `6h`, `1d`, or seconds. */
function duration(least: number): Shape<number> {
  return scalar(`a time from ${least / 1000}s to 30d, like 30s, 15m, 6h or 1d`, (given) => {
    const [, number, unit = ""] = /^(\d{1,9})\s*(|s|m|h|d)$/.exec(given) ?? [];
    const ms = Number(number) * unitMs[unit as keyof typeof unitMs];
    return ms >= least && ms <= 30 * unitMs.d ? ms : undefined;
  });
}

/** A share such as `33%` or `0.33`. */
const share = scalar("a share from 0% to 100%", (given) => {
  const [, number, sign] = /^(\d{1,3}(?:\.\d{1,4})?)(%?)$/.exec(given) ?? [];
  const part = Number(number) / (sign === "%" ? 100 : 1);
  return part >= 0 && part <= 1 ? part : undefined;
});

const unitBytes = { "": 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 } as const;

const size = scalar("a size up to 2GiB, like 64MiB", (given) => {
  const [, number, unit = ""] = /^(\d{1,12}) ?(|KiB|MiB|GiB)$/.exec(given) ?? [];
  const bytes = Number(number) * unitBytes[unit as keyof typeof unitBytes];
  return bytes >= 1 && bytes <= 2 * 2 ** 30 ? bytes : undefined;
});

function wholeNumber(form: RegExp): Shape<number> {
  return scalar("a whole number", (given) => (form.test(given) ? Number(given) : undefined));
}

const oneLine = (given: string): string | undefined => (given.includes("\n") ? undefined : given);
const filePath = scalar("a path", oneLine, { isHidden: true });
const variable = scalar("the name of a variable", oneLine, { isHidden: true });

/** The name of a column. Null gives an empty name, which is never used. */
const columnName: Shape<string> = new Shape("a text", (at) => (at.isNull ? "" : anyText.read(at)));

const hostName = scalar("the name of a host, or *", (given) => {
  if (given === "*") return given;
  const url = URL.canParse(`http://${given}/`) ? new URL(`http://${given}/`) : undefined;
  return url?.href === `http://${url?.hostname}/` ? url.hostname : undefined;
});

const url = scalar("an address that begins with http:// or https://", (given, at) => {
  const parsed = URL.canParse(given) ? new URL(given) : undefined;
  if (parsed === undefined || !/^https?:$/.test(parsed.protocol)) return undefined;
  if (parsed.username === "" && parsed.password === "") return given;
  return at.error("must have no credentials: use username with password_file or password_env");
});

const sign = scalar("one character", (given) => (given.length === 1 ? given : undefined));
const kindNames = Object.keys(sourceKinds);

const common = {
  kind: required(oneOf(kindNames), "What is asked, and how."),
  name: optional(
    scalar("1 to 63 letters, digits, - and _, beginning with a letter or digit", (given) =>
      /^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$/.test(given) ? given : undefined,
    ),
    "Also the name of its layer. Left out: the kind.",
  ),
  priority: defaulted(wholeNumber(/^-?\d{1,6}$/), 0, "Of several sources with one key the lowest counts."),
  url: optional(url, "Where it is."),
  path: optional(filePath, "The file, in place of `url`."),
  interval: optional(duration(5000), "How often it is asked. Left out: as its kind says."),
  timeout: defaulted(duration(1000), 60_000, "How long it may be silent, in milliseconds when left out."),
  max_time: optional(duration(1000), "How long a run may take. Left out: ten times `timeout`, with pages six hours."),
  redirect_hosts: defaulted<readonly string[]>(oneOrList(hostName), [], "To whom else it may redirect."),
  headers: defaulted<ReadonlyMap<string, string>>(mapOf(textLine, anyText), new Map(), "Headers of each request."),
  token_file: optional(filePath, "The file that has the token."),
  token_env: optional(variable, "The variable that has it."),
  username: optional(textLine, "Who asks."),
  password_file: optional(filePath, "The file that has the password."),
  password_env: optional(variable, "The variable that has it."),
  ca_file: optional(filePath, "Certificates that sign the server's."),
  cert_file: optional(filePath, "The certificate shown to the server."),
  key_file: optional(filePath, "Its key."),
  map: optional(columnMapShape, "Which columns become which fields. Left out: as its kind says."),
  defaults: optional(fixedValues, "What entries have where rows give nothing."),
  guard: optional(
    mapping({
      max_shrink: optional(share, "The part of the entries that may be missing after a run."),
      max_change: optional(share, "The part that may be changed or missing."),
      max_entries: optional(wholeNumber(/^\d{1,9}$/), "More are refused."),
    }),
    "What keeps a broken answer from replacing a good one.",
  ),
  max_size: defaulted(size, 256 * 2 ** 20, "How long an answer may be."),
};
const ofRows = {
  format: optional(oneOf(exchangeFormats), "Left out: as the answer says."),
  select: optional(anyText, "A JSONata expression that gives the rows."),
  csv: optional(
    mapping({
      delimiter: optional(
        scalar("one character, or \\t", (given) => (given === "\\t" ? "\t" : given.length === 1 ? given : undefined)),
        "Left out: that of the first line.",
      ),
      comment: optional(sign, "What a line begins with that is skipped."),
      header: optional(oneOrList(columnName), "Names of columns of a text without a header."),
      typed_headers: defaulted(bool, false, "Whether rows have headers by type, as those of Infoblox."),
    }),
    "How a text of columns is written.",
  ),
};
type Given = Partial<Values<typeof common & typeof ofRows>> & Readonly<Record<string, unknown>>;

const shapes = new Map(
  Object.entries(sourceKinds).map(([name, kind]) => {
    const options = kind.options.map((option) => [option, optional(oneOrList(textLine), "")] as const);
    const fields = { ...common, ...(kind.isRows === true && ofRows), ...Object.fromEntries(options) };
    const check = (given: Given, at: FileNode): void => checkSource(kind, given, at);
    return [name, mapping(fields, { check })] as const;
  }),
);

/** A source. Its fields are those of any kind that has columns. */
const source = new Shape(
  "a source",
  (at) => {
    if (at.node.kind !== "mapping") return at.expected("a mapping");
    const kind = at.has("kind") ? common.kind.shape.read(at.below("kind")) : at.error(kindIsMissing, undefined, "key");
    const given = kind === undefined ? undefined : shapes.get(kind)?.read(at);
    const { node } = at.has("name") ? at.below("name") : at.below("kind");
    const name = node.kind === "scalar" ? node.text : undefined;
    return { name, at, config: given === undefined ? undefined : withFingerprint(configOf(given)) };
  },
  mapping({ ...common, ...ofRows }).rows,
);
const kindIsMissing = `kind is missing: expected ${common.kind.shape.expected}`;

/** The most sources, so that metrics and views stay bounded. */
const mostSources = 64;

const sources = list(source, "source").to((given, at) => {
  const names = new Set<string>();
  for (const { name, at: item } of given) {
    if (name !== undefined && names.size === names.add(name).size) item.error(`the name ${quote(name)} is given twice`);
  }
  if (at.node.kind === "sequence" && at.node.items.length > mostSources) {
    at.error(`there may be ${mostSources} sources at most`);
  }
  return given.flatMap(({ config }) => config ?? []);
});

/** The file of sources: a list, or a mapping with a list as `sources`. */
export const sourcesShape = mappingOr(
  mapping({ sources: defaulted(sources, [], "The sources.") }).to((given) => given.sources),
  sources,
);

/** The error for an invalid file, with all findings. */
export class SourcesFileError extends Error {
  readonly findings: readonly ShapeFinding[];

  constructor(findings: readonly ShapeFinding[]) {
    super(findings.map(formatShapeFinding).join("; "));
    this.name = "SourcesFileError";
    this.findings = findings;
  }
}

/**
 * Reads the file of sources.
 *
 * @returns the sources in the order of their priority.
 * @throws SourcesFileError with all findings.
 */
export function readSourcesFile(file: string): readonly SourceConfig[] {
  const { value = [], findings, hasErrors } = readShape(file, sourcesShape);
  if (hasErrors) throw new SourcesFileError(findings);
  return value.toSorted((a, b) => a.priority - b.priority);
}

/** Reports fields that do not go together. */
function checkSource(kind: SourceKind, given: Given, at: FileNode): void {
  const [hasUrl, hasPath] = [at.has("url") || (!at.has("path") && kind.url !== undefined), at.has("path")];
  const missing = kind.place === "either" ? "url or path" : kind.place;
  if (hasUrl && hasPath) at.below("path").error("url and path exclude one another", undefined, "key");
  else if (!(kind.place === "url" ? hasUrl : kind.place === "path" ? hasPath : hasUrl || hasPath)) {
    at.error(`${missing} is missing`, undefined, "key");
  }
  for (const secret of ["token", "password"]) {
    if (!at.has(`${secret}_file`) || !at.has(`${secret}_env`)) continue;
    at.below(`${secret}_env`).error(`${secret}_file and ${secret}_env exclude one another`, undefined, "key");
  }
  const problem = given.kind === undefined ? undefined : kind.check?.(configOf(given));
  if (problem !== undefined) at.error(problem);
}

/** The default longest time of a run with many answers: a large NetBox has thousands of pages. */
const longRunMs = 6 * 60 * minutes;

/** Fills in the defaults of the kind. */
function configOf(given: Given): Omit<SourceConfig, "fingerprint"> {
  const { kind: kindName = "", timeout = 60_000, guard = {}, csv } = given;
  const kind = sourceKinds[kindName] as SourceKind;
  const secret = (file: string | undefined, env: string | undefined): SecretSource | undefined =>
    file !== undefined ? { file } : env === undefined ? undefined : { env };
  return {
    name: given.name ?? kindName,
    kind: kindName,
    priority: given.priority ?? 0,
    url: given.url ?? (given.path === undefined ? kind.url : undefined),
    path: given.path,
    intervalMs: given.interval ?? kind.intervalMs,
    timeoutMs: timeout,
    maxTimeMs: given.max_time ?? (kind.isPaged === true ? longRunMs : 10 * timeout),
    redirectHosts: given.redirect_hosts ?? [],
    headers: Object.fromEntries(given.headers ?? []),
    token: secret(given.token_file, given.token_env),
    username: given.username,
    password: secret(given.password_file, given.password_env),
    caPath: given.ca_file,
    certPath: given.cert_file,
    keyPath: given.key_file,
    format: given.format,
    select: given.select,
    csv: csv === undefined ? {} : csvOptions(csv),
    map: given.map,
    defaults: given.defaults ?? {},
    guard: {
      maxShrink: guard.max_shrink ?? kind.maxShrink,
      maxChange: guard.max_change ?? 1,
      maxEntries: guard.max_entries ?? 1_000_000,
    },
    maxBytes: given.max_size ?? 256 * 2 ** 20,
    options: Object.fromEntries(
      kind.options.flatMap((option) => {
        const values = (given[option] ?? []) as readonly string[];
        return values.length === 0 ? [] : [[option, values]];
      }),
    ),
  };
}

function csvOptions({
  delimiter,
  comment,
  header,
  typed_headers: typed,
}: NonNullable<Given["csv"]>): SourceConfig["csv"] {
  return { delimiter, comment, header, hasTypedHeaders: typed };
}

/** Adds a fingerprint, which differs for different configurations. */
function withFingerprint(config: Omit<SourceConfig, "fingerprint">): SourceConfig {
  const plainText = JSON.stringify(config, (_, value: unknown) =>
    typeof value === "bigint" ? String(value) : value instanceof Map ? [...(value as Map<unknown, unknown>)] : value,
  );
  return { ...config, fingerprint: createHash("sha256").update(plainText).digest("hex").slice(0, 32) };
}

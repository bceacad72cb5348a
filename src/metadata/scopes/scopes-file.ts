import { dirname, isAbsolute, relative, resolve, sep } from "node:path";
import { KeyError, parseKey } from "../../base/ip/index.ts";
import { quote } from "../../base/text/index.ts";
import {
  bool,
  decodeUtf8,
  defaulted,
  faultFinding,
  formatShapeFinding,
  list,
  mapping,
  mapOf,
  oneOrList,
  optional,
  readShape,
  scalar,
  stringScalar,
  textLine,
  YamlFault,
  type FileNode,
  type Shape,
  type ShapeFinding,
  type ShapeValue,
} from "../../base/yaml/index.ts";
import { scopeNameForm, type ScopeMatch, type ScopeRow, type ScopeText } from "../model/scope.ts";

/** The most scopes that a file may have. */
export const mostScopes = 10_000;
const maxVlan = 4095;

/** The name of a scope. */
export const scopeName = scalar(
  "a name of up to 63 characters: lower-case letters, digits, _ and -, the first a letter or digit",
  (given) => (scopeNameForm.test(given) ? given : undefined),
);
const vrf = scalar("the id, name or route distinguisher of a VRF", (given) => given);
const exporter = scalar("an address, a CIDR or a range", (given, at) => {
  try {
    return parseKey(given).text;
  } catch (error) {
    if (!(error instanceof KeyError)) throw error;
    return at.error(error.message.replace(/^key /, ""));
  }
});
const netif = scalar("the index of an interface, or a name with * and ?", (given) => given);
const vlans = scalar("a VLAN from 0 to 4095, or two with a - between them", (given): [number, number] | undefined => {
  const [, first = "", last = first] = /^(\d{1,4})(?:-(\d{1,4}))?$/.exec(given) ?? [];
  const range: [number, number] = [Number(first), Number(last)];
  return first !== "" && range[0] <= range[1] && range[1] <= maxVlan ? range : undefined;
});

const line = mapping({
  vrf: optional(
    oneOrList(vrf),
    "VRFs of the side: of the way in for the source of a flow, of the way out for its destination.",
  ),
  exporter: optional(
    oneOrList(exporter),
    "Exporters. Alone in a row it is for exporters and polled devices themselves, too.",
  ),
  interface: optional(
    oneOrList(netif),
    "Interfaces of the side, by ifIndex or name. `*` stands for any characters, `?` for one.",
  ),
  vlan: optional(oneOrList(vlans), "VLANs of the side: `100`, `100-199`."),
}).to((given, at): ScopeMatch | undefined => {
  const isEmpty = Object.keys(given).length === 0;
  return isEmpty ? at.error("names nothing: expected vrf, exporter, interface or vlan") : given;
});

const scope = mapping({
  match: defaulted(
    list(line, "row"),
    [],
    "An end of a record is in the scope when any of the rows fits: all that the row names.",
  ),
  inherit: defaulted(bool, true, "Whether global entries count behind the scope's own."),
  entries: optional(
    textLine,
    "The file of its entries, of the format of the metadata file. A path that is not absolute begins at the folder of this file.",
  ),
}).orEmpty();

/** The file of scopes: name → `{match, inherit, entries}`, in the order in which they are tried. */
export const scopesShape = mapOf(scopeName, scope, { each: "scope", name: "<scope>" }).to((scopes, at) => {
  if (scopes.size > mostScopes) return at.error(`there may be ${mostScopes} scopes at most`);
  return scopes;
});

/** Returns the same shape, but paths of entries are relative to a folder, and no two scopes may share one. */
function shapeIn(folder: string, metadataFile: string | undefined): Shape<readonly ScopeConfig[]> {
  return scopesShape.to((scopes, at) => {
    const configs = Array.from(scopes, ([of, { entries, ...rest }]) => ({
      name: of,
      ...rest,
      entries: entries === undefined ? undefined : resolve(folder, entries),
    }));
    reportShared(configs, metadataFile, at);
    return configs;
  });
}

/** A scope as the file defines it. */
export type ScopeConfig = Omit<ShapeValue<typeof scope>, "entries"> & {
  readonly name: string;
  /** The path of the file of its entries; undefined when it has none. */
  readonly entries: string | undefined;
};

/** Reports scopes that share a file of entries: each would treat the other's entries as its own. */
function reportShared(scopes: readonly ScopeConfig[], metadataFile: string | undefined, at: FileNode): void {
  const owners = new Map<string, string>();
  if (metadataFile !== undefined) owners.set(resolve(metadataFile), "the global entries");
  for (const { name: of, entries } of scopes) {
    if (entries === undefined) continue;
    const owner = owners.get(entries);
    if (owner === undefined) owners.set(entries, `scope ${quote(of)}`);
    else at.below(of).below("entries").error(`is the file of ${owner} already`);
  }
}

/** The error for an invalid file of scopes, with all findings. */
export class ScopesFileError extends Error {
  readonly findings: readonly ShapeFinding[];

  constructor(findings: readonly ShapeFinding[]) {
    super(findings.map(formatShapeFinding).join("; "));
    this.name = "ScopesFileError";
    this.findings = findings;
  }
}

/**
 * Reads the file of scopes.
 *
 * @param path of the file. Paths of entries may be relative to its folder.
 * @param metadataFile the file of the global entries, which no scope may use.
 * @returns the scopes in the order in which they are tried.
 * @throws ScopesFileError with all findings.
 */
export function readScopesFile(path: string, bytes: Uint8Array, metadataFile?: string): readonly ScopeConfig[] {
  let text: string;
  try {
    text = decodeUtf8(bytes);
  } catch (error) {
    if (error instanceof YamlFault) throw new ScopesFileError([faultFinding(error)]);
    throw error;
  }
  if (text.trim() === "") return [];
  const { value, findings, hasErrors } = readShape(text, shapeIn(dirname(resolve(path)), metadataFile));
  if (hasErrors || value === undefined) throw new ScopesFileError(findings);
  return value;
}

/** Returns a scope as the texts of the file, with an absolute path. */
export function scopeText({ name: of, match, inherit, entries }: ScopeConfig): ScopeText {
  const rows = match.map(({ vlan, ...row }): ScopeRow => {
    const texts = vlan?.map(([first, last]) => (first === last ? String(first) : `${first}-${last}`));
    return Object.fromEntries(Object.entries({ ...row, vlan: texts }).filter(([, values]) => values !== undefined));
  });
  return { name: of, match: rows, inherit, ...(entries !== undefined && { entries }) };
}

const header =
  "# Scopes of netgloss, in the order in which they are tried; docs/scopes.md describes this file. The API writes it: comments are lost.\n";

/** Returns the text of a file of scopes in a folder. Reading it gives the same scopes. */
export function renderScopes(scopes: readonly ScopeText[], folder: string): string {
  return header + scopes.map((each) => renderScope(each, folder)).join("");
}

function renderScope({ name: of, match, inherit, entries }: ScopeText, folder: string): string {
  const lines = match.length === 0 ? [] : ["  match:\n", ...match.map(renderRow)];
  if (!inherit) lines.push("  inherit: false\n");
  if (entries !== undefined) lines.push(`  entries: ${stringScalar(pathFrom(folder, entries))}\n`);
  return `${stringScalar(of)}:${lines.length === 0 ? " {}" : ""}\n${lines.join("")}`;
}

function renderRow(row: ScopeRow): string {
  const pairs = Object.entries(row).filter(([, values]) => values !== undefined && values.length > 0);
  const lines = pairs.map(([key, values]) => `${key}: [${(values ?? []).map(stringScalar).join(", ")}]\n`);
  return lines.length === 0 ? "    - {}\n" : `    - ${lines.join("      ")}`;
}

/** Returns a path below the folder as a relative one, so that both can be moved together. */
function pathFrom(folder: string, path: string): string {
  const below = relative(folder, path);
  return isAbsolute(below) || below.split(sep)[0] === ".." ? path : below;
}

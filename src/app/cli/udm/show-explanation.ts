/** The answer of ExplainAddress, as the API sends it. */
export interface ExplanationJson {
  readonly ip: string;
  readonly contexts?: readonly ContextJson[];
}

interface ContextJson {
  readonly context: string;
  readonly fields?: readonly {
    readonly field: string;
    readonly value: string;
    readonly origins?: readonly OriginJson[];
    readonly losers?: readonly LoserJson[];
  }[];
  readonly ignored?: readonly LoserJson[];
}

interface OriginJson {
  readonly source: string;
  readonly key?: string;
  readonly layer?: string;
  readonly change?: number;
  readonly author?: string;
  readonly time?: string;
  readonly file?: string;
  readonly line?: number;
}

interface LoserJson {
  readonly field?: string;
  readonly value?: string;
  readonly origin?: OriginJson;
  readonly reason?: string;
}

/** Where records have the fields of a context; without it in front, fields begin with a period as in metadata. */
const objects: Readonly<Record<string, string>> = {
  src: "flow.src",
  dst: "flow.dst",
  exporter: "flow.export",
  system: "system",
};

/** What stands before a value that is not used. */
const lost = "x ";

/**
 * An explanation as a person reads it: a line for each field with its value and what gave it, below it what lost and why. Contexts in which
 * all is the same are shown as one.
 */
export function showExplanation(answer: unknown): string {
  const { ip, contexts = [] } = answer as ExplanationJson;
  const blocks = new Map<string, string[]>();
  for (const context of contexts) {
    const text = showContext(context);
    blocks.set(text, [...(blocks.get(text) ?? []), context.context]);
  }
  const shown = Array.from(blocks, ([text, names]) => {
    const where = names.map((name) => objects[name] ?? name);
    return `\n${names.join(", ")}: below ${where.join(", ")}\n${text}`;
  });
  return `${ip}\n${shown.join("")}`;
}

type Row = readonly [field: string, value: string, from: string];

function showContext({ context, fields = [], ignored = [] }: ContextJson): string {
  const rows: Row[] = [];
  const object = `${objects[context] ?? context}.`;
  const short = (field: string): string => (field.startsWith(object) ? field.slice(object.length - 1) : field);
  const because = ({ origin, reason = "" }: LoserJson): string => `${originText(origin)}: ${reason}`;
  for (const { field, value, origins = [], losers = [] } of fields) {
    for (const [i, [part, origin]] of partsOf(value, origins).entries()) {
      rows.push([i === 0 ? short(field) : "", part, originText(origin)]);
    }
    for (const loser of losers) rows.push(["", lost + (loser.value ?? ""), because(loser)]);
  }
  for (const loser of ignored) {
    const { field = "", value = "" } = loser;
    rows.push(field === "" ? [`${lost}all fields`, "", because(loser)] : [lost + short(field), value, because(loser)]);
  }
  return rows.length === 0 ? "  nothing\n" : columns(rows);
}

/** The values of a list one by one when each comes from its own entry. */
function partsOf(
  value: string,
  origins: readonly OriginJson[],
): readonly (readonly [string, OriginJson | undefined])[] {
  const list: unknown = origins.length > 1 ? JSON.parse(value) : undefined;
  if (!Array.isArray(list) || list.length !== origins.length) return [[value, origins[0]]];
  return list.map((element, i) => [JSON.stringify(element), origins[i]]);
}

const sources: Readonly<Record<string, string>> = {
  mmdb: "the databases of locations and systems",
  dns: "the name of the host",
  locality: "the kind of the address",
  ports: "the name of the port",
  apps: "the file of applications",
  netif: "the file of interfaces",
  snmp: "the device, by SNMP",
};

function originText(origin: OriginJson | undefined): string {
  if (origin === undefined) return "";
  const { source, key = "", layer = "", change = 0, author = "", time = "", file = "", line = 0 } = origin;
  if (source !== "metadata") return sources[source] ?? source;
  // A context or an object of metadata may be made by the enrichment itself.
  if (key === "") return source;
  if (layer !== "") return `${key} (layer ${layer})`;
  // The whole path is in JSON and YAML.
  const name = file.slice(file.lastIndexOf("/") + 1);
  const place = line === 0 ? name : `${name}:${line}`;
  if (change === 0) return `${key} (${place === "" ? "the file" : place})`;
  const who = `change ${change} by ${author === "" ? "unknown" : author}, ${time.replace(/\.\d+Z$/, "Z")}`;
  return `${key} (${place === "" ? who : `${place}, ${who}`})`;
}

function columns(rows: readonly Row[]): string {
  const printable = rows.map((row) => row.map((cell) => cell.replace(/\p{Cc}/gu, "?")));
  const widths = [0, 1].map((i) => Math.max(...printable.map((row) => row[i]?.length ?? 0)));
  const lines = printable.map((row) => row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join("  "));
  return lines.map((line) => `  ${line.trimEnd()}\n`).join("");
}

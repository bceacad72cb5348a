/** What the head of a sheet says, for the mapping of its columns. */
export interface SheetHead {
  readonly columns: readonly string[];
  /** The first rows. */
  readonly rows: readonly (readonly string[])[];
}

/** Characters that are looked at. */
const headLength = 65_536;
const mostRows = 5;

/** The columns and first rows of a CSV text; the server reads it whole. */
export function readSheetHead(text: string): SheetHead {
  const head = text
    .slice(0, headLength)
    .replace(/^\uFEFF/, "")
    .replace(/^sep=.\r?\n/i, "");
  const [first = ""] = head.split(/\r?\n/, 1);
  const delimiter = [",", ";", "\t", "|"].toSorted((a, b) => first.split(b).length - first.split(a).length)[0] ?? ",";
  const [columns = [], ...rows] = parseRows(head, delimiter, mostRows + 1);
  return { columns: columns.map((column) => column.trim()), rows: rows.slice(0, mostRows) };
}

function parseRows(text: string, delimiter: string, most: number): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  let cell = "";
  let isQuoted = false;
  for (let at = 0; at < text.length && rows.length < most; at++) {
    const char = text[at];
    if (isQuoted) {
      if (char !== '"') cell += char;
      else if (text[at + 1] === '"') cell += text[++at];
      else isQuoted = false;
    } else if (char === '"' && cell === "") isQuoted = true;
    else if (char === delimiter) {
      row.push(cell);
      cell = "";
    } else if (char === "\n") {
      rows.push([...row, cell.replace(/\r$/, "")]);
      row = [];
      cell = "";
    } else cell += char;
  }
  if (rows.length < most && (cell !== "" || row.length > 0)) rows.push([...row, cell]);
  return rows;
}

/** Where a column goes: nowhere, into a field, or into metadata under a name. */
export type Target = "" | "key" | "name" | "tags" | "vlan" | "internal" | `metadata:${string}`;

const guesses: readonly (readonly [pattern: RegExp, target: Target])[] = [
  [/^(key|prefix|network|subnet|cidr|address|ip|ip ?address|range)$/i, "key"],
  [/^(name|description|host ?name|hostname|label|dns ?name)$/i, "name"],
  [/^(tags?|labels)$/i, "tags"],
  [/^vlan( ?(id|vid))?$/i, "vlan"],
  [/^internal$/i, "internal"],
];

/**
 * Metadata under the name of a column. With a period before it records have it of each end of a flow: `.site` is `flow.src.site` and `flow.dst.site`.
 */
export function ownTarget(column: string): `metadata:${string}` {
  const name = column.trim().toLowerCase().replaceAll(/\s+/g, "_");
  return `metadata:${name.startsWith(".") ? "" : "."}${name}`;
}

/** Of two columns for one name the collector takes the first: the second has a name of its own. */
function freeTarget(column: string, taken: ReadonlySet<Target>): Target {
  const target = ownTarget(column);
  for (let count = 1; ; count++) {
    const free: Target = count === 1 ? target : `${target}_${String(count)}`;
    if (!taken.has(free)) return free;
  }
}

/** What the columns probably are; each field is taken once, the rest becomes metadata. */
export function guessTargets(columns: readonly string[]): readonly Target[] {
  const taken = new Set<Target>();
  return columns.map((column) => {
    const found = guesses.find(([pattern, target]) => pattern.test(column) && !taken.has(target))?.[1];
    const plain = column.startsWith("metadata:") ? (column as Target) : undefined;
    if (column === "") return "";
    const target = found ?? plain ?? freeTarget(column, taken);
    taken.add(target);
    return target;
  });
}

/** The column map that the API takes. */
export function columnMap(columns: readonly string[], targets: readonly Target[], tags: readonly string[]): string {
  const rules = columns.flatMap((column, at) => {
    const target = targets[at] ?? "";
    return target === "" || column === "" ? [] : [[column, target === "tags" ? { to: "tags", split: "," } : target]];
  });
  return JSON.stringify({
    columns: Object.fromEntries(rules) as object,
    rest: "ignore",
    ...(tags.length > 0 && { constants: { tags } }),
  });
}

// Reads definitions/fields.tsv for the generator of the table of fields.

/**
 * Reads the table of fields: a line of names of columns, then a line for each field; cells are separated by tabs. After `flow.src.*` comes
 * what is derived of it, by `endFields`.
 *
 * @throws TypeError when a row is none.
 */
export function readFieldTable(text) {
  const [head = "", ...lines] = text.replace(/\n+$/, "").split("\n");
  const columns = new Map(head.split("\t").map((column, i) => [column, i]));
  const rows = lines.map((line) => {
    const cells = line.split("\t");
    if (cells.length !== columns.size) throw new TypeError(`no row of a field: ${line}`);
    return (column) => cells[columns.get(column) ?? -1] ?? "";
  });
  const fields = rows.map(readField);
  const ends = rows.flatMap((cell, i) => endFields(fields[i], cell));
  // They stand behind the other fields of their group.
  const at = fields.findLastIndex(({ group }) => group === "ends") + 1;
  const below = (end) => ends.filter(({ name }) => name.startsWith(`flow.${end}.`));
  return [...fields.slice(0, at), ...endsOfFlow.flatMap(below), ...fields.slice(at)];
}

function readField(cell) {
  const typeText = cell("type");
  const isArray = typeText.endsWith("[]");
  const type = typeText.replace("[]", "");
  const elements = words(cell("elements")).map((word) => {
    const [id = "", conversion = "value"] = word.split(":");
    return [Number(id), conversion];
  });
  const [ecs, letters] = words(cell("ecs"));
  return {
    group: cell("group"),
    name: cell("name"),
    type,
    isArray,
    unit: cell("unit"),
    elements,
    ecs,
    isLowerInEcs: letters === "lower",
    isDistinct: cell("distinct") !== "",
    label: cell("label"),
    ...explorePlace(cell("explore"), ""),
    shortNames: parts(cell("short"), "; ").map((each) => {
      const [short = "", description] = each.split("=");
      return description === undefined ? [short] : [short, description];
    }),
    values: cell("values") === "" ? undefined : cell("values").split(","),
    example: exampleOf(type, isArray, cell("example")),
    description: cell("text"),
    source: sourceOf(elements, cell("from")),
    protoNumber: numberOf(cell("proto"), ""),
  };
}

/** Joins the elements that claim a name with what else its value comes from. */
function sourceOf(elements, from) {
  if (elements.length === 0) return from;
  const ids = elements.map(([id]) => id).join(", ");
  const separator = from.startsWith("IE ") ? ", " : "; ";
  return from === "" ? `IE ${ids}` : `IE ${ids}${separator}${from.replace(/^IE /, "")}`;
}

const endsOfFlow = ["client", "server"];

/** Numbers in proto/flow/v1/flow.proto of what is no field of the table: texts, and other values as JSON. */
export const protoRest = { texts: 15, values: 16 };

/** Finds numbers of fields that are given twice, or are none. @throws TypeError */
export function checkProtoNumbers(fields) {
  const names = new Map(Object.entries(protoRest).map(([name, number]) => [number, name]));
  for (const { name, protoNumber } of fields) {
    if (protoNumber === undefined) continue;
    // 19000 and on are reserved in protobuf, and from 2048 on a number takes a third byte.
    if (!Number.isInteger(protoNumber) || protoNumber < 1 || protoNumber > 2047)
      throw new TypeError(`${name}: no number of protobuf`);
    const other = names.get(protoNumber);
    if (other !== undefined) throw new TypeError(`${name} and ${other} have the number ${protoNumber} of protobuf`);
    names.set(protoNumber, name);
  }
}

/** The fields below `flow.src` again, below `flow.client` and `flow.server`. */
function endFields(field, cell) {
  const [, rest] = /^flow\.src\.(.*)$/.exec(field.name) ?? [];
  if (rest === undefined || !["flow", "enriched", "ends"].includes(field.group)) return [];
  return endsOfFlow.map((end) =>
    ofEnd(field, rest, end, { ...explorePlace(cell("explore"), end), protoNumber: numberOf(cell("proto"), end) }),
  );
}

function ofEnd(field, rest, end, place) {
  return {
    ...field,
    ...place,
    group: "ends",
    name: `flow.${end}.${rest}`,
    elements: [],
    ecs: field.ecs?.replace("source.", `${end}.`),
    shortNames: [],
    description: `of source or destination, whichever is the ${end}`,
    source: `flow.src.${rest}, flow.dst.${rest}`,
  };
}

/** Reads `6 client:17 server:18r`: a place for the field itself, and for what is derived of it; `r` for rollups. */
function explorePlace(cell, end) {
  const own = wordOf(cell, end);
  if (own === undefined) return { exploreRank: undefined, isRolledUp: false };
  const [, rank, rolled] = /(\d+)(r?)$/.exec(own) ?? [];
  return { exploreRank: rank === undefined ? undefined : Number(rank), isRolledUp: rolled === "r" };
}

/** Reads `3 client:353 server:354`. */
function numberOf(cell, end) {
  const own = wordOf(cell, end);
  return own === undefined ? undefined : Number(own.split(":").at(-1));
}

/** The word of a cell for the field itself, or for what is derived of it. */
function wordOf(cell, end) {
  return words(cell).find((word) => (word.includes(":") ? word.startsWith(`${end}:`) : end === ""));
}

/** Returns the parts of a cell; most cells are empty. */
const parts = (cell, separator) => (cell === "" ? [] : cell.split(separator));
const words = (cell) => parts(cell, " ");

const texts = new Set(["keyword", "ip", "date", "date_nanos", "geo_point"]);

function exampleOf(type, isArray, text) {
  return isArray || !texts.has(type) ? JSON.parse(text) : text;
}

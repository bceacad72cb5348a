import {
  defaulted,
  formatProblem,
  mapOf,
  mapping,
  mappingOr,
  oneOf,
  oneOrList,
  optional,
  pairsOf,
  readShapeOf,
  required,
  scalar,
  Shape,
  type FileNode,
  type ShapeValue,
} from "../../../base/yaml/index.ts";
import { quote } from "../../../base/text/index.ts";
import { udmContexts } from "../../model/entry.ts";
import { ExchangeError } from "../import-rows.ts";
import {
  metadataColumn,
  plainTargets,
  takes,
  type ColumnMap,
  type ColumnRule,
  type FixedValues,
  type Target,
  readyMap,
  readyMapNames,
} from "./column-map.ts";

/** A text that may have several lines, or be empty. */
export const anyText: Shape<string> = new Shape("a text", (at) =>
  at.node.kind === "scalar" && !at.isNull ? at.node.text : at.expected("a text"),
);

/** A Boolean in the words of JSON, because maps may also be JSON. */
const trueOrFalse = scalar("true or false", (given) =>
  given === "true" ? true : given === "false" ? false : undefined,
);

const vlan = scalar("a whole number", (given) => (/^\d{1,20}$/.test(given) ? BigInt(given) : undefined));

/** Reports whether a field is absent. An empty text is a value. */
const isAbsent = (at: FileNode): boolean => at.isNull;

/** Values that each entry has. */
export const fixedValues: Shape<FixedValues> = mapping(
  {
    name: optional(anyText, "Its name."),
    tags: optional(oneOrList(anyText), "Its tags; as defaults they are added to those of the row."),
    vlan: optional(vlan, "Its VLAN."),
    internal: optional(trueOrFalse, "Whether it is internal."),
    contexts: optional(oneOrList(oneOf(udmContexts)), "Where it applies. Left out: everywhere."),
    metadata: optional(mapOf(anyText, anyText, { each: "key" }), "Its metadata."),
  },
  { isAbsent },
);

const target = scalar(
  `one of ${plainTargets.join(", ")}, or ${metadataColumn} and a key`,
  (given): Target | undefined =>
    given.startsWith(metadataColumn) && given.length > metadataColumn.length
      ? (given as Target)
      : plainTargets.find((one) => one === given),
  { near: () => plainTargets },
);

const ruleOf = mapping(
  {
    to: required(target, "The field."),
    mask: optional(oneOrList(anyText), "Of a key: the columns with the prefix length or network mask."),
    until: optional(oneOrList(anyText), "Of a key: the columns with the last address of a range."),
    take: optional(oneOf(takes), "`host`: `192.0.2.1/24` is `192.0.2.1`; `number`: `servers (20)` is `20`."),
    split: optional(anyText, "What parts several texts in a cell."),
    default: optional(anyText, "What an empty cell stands for."),
    values: optional(mapOf(anyText, anyText, { each: "value" }), "Texts in place of others."),
    optional: defaulted(trueOrFalse, false, "Whether a text without the column is no fault."),
  },
  {
    isAbsent,
    check({ to, mask, until }, at) {
      if (to === undefined || to === "key" || (mask === undefined && until === undefined)) return;
      at.error(`mask and until are for the key, not for ${to}`);
    },
  },
);

const rule = mappingOr(
  ruleOf,
  target.to((to): ShapeValue<typeof ruleOf> => ({ to, optional: false })),
);

const rules = pairsOf(anyText, oneOrList(rule), { each: "column" }).to((columns) =>
  columns.flatMap(([column, given]) =>
    given.map(({ optional: isOptional, ...more }): ColumnRule => ({ from: [column], ...more, isOptional })),
  ),
);

const ownMap = mapping(
  {
    ready: optional(oneOf(readyMapNames), "A ready map whose columns are added behind these."),
    columns: defaulted(rules, [], "The fields that columns become; a list where one becomes several."),
    rest: optional(
      oneOf(["ignore", "metadata", "refuse"]),
      "What becomes of columns without a rule. Left out: as the ready map says, else `ignore`.",
    ),
    duplicates: optional(
      oneOf(["refuse", "first", "last"]),
      "What becomes of a key in several rows. Left out: as the ready map says, else `refuse`.",
    ),
    defaults: defaulted(fixedValues, {}, "Values for entries to whom the row gives nothing there."),
    constants: defaulted(fixedValues, {}, "Values in place of what the row says."),
    where: defaulted<ColumnMap["where"]>(
      mapOf(anyText, oneOrList(anyText), { each: "column" }),
      new Map(),
      "Only rows with one of these texts in the column are read.",
    ),
  },
  { isAbsent },
).to(({ ready, columns, rest, duplicates, ...more }): ColumnMap => {
  const base = readyMap(ready ?? "sheet");
  return {
    ...base,
    ...more,
    rules: ready === undefined ? columns : [...columns, ...base.rules],
    rest: rest ?? (ready === undefined ? "ignore" : base.rest),
    duplicates: duplicates ?? base.duplicates,
  };
});

/** A column map as a person writes it: the name of a built-in map, or a map whose rules come before those of a built-in one. */
export const columnMapShape: Shape<ColumnMap> = mappingOr(ownMap, oneOf(readyMapNames).to(readyMap));

/** The fields that may be null in JSON. */
const nullable: ReadonlySet<string> = new Set(["map.defaults", "map.constants", "map.where"]);
const maxDepth = 8;

/** Refuses JSON that the shape would accept: null in a field that must not be null, and nesting that is too deep. */
function checkJson(given: unknown, path: string, depth = 0): void {
  if (given === null && !nullable.has(path)) throw new ExchangeError(path, `${path} must not be null`);
  if (typeof given !== "object" || given === null) return;
  if (depth > maxDepth) throw new ExchangeError(path, `${path} must be a text`);
  const hasFields = !/\.(?:columns|where|metadata|values)$/.test(path);
  for (const [key, value] of Object.entries(given)) {
    const step = Array.isArray(given) ? `[${key}]` : hasFields ? `.${key}` : `[${quote(key)}]`;
    checkJson(value, path + step, depth + 1);
  }
}

/**
 * Reads a column map from JSON. Without one it returns the map of netgloss exports.
 *
 * @throws ExchangeError that names the field.
 */
export function readColumnMap(given: unknown): ColumnMap {
  if (given === undefined || given === null) return readyMap("netgloss");
  checkJson(given, "map");
  const { value, findings } = readShapeOf(given, columnMapShape);
  for (const finding of findings) throw new ExchangeError(`map${finding.path}`, formatProblem(finding));
  return value ?? readyMap("netgloss");
}

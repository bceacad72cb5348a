import { renderField, splitFields, type RecordFields, type RenderedFields } from "../../../record/index.ts";
import { joinedFields, type JoinedField } from "../kernel/end-names.ts";
import type { Client } from "./decide-role.ts";

const names: ReadonlySet<string> = new Set(joinedFields);
/** The first segments of all names that are made here. */
const groups: ReadonlySet<string> = new Set(["flow", ...joinedFields.map((name) => name.split(".")[0] as string)]);

/**
 * What follows from the fields below `flow.src` and `flow.dst` of a record: the same below `flow.client` and `flow.server`, and
 * fields with the values of both. One that would be in the way of a name of the operator's (`flow.client`, `as.label.own`) is left out:
 * no name may be a value and a group at once.
 *
 * @param rendered fields that stand behind those of the record.
 * @param client undefined: neither end has another name.
 * @param joins the fields that are joined.
 */
export function completeEnds(
  record: RecordFields,
  rendered: readonly RenderedFields[],
  client: Client | undefined,
  joins: ReadonlySet<JoinedField>,
): RenderedFields {
  const texts: string[] = [];
  const values = new Map<string, string[]>();
  const inTheWay = namesInTheWay(record);
  const isFree = (name: string): boolean =>
    !record.has(name) && inTheWay.every((other) => !name.startsWith(`${other}.`) && !other.startsWith(`${name}.`));
  const take = (name: string, value: string): void => {
    const [, end, rest] = /^flow\.(src|dst)\.(.*)$/s.exec(name) ?? [];
    if (end === undefined || rest === undefined) return;
    if (names.has(rest) && joins.has(rest as JoinedField)) {
      const both = values.get(rest) ?? ["", ""];
      values.set(rest, end === "src" ? [value, both[1] ?? ""] : [both[0] ?? "", value]);
    }
    if (client === undefined) return;
    const as = `flow.${(end === "src") === (client === "source") ? "client" : "server"}.${rest}`;
    if (isFree(as)) texts.push(`,${JSON.stringify(as)}:${value}`);
  };
  for (const [name, value] of record) take(name, renderField(name, value).slice(JSON.stringify(name).length + 2));
  for (const piece of rendered) for (const [name, value] of splitFields(piece)) take(name, value);
  for (const name of joinedFields) {
    const both = values.get(name);
    if (both === undefined || !isFree(name)) continue;
    const elements = new Set(both.flatMap((value) => (value === "" ? [] : elementsOf(value))));
    texts.push(`,"${name}":[${[...elements].join(",")}]`);
  }
  return Buffer.from(texts.join(""));
}

/** The elements of an array, or the one value. */
function elementsOf(value: string): readonly string[] {
  if (!value.startsWith("[")) return [value];
  return value.slice(1, -1).match(/"(?:[^"\\]|\\.)*"|[^,]+/g) ?? [];
}

/** Names that may meet those made here: only metadata has such. */
function namesInTheWay(record: RecordFields): string[] {
  const found: string[] = [];
  for (const name of record.keys()) {
    if (name.startsWith("flow.")) {
      if (name.startsWith("client", 5) || name.startsWith("server", 5)) found.push(name);
      continue;
    }
    const dot = name.indexOf(".");
    if (groups.has(dot < 0 ? name : name.slice(0, dot))) found.push(name);
  }
  return found;
}

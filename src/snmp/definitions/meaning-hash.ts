import { hash } from "node:crypto";
import type { FieldDefinition } from "../values/put-value.ts";
import type { ObjectDraft } from "./read-object.ts";
import { Secret } from "../../base/text/index.ts";

/**
 * Hash of what a value means: the order of a map's entries does not count, that of a list's does. Lists without a
 * meaningful order are sorted before they come here.
 */
export function meaningHash(value: unknown): string {
  return hash("sha256", canonicalText(value), "hex");
}

/** The same for an object, of which there are so many that a text without quotes pays off: no name in it has a line end. */
export function objectMeaningHash(draft: ObjectDraft): string {
  const { id, mib, object, type, index, augments, discoveryAttribute, attributes, fixed } = draft;
  let text = `${id}\n${mib}\n${object}\n${type}\n${augments}\n${discoveryAttribute?.name}\n`;
  if (fixed.size > 0) text += `${canonicalText(fixed)}\n`;
  for (const part of index ?? []) text += `${part.type}\n${fieldText(part)}`;
  const lines: string[] = [];
  for (const attribute of attributes.values()) {
    const { name, tag, metric, rediscover, overrides, noValue, noValueWhen, range } = attribute;
    const missing =
      noValue === undefined && noValueWhen === undefined && range === undefined
        ? ""
        : `${canonicalText([noValue, noValueWhen, range])}\n`;
    lines.push(
      `${missing}${name}\n${fieldText(attribute)}${tag}\n${metric}\n${rediscover}\n${overrides?.object}\n${overrides?.attribute}\n`,
    );
  }
  return hash("sha256", text + lines.sort().join(""), "hex");
}

function fieldText(target: FieldDefinition): string {
  return `${target.field}\n${target.oidText}\n${target.syntax.name}\n`;
}

function canonicalText(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "undefined";
  if (value instanceof Secret) return JSON.stringify(value.reveal());
  if (Array.isArray(value)) return `[${value.map(canonicalText).join(",")}]`;
  // A syntax is known by its name.
  if ("keepsId" in value && "name" in value) return canonicalText(value.name);
  const entries = value instanceof Map ? [...value] : Object.entries(value);
  const texts = entries
    .filter(([, entry]) => entry !== undefined)
    .map(([key, entry]) => `${JSON.stringify(key)}:${canonicalText(entry)}`)
    .sort();
  return `{${texts.join(",")}}`;
}

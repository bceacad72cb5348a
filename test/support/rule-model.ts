import type { Rule } from "../../src/enrich/index.ts";
import { compileFilter, Regex, type Value } from "../../src/record/index.ts";
import type { Json } from "./flow-rig.ts";

/** The slow model: each rule is asked of the whole record in turn, and sees what those before it gave. */
export function modelOfRules(rules: readonly Rule[], record: Json): Json {
  const fields = new Map(Object.entries(record) as [string, Value][]);
  for (const { when, set } of rules) {
    if (!compileFilter(when)(fields)) continue;
    const groups = new Map<string, string>();
    const terms = (filter: Rule["when"]): readonly { fields: readonly string[]; expression: string }[] =>
      filter.kind === "regex" ? [filter] : "filters" in filter ? filter.filters.flatMap(terms) : [];
    for (const term of terms(when)) {
      for (const value of term.fields.flatMap((field) => fields.get(field) ?? [])) {
        for (const [name, found] of new Regex(term.expression).find(String(value)) ?? [])
          if (!groups.has(name)) groups.set(name, found);
      }
    }
    for (const [name, value] of set) {
      if (typeof value !== "object" || !("parts" in value)) fields.set(name, value as Value);
      else {
        const parts = value.parts.map((part) => (typeof part === "string" ? part : groups.get(part.group)));
        if (!parts.includes(undefined)) fields.set(name, parts.join(""));
      }
    }
  }
  return Object.fromEntries(fields);
}

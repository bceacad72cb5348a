/** What the check below understands of a JSON schema. */
export interface Schema {
  readonly type?: "object" | "array" | "boolean" | "integer" | "number" | "string";
  readonly enum?: readonly unknown[];
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
}

/** Where a value is not what the schema says. Knows the few words that the schema uses. */
export function violations(schema: Schema, value: unknown, path = "$"): string[] {
  if (schema.enum !== undefined) return schema.enum.includes(value) ? [] : [`${path}: ${String(value)}`];
  if (schema.type === "array") {
    if (!Array.isArray(value)) return [`${path}: no array`];
    return value.flatMap((item, i) => violations(schema.items ?? {}, item, `${path}[${i}]`));
  }
  if (schema.type === "object") {
    if (typeof value !== "object" || value === null) return [`${path}: no object`];
    const known = schema.properties ?? {};
    const missing = (schema.required ?? [])
      .filter((name) => !(name in value))
      .map((name) => `${path}.${name}: missing`);
    return [
      ...missing,
      ...Object.entries(value).flatMap(([name, each]) =>
        known[name] === undefined
          ? [`${path}.${name}: not described`]
          : violations(known[name], each, `${path}.${name}`),
      ),
    ];
  }
  if (schema.type === "integer") return Number.isInteger(value) ? [] : [`${path}: no integer`];
  return typeof value === schema.type ? [] : [`${path}: no ${schema.type ?? "type"}`];
}

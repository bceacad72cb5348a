type KeyValue = string | number | boolean | null | undefined;

/**
 * A value that flows were grouped by, as it is shown.
 *
 * @param field by which they were.
 */
export function keyText(value: KeyValue, field: string): string {
  if (value === null || value === undefined) return field.endsWith(".ip.subnet.name") ? "without a name" : "(none)";
  return value === "" ? "(empty)" : String(value);
}

/** The values of all fields, as a name for a series. */
export function rowText(key: readonly KeyValue[], fields: readonly string[]): string {
  return key.map((value, i) => keyText(value, fields[i] ?? "")).join(" → ");
}

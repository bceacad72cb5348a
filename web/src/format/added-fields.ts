/** What `GET /api/v1/fields` says of fields, as far as it matters here. */
export interface FieldFacts {
  readonly fields: readonly { readonly name: string; readonly isAdded: boolean; readonly description: string }[];
  readonly patterns: readonly { readonly pattern: string; readonly isAdded: boolean }[];
}

/** Says of a field whether enrichment added it. A name of the operator's own is: it comes from metadata. */
export function addedFields({ fields, patterns }: FieldFacts): (name: string) => boolean {
  const known = new Map(fields.map(({ name, isAdded }) => [name, isAdded]));
  // The longest pattern is the nearest one.
  const beginnings = patterns
    .map(({ pattern, isAdded }) => ({ start: pattern.slice(0, pattern.indexOf("*")), isAdded }))
    .toSorted((one, other) => other.start.length - one.start.length);
  return (name) => known.get(name) ?? beginnings.find(({ start }) => name.startsWith(start))?.isAdded ?? false;
}

import type { YamlMapping, YamlPair } from "./yaml-node.ts";

/** Ends the reading with an error at an offset of the text. */
export type Fail = (message: string, at: number) => never;

/**
 * The pairs of a mapping with its merge key (`<<`, YAML 1.1) resolved: what the mapping says itself wins over what is
 * merged, an earlier merged mapping over a later one.
 */
export function mergedPairs(mapping: YamlMapping, fail: Fail): readonly YamlPair[] {
  const merge = mapping.pairs.find(isMerge);
  if (merge === undefined) return mapping.pairs;
  const own = mapping.pairs.filter((pair) => pair !== merge);
  const seen = new Set(own.map((pair) => pair.key.text));
  const merged: YamlPair[] = [];
  const sources = merge.value.kind === "sequence" ? merge.value.items : [merge.value];
  for (const source of sources) {
    if (source.kind !== "mapping") return fail("<< must merge a mapping or a list of mappings", merge.key.at);
    for (const pair of mergedPairs(source, fail)) {
      if (seen.has(pair.key.text)) continue;
      seen.add(pair.key.text);
      merged.push(pair);
    }
  }
  return [...own, ...merged];
}

function isMerge({ key }: YamlPair): boolean {
  return key.text === "<<" && (key.tag === "!!merge" || (key.isPlain && key.tag === undefined));
}

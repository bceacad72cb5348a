import type { Candidate } from "./candidates.ts";

/** Names of fields after what was written of an expression: `src.ip=10.0.0.1,dst.na` ends in a name. */
export async function fieldCandidates(
  written: string,
  of: "records" | "udm" = "records",
): Promise<readonly Candidate[]> {
  const { recordVocabulary, udmVocabulary } = await import("../../../filter/index.ts");
  const begun = /[\w.]*$/.exec(written)?.[0] ?? "";
  const before = written.slice(0, written.length - begun.length);
  const vocabulary = of === "udm" ? udmVocabulary : recordVocabulary;
  return Array.from(vocabulary.names(), (name) => ({ text: before + name }));
}

import type { Candidate } from "./candidates.ts";

/** Names of fields after what was written of an expression: `src.ip=10.0.0.1,dst.na` ends in a name. */
export async function fieldCandidates(written: string): Promise<readonly Candidate[]> {
  const { recordVocabulary } = await import("../../../filter/index.ts");
  const begun = /[\w.]*$/.exec(written)?.[0] ?? "";
  const before = written.slice(0, written.length - begun.length);
  return Array.from(recordVocabulary.names(), (name) => ({ text: before + name }));
}

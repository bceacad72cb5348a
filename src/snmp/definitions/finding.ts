import type { Kind } from "./definitions.ts";

export type Severity = "error" | "warning";

/** What a finding is about: a kind of definition, the networks that are searched for devices, or the rules of traps. */
export type FindingKind = Kind | "network" | "trap_rule";

/** Something wrong with the definition files. Its texts hold no community and no passphrase. */
export interface Finding {
  readonly severity: Severity;
  readonly kind: FindingKind;
  /** The file, or the directory that could not be read. */
  readonly file: string;
  /** From 1; undefined where the finding is about the whole file. */
  readonly line: number | undefined;
  readonly column: number | undefined;
  /** The definition's id, where it is about one. */
  readonly id: string | undefined;
  readonly message: string;
  /** What was probably meant. */
  readonly suggestion: string | undefined;
}

/** `objects/if.yml:12:7: IF-MIB::ifXTable: attribute ifHCInOctets: unknown syntax "Counter46" (did you mean "Counter64"?)` */
export function formatFinding(finding: Finding): string {
  const where = finding.line === undefined ? finding.file : `${finding.file}:${finding.line}:${finding.column}`;
  const about = finding.id === undefined ? "" : `${finding.id}: `;
  const hint = finding.suggestion === undefined ? "" : ` (did you mean "${finding.suggestion}"?)`;
  return `${where}: ${about}${finding.message}${hint}`;
}

/** By file, line and column; those about the whole file first. */
export function compareFindings(a: Finding, b: Finding): number {
  if (a.file !== b.file) return a.file < b.file ? -1 : 1;
  return (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0);
}

/**
 * How bad a finding is.
 *
 * - `problem`: flows are missing altogether.
 * - `warning`: flows are incomplete or wrong.
 * - `note`: worth knowing; all may be as it should be.
 */
export type Severity = "problem" | "warning" | "note";

/** Plain data. */
export type Evidence = Readonly<Record<string, unknown>>;

/** Why flows are missing or wrong. */
export interface Diagnosis {
  /** Which kind of finding; docs/doctor.md has them all. */
  readonly id: DiagnosisId;
  readonly severity: Severity;
  /** The exporter that it is about; absent: the collector. */
  readonly exporter?: string;
  readonly sentence: string;
  readonly evidence: Evidence;
  /** What to do. */
  readonly advice: string;
}

/** All that can be found, the collector's first. */
export const diagnosisIds = [
  "flows-off",
  "not-in-fleet",
  "nothing-received",
  "port-shared",
  "not-understood",
  "kernel-drops",
  "queue-drops",
  "output-failing",
  "output-drops",
  "output-refused",
  "traps-refused",
  "never-heard",
  "silent",
  "template-missing",
  "no-flows",
  "sampler-unknown",
  "sampling-conflict",
  "sampling-overridden",
  "sampling-unknown",
  "gaps",
  "agent-drops",
  "several-devices",
  "clock-off",
  "same-flows",
  "both-directions",
  "counters-disagree",
] as const;
export type DiagnosisId = (typeof diagnosisIds)[number];

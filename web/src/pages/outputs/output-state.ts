import type { ListOutputsAnswer } from "../../api/answers.gen.ts";

export type OutputState = ListOutputsAnswer["outputs"][number];
/** Refused records that are kept. */
export type DeadLetters = NonNullable<OutputState["deadLetters"]>;

/** The result of a test. */
export interface OutputTest {
  readonly ok: boolean;
  readonly steps: readonly string[];
  readonly warnings: readonly string[];
  readonly fault?: string;
  readonly ms: number;
}

/** An output that cannot work as it is configured. */
export class OutputError extends Error {
  override readonly name = "OutputError";
  readonly code = "unusable_output";
}

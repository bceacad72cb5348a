/** What a check finds, one line each. */
export interface Findings {
  /** What a start would fail at, or what would not work after it. */
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
}

export function joinFindings(all: readonly Findings[]): Findings {
  return {
    problems: all.flatMap(({ problems }) => problems),
    warnings: all.flatMap(({ warnings }) => warnings),
  };
}

/** The message of an error without the name of the system's call, which says little to an operator. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message.replace(/, \w+(?: '.*')?$/, "") : String(error);
}

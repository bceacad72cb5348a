/** An error as a field of the log. */
export interface ErrorField {
  readonly type: string;
  /** The message, and those of its causes that it does not repeat. */
  readonly message: string;
  readonly code?: string | number;
  /** Where it was thrown, for a bug: for what an operator can fix, the message is enough. */
  readonly stack?: readonly string[];
}

/** Errors of these classes are faults of the program, not of what it was given. */
const bugs = [TypeError, RangeError, ReferenceError, SyntaxError];
const maxCauses = 5;

/** Whether an error is no fault of the program, so that its message is enough. */
export function isExpected(error: unknown): error is Error {
  return error instanceof Error && !bugs.some((bug) => error instanceof bug);
}

/** What the log shows of something thrown: every message once. */
export function describeError(thrown: unknown): unknown {
  if (!(thrown instanceof Error)) return thrown;
  const { code } = thrown as { code?: unknown };
  return {
    type: thrown.name,
    message: messagesOf(thrown),
    ...((typeof code === "string" || typeof code === "number") && { code }),
    ...(!isExpected(thrown) && { stack: framesOf(thrown) }),
  } satisfies ErrorField;
}

function messagesOf(error: Error): string {
  let text = error.message;
  let { cause } = error;
  for (let depth = 0; cause instanceof Error && depth < maxCauses; depth++) {
    if (!text.includes(cause.message)) text = `${text}: ${cause.message}`;
    ({ cause } = cause);
  }
  return text;
}

function framesOf({ stack = "" }: Error): readonly string[] {
  return stack
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line.startsWith("at "));
}

import { after } from "node:test";

/** A test, or what {@link allTests} returns. */
export interface Owner {
  after(action: () => unknown): void;
}

/** What one clean-up may take, milliseconds. */
const longest = 60_000;

const lists = new WeakMap<Owner, (() => unknown)[]>();

/**
 * Does this at the end of the test, also when the test fails. What was asked for last is done first: a server stops before the
 * directory goes in which it works. Each is done although another one throws or does not end; the test then fails.
 */
export function cleanUp(t: Owner, action: () => unknown): void {
  const known = lists.get(t);
  if (known !== undefined) return void known.push(action);
  const actions = [action];
  lists.set(t, actions);
  // The hooks of a test run in the order of their registration, and none runs after one that throws.
  t.after(() => runInReverse(actions));
}

/** An owner for what the tests of a file or of a suite share. To be called at the top of the file or of the suite. */
export function allTests(): Owner {
  const actions: (() => unknown)[] = [];
  after(() => runInReverse(actions));
  return { after: (action) => void actions.push(action) };
}

async function runInReverse(actions: (() => unknown)[]): Promise<void> {
  const errors: unknown[] = [];
  // An action may ask for another one.
  for (let action = actions.pop(); action !== undefined; action = actions.pop()) {
    try {
      await withinLimit(action);
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length === 1) throw errors[0];
  if (errors.length > 1) throw new AggregateError(errors, errors.map(String).join("; "));
}

async function withinLimit(action: () => unknown): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise((_, reject) => {
    const error = new Error(`a clean-up did not end within ${longest / 1000} s: ${String(action)}`);
    timer = setTimeout(() => reject(error), longest);
  });
  try {
    await Promise.race([action(), limit]);
  } finally {
    clearTimeout(timer);
  }
}

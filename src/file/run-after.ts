/** The longest time that a timer of Node takes; a longer one would fire at once. */
const longestTimeout = 2 ** 31 - 1;

/** Runs an action once after a time in milliseconds, without keeping the process alive. @returns a function that calls it off. */
export function runAfter(action: () => void, ms: number): () => void {
  const timer = setTimeout(action, Math.min(ms, longestTimeout)).unref();
  return () => clearTimeout(timer);
}

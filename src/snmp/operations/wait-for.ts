/** @returns undefined when the time was over first, or the signal aborted. */
export async function waitFor<T>(promise: Promise<T>, ms: number, signal: AbortSignal): Promise<T | undefined> {
  let giveUp: () => void = () => {};
  const given = new Promise<undefined>((resolve) => (giveUp = () => resolve(undefined)));
  const timer = setTimeout(giveUp, ms);
  signal.addEventListener("abort", giveUp);
  if (signal.aborted) giveUp();
  try {
    return await Promise.race([promise, given]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", giveUp);
  }
}

/** Counts the turns of the event loop until it is stopped. */
export function countTurns(): { readonly count: number; stop(): void } {
  let count = 0;
  let isCounting = true;
  const next = (): void => {
    count++;
    if (isCounting) setImmediate(next);
  };
  setImmediate(next);
  return {
    get count() {
      return count;
    },
    stop: () => void (isCounting = false),
  };
}

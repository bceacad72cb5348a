/** Items worked on between two turns of the event loop: a millisecond or two of it. */
export const itemsATurn = 100;

/** Lets other work of the event loop go first. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

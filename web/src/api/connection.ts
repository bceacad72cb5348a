import { useEffect, useState } from "preact/hooks";
import { base } from "../navigation/place.ts";

/** Whether the collector answers. `away` has the time since when it does not. */
export type Connection = { readonly state: "up" } | { readonly state: "away"; readonly since: number };

/** How often an open page looks whether the collector is there: while it is, and while it is not. */
const beatMs = 10_000;
const retryMs = 1_000;
const pingTimeoutMs = 5_000;

let connection: Connection = { state: "up" };
/** Grows each time the collector came back: what was loaded before is loaded again. */
let comebacks = 0;
const listeners = new Set<() => void>();

function set(next: Connection): void {
  if (next.state === connection.state) return;
  if (next.state === "up") comebacks++;
  connection = next;
  for (const listener of listeners) listener();
}

/** Says what a call has found out. */
export const noteAnswer = (): void => set({ state: "up" });
export function noteSilence(): void {
  set({ state: "away", since: Date.now() });
  schedule(retryMs);
}

/** Looks at once whether the collector is there: something else than a call has failed. */
export const lookForCollector = (): void => schedule(0);

let timer: ReturnType<typeof setTimeout> | undefined;
function schedule(ms: number): void {
  clearTimeout(timer);
  timer = setTimeout(() => void ping(), ms);
}

async function ping(): Promise<void> {
  // A page that nobody sees asks nothing.
  if (document.visibilityState === "visible") {
    try {
      const response = await fetch(`${base()}livez`, { cache: "no-store", signal: AbortSignal.timeout(pingTimeoutMs) });
      if (response.ok) noteAnswer();
      else set({ state: "away", since: Date.now() });
    } catch {
      set({ state: "away", since: Date.now() });
    }
  }
  schedule(connection.state === "up" ? beatMs : retryMs);
}

/** Begins to look whether the collector is there. */
export function watchConnection(): void {
  schedule(beatMs);
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "visible") schedule(0);
  });
}

/** The state as it changes, and how often the collector came back. */
export function useConnection(): { readonly connection: Connection; readonly comebacks: number } {
  const [, redraw] = useState(0);
  useEffect(() => {
    const listener = (): void => redraw((count) => count + 1);
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }, []);
  return { connection, comebacks };
}

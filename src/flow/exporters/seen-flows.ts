/** A sample of the flows that an exporter reported in a span of time. Exporters sample the same flows, so that samples can be compared. */
export interface SeenWindow {
  /** When it began, milliseconds since the epoch: a multiple of {@link seenWindowMs}. */
  readonly start: number;
  /** By the lower bits of the hash: the least of the upper bits; {@link noFlow} where there was none. */
  readonly least: Uint32Array;
  /** In which directions that flow was seen: 1 ingress, 2 egress, 3 both, 0 where records do not say. */
  readonly directions: Uint8Array;
}

/** What an exporter reported lately: a table of fixed size for each of two spans of time. */
export interface SeenFlows {
  /** @param hash of 32 bits, @param directions as {@link SeenWindow.directions}, @param at milliseconds since the epoch. */
  note(hash: number, directions: number, at: number): void;
  /** A copy, the latest first. */
  windows(): SeenWindow[];
}

export const seenWindowMs = 10 * 60_000;
export const seenCells = 256;
/** How many values there are; none is as large. */
export const noFlow = 2 ** 24;
/** What it holds, in bytes. */
export const seenFlowsCost = 2 * 5 * seenCells + 400;

export function createSeenFlows(): SeenFlows {
  let current = createWindow(0);
  let before = createWindow(0);
  return {
    note(hash, directions, at) {
      const start = at - (at % seenWindowMs);
      if (start !== current.start) {
        const isNext = start === current.start + seenWindowMs;
        [before, current] = [isNext ? current : createWindow(0), createWindow(start)];
      }
      const cell = hash & (seenCells - 1);
      const value = hash >>> 8;
      const least = current.least[cell] as number;
      if (value > least) return;
      current.directions[cell] = value === least ? (current.directions[cell] as number) | directions : directions;
      current.least[cell] = value;
    },
    windows: () => [current, before].filter(({ start }) => start > 0).map((window) => structuredClone(window)),
  };
}

function createWindow(start: number): SeenWindow {
  return { start, least: new Uint32Array(seenCells).fill(noFlow), directions: new Uint8Array(seenCells) };
}

// What readers see at a time, in words of one small shared buffer: a row for each view, which says how many states it has and
// which, the entries of people first, then the bits of {@link LayerPlaces} of each; 0 for one that is always searched. A row is written before it is published, and again only when no reader is at it.
// Views are numbered from 1; 0 is none.
/** States of a view: that of the person's entries and those of other layers. */
export const mostStates = 128;
const rowWords = 2 * mostStates + 1;

export function createViewBuffer(maxReaders: number): SharedArrayBuffer {
  // Each reader may be at another view, one is published, one is being made.
  return new SharedArrayBuffer((maxReaders + 3) * rowWords * 4);
}

/** Where a view has its states: this many words from a word on. */
export function firstState(view: number): number {
  return view * rowWords + 1;
}

export function stateCount(words: Int32Array, view: number): number {
  return words[view * rowWords] as number;
}

/** The bit of a state of a view by its place. */
export function placesBit(words: Int32Array, view: number, state: number): number {
  return words[view * rowWords + 1 + mostStates + state] as number;
}

/** The writer's side. */
export interface ViewTable {
  /** @returns the number of a view of these states, which stays theirs until `free`. @param bits of their places. */
  add(states: readonly number[], bits: readonly number[]): number;
  states(view: number): number[];
  free(view: number): void;
}

export function createViewTable(buffer: SharedArrayBuffer): ViewTable {
  const words = new Int32Array(buffer);
  const unused = Array.from({ length: words.length / rowWords - 1 }, (_, i) => i + 1);
  return {
    add(states, bits) {
      const view = unused.pop();
      if (view === undefined || states.length > mostStates) throw new Error("too many states to show at a time");
      words[view * rowWords] = states.length;
      words.set(states, firstState(view));
      words.set(bits, firstState(view) + mostStates);
      return view;
    },
    states: (view) => Array.from(words.subarray(firstState(view), firstState(view) + stateCount(words, view))),
    free: (view) => void unused.push(view),
  };
}

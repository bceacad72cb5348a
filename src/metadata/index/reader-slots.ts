// What the threads exchange about views, in words of one small shared buffer. Word 0: the published view. Word 1: the
// low 32 bits of its version, written after it, so that a thread never takes an old view for the new version. Then a
// slot for each reader, on a line of the processor's cache of its own.
const publishedWord = 0;
const versionWord = 1;
const slotWords = 16;
const takenWord = 0;
const pinnedWord = 1;

export function createControl(maxReaders: number): SharedArrayBuffer {
  return new SharedArrayBuffer((maxReaders + 1) * slotWords * 4);
}

/** A reader's place. */
export interface ReaderSlot {
  readonly slot: number;
  /** Differs from that of all others that had or will have the place. */
  readonly ticket: number;
}

/** The writer's side. */
export interface Publisher {
  publish(view: number, version: number): void;
  /** Whether a reader is at this view. One that is no longer published gets no new readers. */
  isPinned(view: number): boolean;
  pinnedReaders(): number;
  /** @returns undefined when all are taken. */
  takeSlot(): ReaderSlot | undefined;
  freeSlot(slot: ReaderSlot): void;
}

export function createPublisher(control: SharedArrayBuffer): Publisher {
  const words = new Int32Array(control);
  const slots = words.length / slotWords - 1;
  const at = (slot: number): number => (slot + 1) * slotWords;
  let tickets = 0;
  const count = (holds: (pinned: number) => boolean): number => {
    let found = 0;
    for (let slot = 0; slot < slots; slot++) if (holds(Atomics.load(words, at(slot) + pinnedWord))) found++;
    return found;
  };
  return {
    publish(view, version) {
      Atomics.store(words, publishedWord, view);
      Atomics.store(words, versionWord, version);
    },
    isPinned: (view) => count((pinned) => pinned === view) > 0,
    pinnedReaders: () => count((pinned) => pinned !== 0),
    takeSlot() {
      for (let slot = 0; slot < slots; slot++) {
        const ticket = tickets + 1;
        if (Atomics.compareExchange(words, at(slot) + takenWord, 0, ticket) !== 0) continue;
        tickets = ticket;
        return { slot, ticket };
      }
      return undefined;
    },
    freeSlot: ({ slot, ticket }) => freeSlot(words, at(slot), ticket),
  };
}

function freeSlot(words: Int32Array, at: number, ticket: number): void {
  if (Atomics.load(words, at + takenWord) !== ticket) return;
  Atomics.store(words, at + pinnedWord, 0);
  Atomics.store(words, at + takenWord, 0);
}

/** A reader's side. */
export interface SnapshotPin {
  version(): number;
  /**
   * Keeps the published view from being freed until `unpin`. One at a time.
   *
   * @returns the view, 0 when nothing was published yet.
   */
  pin(): number;
  unpin(): void;
  /** Gives the slot back. */
  close(): void;
}

export function createSnapshotPin(control: SharedArrayBuffer, { slot, ticket }: ReaderSlot): SnapshotPin {
  const words = new Int32Array(control);
  const at = (slot + 1) * slotWords;
  return {
    version: () => Atomics.load(words, versionWord),
    pin() {
      for (;;) {
        const view = Atomics.load(words, publishedWord);
        Atomics.store(words, at + pinnedWord, view);
        // The writer looks at the slots after it has published: either it sees ours, or we see what it published.
        if (Atomics.load(words, publishedWord) === view) return view;
      }
    },
    unpin: () => void Atomics.store(words, at + pinnedWord, 0),
    close: () => freeSlot(words, at, ticket),
  };
}

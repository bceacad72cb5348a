import { lendLines, type Sink } from "../record/index.ts";
import { createNoteReader, type LineMemory } from "./line-notes.ts";

/** The other end of a line outbox: lends its lines to a sink. */
export interface LineInbox {
  /** Looks for lines, and goes on looking for as long as there are some. To be called at first and when the outbox wakes. */
  wake(): void;
  /** Takes what is there, and looks no more. */
  end(): void;
}

/** How often lines are looked for, in milliseconds, and how often in vain before it waits to be woken. */
const lookMs = 4;
const looks = 10;

export function createLineInbox(memory: LineMemory, sink: Sink): LineInbox {
  const notes = createNoteReader(memory);
  const { lines: bytes, at, slabBytes } = memory;
  let timer: NodeJS.Timeout | undefined;
  let empty = 0;

  /** @returns whether there was something. */
  const take = (): boolean => {
    let hasSome = false;
    for (let note = notes.next(); note !== undefined; note = notes.next()) {
      const { slab, from, to, count } = note;
      const lines = new Uint8Array(bytes, at + slab * slabBytes + from, to - from);
      lendLines(sink, lines, count, () => notes.giveBack(slab));
      hasSome = true;
    }
    return hasSome;
  };

  const look = (): void => {
    timer = undefined;
    empty = take() ? 0 : empty + 1;
    if (empty < looks || !notes.sleep()) timer = setTimeout(look, lookMs);
  };

  return {
    wake() {
      if (timer !== undefined) return;
      empty = 0;
      look();
    },
    end() {
      clearTimeout(timer);
      timer = undefined;
      take();
    },
  };
}

import type { FleetNote, NoteAnswer, NoteRound } from "../../src/fleet/index.ts";

/** Notes of a fleet in memory. */
export class MemoryNotes {
  readonly living = new Set<string>();
  readonly #notes = new Map<string, FleetNote>();
  #version = 0;

  exchange(session: string, { since, writes }: NoteRound): NoteAnswer {
    for (const { key, after, text } of writes) {
      const known = this.#notes.get(key);
      const version = known?.text === undefined ? 0 : known.version;
      if (version === after && this.living.has(session)) this.#notes.set(key, { key, version: ++this.#version, text });
    }
    const notes = [...this.#notes.values()].filter((note) => note.version > since);
    return { notes: notes.toSorted((a, b) => a.version - b.version), isAll: true, living: [...this.living] };
  }

  /** The texts that are there, by their keys. */
  texts(): ReadonlyMap<string, string> {
    return new Map([...this.#notes.values()].flatMap(({ key, text }) => (text === undefined ? [] : [[key, text]])));
  }
}

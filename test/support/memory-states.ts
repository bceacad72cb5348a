import type { FleetStateRow, FleetStateWrite } from "../../src/fleet/index.ts";

/** States of a fleet in memory. */
export class MemoryStates {
  readonly living = new Set<string>();
  readonly #rows = new Map<string, { readonly version: string; readonly text: string }>();
  readonly #watchers = new Map<() => void, string>();

  read(name: string, known: string | undefined): Promise<FleetStateRow> {
    const row = this.#rows.get(name);
    const text = row?.version === known ? undefined : row?.text;
    return Promise.resolve({ version: row?.version, text, living: [...this.living] });
  }

  write(name: string, { after, version, text }: FleetStateWrite): Promise<boolean> {
    const isNext = this.#rows.get(name)?.version === after;
    if (isNext) {
      this.#rows.set(name, { version, text });
      for (const [listener, of] of this.#watchers) if (of === name) queueMicrotask(listener);
    }
    return Promise.resolve(isNext);
  }

  watch(name: string, listener: () => void): () => void {
    this.#watchers.set(listener, name);
    return () => void this.#watchers.delete(listener);
  }
}

import type { FleetStateRow, FleetStateWrite } from "../../src/fleet/index.ts";

/** States of a fleet in memory. */
export class MemoryStates {
  readonly living = new Set<string>();
  /** Resolves when it answers a question for a state. */
  answers = async (): Promise<void> => {};
  readonly #rows = new Map<string, { readonly version: string; readonly text: string }>();
  readonly #watchers = new Map<() => void, string>();

  async read(name: string, known: string | undefined): Promise<FleetStateRow> {
    await this.answers();
    const row = this.#rows.get(name);
    const text = row?.version === known ? undefined : row?.text;
    return { version: row?.version, text, living: [...this.living] };
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

import {
  batchKey,
  DeliveryError,
  forEachLine,
  positionOf,
  type Outcome,
  type OutputAdapter,
  type RecordBatch,
} from "../../../src/output/index.ts";

export type StoreMood =
  | "works"
  | "away"
  | "hangs"
  | "busy"
  | "lies"
  | "fussy"
  | "small"
  | "hostile"
  | "poison"
  | "split";

/** A store that keeps records by their identity, with moods. */
export interface FakeStore {
  mood: StoreMood;
  readonly adapter: OutputAdapter;
  /** The identities under which each line was kept. */
  readonly kept: Map<string, Set<string>>;
  /** Lines that it found fault with. */
  readonly refused: Set<string>;
}

/**
 * - `away`: no batch arrives. `hangs`: no answer comes. `busy`: it takes every other record and asks to wait for the rest.
 * - `lies`: it keeps the batch and the answer is lost. `fussy`: it refuses records whose number ends in 7.
 * - `small`: no batch of more than three records. `hostile`: it refuses all batches, as if their content were at fault.
 * - `split`: it refuses batches with a record whose number ends in 7 as a whole. `poison`: it has a fault of its own with these.
 */
export function createFakeStore(): FakeStore {
  const kept = new Map<string, Set<string>>();
  const refused = new Set<string>();
  const keep = (batch: RecordBatch, takes: (line: string, index: number) => boolean): void =>
    forEachLine(batch, (chunk, from, to, index) => {
      const line = Buffer.from(chunk.subarray(from, to)).toString();
      if (!takes(line, index)) return;
      const ids = kept.get(line) ?? new Set();
      kept.set(line, ids.add(`${batchKey(batch.id)}-${positionOf(batch, index)}`));
    });
  const lines = (batch: RecordBatch): string[] => {
    const all: string[] = [];
    forEachLine(batch, (chunk, from, to) => all.push(Buffer.from(chunk.subarray(from, to)).toString()));
    return all;
  };
  const isBad = (line: string): boolean => /7\D*$/.test(line);

  const send = async (batch: RecordBatch, signal: AbortSignal): Promise<Outcome> => {
    await new Promise((resolve) => setImmediate(resolve));
    signal.throwIfAborted();
    switch (store.mood) {
      case "away":
        throw Object.assign(new Error("no"), { code: "ECONNREFUSED" });
      case "hangs":
        return new Promise(() => {});
      case "lies":
        keep(batch, () => true);
        throw Object.assign(new Error("cut"), { code: "ECONNRESET" });
      case "busy":
        keep(batch, (_, index) => index % 2 === 0);
        return { refused: [], retry: lines(batch).flatMap((_, index) => (index % 2 === 0 ? [] : [index])) };
      case "fussy": {
        keep(batch, (line) => !isBad(line));
        const bad = lines(batch).flatMap((line, index) => (isBad(line) ? [{ index, reason: "ends in 7" }] : []));
        for (const { index } of bad) refused.add(lines(batch)[index] as string);
        return { refused: bad, retry: [] };
      }
      case "small":
        if (batch.count > 3) throw new DeliveryError("record", "http_413", "too large");
        break;
      case "hostile":
        throw new DeliveryError("record", "http_400", "nonsense");
      case "split":
      case "poison":
        if (!lines(batch).some(isBad)) break;
        for (const line of lines(batch)) if (isBad(line)) refused.add(line);
        if (store.mood === "split") throw new DeliveryError("record", "http_400", "nonsense");
        throw new DeliveryError("unclear", "http_500", "it stumbles");
      case "works":
    }
    keep(batch, () => true);
    return { refused: [], retry: [] };
  };

  const store: FakeStore = {
    mood: "works",
    kept,
    refused,
    adapter: {
      async open() {
        if (store.mood === "away") throw Object.assign(new Error("no"), { code: "ECONNREFUSED" });
        return [];
      },
      send,
      async close() {},
    },
  };
  return store;
}

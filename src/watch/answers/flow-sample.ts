import type { Reader } from "../batch-rows.ts";

/** What a flow specification can tell of a flow. */
export interface FlowRow {
  readonly source: string;
  readonly destination: string;
  /** The number of the protocol. */
  readonly protocol: number;
  /** 0 where there is none. */
  readonly sourcePort: number;
  readonly destinationPort: number;
  readonly bytes: number;
  readonly packets: number;
  /** The bits of TCP of all its packets. */
  readonly flags: number;
  /** When it came, milliseconds since the epoch. */
  readonly at: number;
  /** The rules whose filter it passes, as bits by their place. */
  readonly rules: number;
}

/** The fields that a flow specification is chosen by. */
export const answerFields = {
  source: "flow.src.ip.addr",
  destination: "flow.dst.ip.addr",
  protocol: "l4.proto.id",
  sourcePort: "flow.src.l4.port.id",
  destinationPort: "flow.dst.l4.port.id",
  flags: "tcp.flags.bits",
  bytes: "flow.bytes",
  packets: "flow.packets",
  scaledBytes: "flow.scaled.bytes",
} as const;

/** Reads out of a batch what of a flow a flow specification can tell. */
export class FlowReader {
  readonly #fields: Readonly<Record<keyof typeof answerFields, Reader>>;

  /** @param reader gives the reader of a field. */
  constructor(reader: (field: string) => Reader) {
    const readers = Object.entries(answerFields).map(([name, field]) => [name, reader(field)]);
    this.#fields = Object.fromEntries(readers) as Record<keyof typeof answerFields, Reader>;
  }

  /** The bytes of a row, estimated by its sampling rate. */
  bytes(row: number): number {
    const { bytes, scaledBytes } = this.#fields;
    return scaledBytes.has(row) ? scaledBytes.number(row) : bytes.number(row);
  }

  /** Keeps a row in a sample, if it is to. @param weight how many records it stands for. */
  keep(sample: FlowSample | undefined, row: number, weight: number, now: number): void {
    sample?.add(this.bytes(row) * weight, () => this.read(row, now, 0));
  }

  /** @param at milliseconds since the epoch. @param rules see {@link FlowRow}. */
  read(row: number, at: number, rules: number): FlowRow {
    const { source, destination, protocol, sourcePort, destinationPort, flags, bytes, packets } = this.#fields;
    return {
      source: source.text(row) ?? "",
      destination: destination.text(row) ?? "",
      protocol: protocol.number(row),
      sourcePort: sourcePort.number(row),
      destinationPort: destinationPort.number(row),
      flags: flags.number(row),
      bytes: bytes.number(row),
      packets: packets.number(row),
      at,
      rules,
    };
  }
}

/** A row, and the bytes of all that it stands for. */
export interface WeighedRow {
  readonly row: FlowRow;
  readonly weight: number;
}

/**
 * Rows out of many, so that the bytes of any part of all can be told from them: priority sampling (Duffield, Lund and Thorup, 2007). Of all rows those
 * with the largest bytes / random are kept; one that is lighter than the largest of these that is not stands for that.
 */
export class FlowSample {
  readonly #capacity: number;
  readonly #random: () => number;
  /** A heap, the smallest priority first. */
  readonly #priorities: number[] = [];
  readonly #rows: { readonly row: FlowRow; readonly bytes: number }[] = [];
  /** The largest priority of a row that is not kept. */
  #threshold = 0;

  /** @param random from 0 to below 1. */
  constructor(capacity: number, random: () => number) {
    this.#capacity = capacity;
    this.#random = random;
  }

  get size(): number {
    return this.#rows.length;
  }

  /** Takes a row of some bytes. @param read is asked for it where it is kept. */
  add(bytes: number, read: () => FlowRow): void {
    if (!(bytes > 0)) return;
    const priority = bytes / (1 - this.#random());
    if (priority <= this.#threshold) return;
    this.#push(priority, { row: read(), bytes });
    if (this.#rows.length > this.#capacity) this.#threshold = Math.max(this.#threshold, this.#pop());
  }

  /** Rows with the bytes that each stands for. */
  rows(): WeighedRow[] {
    return this.#rows.map(({ row, bytes }) => ({ row, weight: Math.max(bytes, this.#threshold) }));
  }

  #push(priority: number, row: { readonly row: FlowRow; readonly bytes: number }): void {
    const [heap, rows] = [this.#priorities, this.#rows];
    let at = heap.length;
    heap.push(priority);
    rows.push(row);
    for (; at > 0; at = (at - 1) >> 1) {
      const above = (at - 1) >> 1;
      if ((heap[above] as number) <= priority) break;
      this.#swap(at, above);
    }
  }

  #pop(): number {
    const [heap, rows] = [this.#priorities, this.#rows];
    this.#swap(0, heap.length - 1);
    const priority = heap.pop() as number;
    rows.pop();
    for (let at = 0; ;) {
      const left = 2 * at + 1;
      if (left >= heap.length) return priority;
      const isRight = left + 1 < heap.length && (heap[left + 1] as number) < (heap[left] as number);
      const below = isRight ? left + 1 : left;
      if ((heap[below] as number) >= (heap[at] as number)) return priority;
      this.#swap(at, below);
      at = below;
    }
  }

  #swap(a: number, b: number): void {
    const [heap, rows] = [this.#priorities, this.#rows];
    [heap[a], heap[b]] = [heap[b] as number, heap[a] as number];
    [rows[a], rows[b]] = [rows[b] as (typeof rows)[number], rows[a] as (typeof rows)[number]];
  }
}

const segmentMs = 600_000;
const segments = 7;
const rowsOfSegment = 16_384;

/** Rows of the last hour and a bit, of everything: what is usual. */
export class UsualFlows {
  readonly #random: () => number;
  readonly #began: number;
  #segments: { readonly from: number; readonly sample: FlowSample }[] = [];

  /** @param now milliseconds since the epoch. */
  constructor(random: () => number, now: number) {
    this.#random = random;
    this.#began = now;
  }

  add(bytes: number, now: number, read: () => FlowRow): void {
    let last = this.#segments.at(-1);
    if (last === undefined || now - last.from >= segmentMs) {
      last = { from: now, sample: new FlowSample(rowsOfSegment, this.#random) };
      this.#segments = [...this.#segments.slice(1 - segments), last];
    }
    last.sample.add(bytes, read);
  }

  /** Rows that came before a time, and not before another one. @returns them, and over how many seconds they came. */
  before(time: number, notBefore: number): { readonly rows: readonly WeighedRow[]; readonly seconds: number } {
    const all = this.#segments.flatMap(({ sample }) => sample.rows());
    const rows = all.filter(({ row: { at } }) => at >= notBefore && at < time);
    const from = Math.max(this.#began, this.#segments[0]?.from ?? time, notBefore);
    return { rows, seconds: Math.max(1, (time - from) / 1000) };
  }
}

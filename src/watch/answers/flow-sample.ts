import type { Reader } from "../batch-rows.ts";

/** The properties of a flow that a flow specification can match. */
export interface FlowRow {
  readonly source: string;
  readonly destination: string;
  /** The protocol number. */
  readonly protocol: number;
  /** 0 where there is none. */
  readonly sourcePort: number;
  readonly destinationPort: number;
  readonly bytes: number;
  readonly packets: number;
  /** The TCP flags of all its packets. */
  readonly flags: number;
  /** When the row was received, in milliseconds since the epoch. */
  readonly at: number;
  /** The rules whose filter it passes; each bit is the place of a rule. */
  readonly rules: number;
}

/** The fields by which flow specifications are chosen. */
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

/** Reads the properties of flows that a flow specification can match from a batch. */
export class FlowReader {
  readonly #fields: Readonly<Record<keyof typeof answerFields, Reader>>;

  /** @param reader returns the reader of a field. */
  constructor(reader: (field: string) => Reader) {
    const readers = Object.entries(answerFields).map(([name, field]) => [name, reader(field)]);
    this.#fields = Object.fromEntries(readers) as Record<keyof typeof answerFields, Reader>;
  }

  /** Returns the bytes of a row, scaled by its sampling rate. */
  bytes(row: number): number {
    const { bytes, scaledBytes } = this.#fields;
    return scaledBytes.has(row) ? scaledBytes.number(row) : bytes.number(row);
  }

  /** Offers a row to a sample. @param weight the number of records that it stands for. */
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

/** A row, and the bytes of all rows that it stands for. */
export interface WeighedRow {
  readonly row: FlowRow;
  readonly weight: number;
}

/**
 * A sample of rows from which the bytes of any subset can be estimated: priority sampling (Duffield, Lund and Thorup, 2007). It keeps the rows with the
 * largest priority, bytes / random. A kept row with fewer bytes than the largest dropped priority counts as that priority.
 */
export class FlowSample {
  readonly #capacity: number;
  readonly #random: () => number;
  /** A heap with the smallest priority first. */
  readonly #priorities: number[] = [];
  readonly #rows: { readonly row: FlowRow; readonly bytes: number }[] = [];
  /** The largest priority of all dropped rows. */
  #threshold = 0;

  /** @param random returns a number from 0 to below 1. */
  constructor(capacity: number, random: () => number) {
    this.#capacity = capacity;
    this.#random = random;
  }

  get size(): number {
    return this.#rows.length;
  }

  /** Adds a row of some bytes. @param read called only where the row is kept. */
  add(bytes: number, read: () => FlowRow): void {
    if (!(bytes > 0)) return;
    const priority = bytes / (1 - this.#random());
    if (priority <= this.#threshold) return;
    this.#push(priority, { row: read(), bytes });
    if (this.#rows.length > this.#capacity) this.#threshold = Math.max(this.#threshold, this.#pop());
  }

  /** Returns the rows, each with the bytes that it stands for. */
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

/** Sampled rows of all traffic of a little more than the last hour: usual traffic. */
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

  /** Returns rows from a period. @returns them, and the seconds over which they were received. */
  before(time: number, notBefore: number): { readonly rows: readonly WeighedRow[]; readonly seconds: number } {
    const all = this.#segments.flatMap(({ sample }) => sample.rows());
    const rows = all.filter(({ row: { at } }) => at >= notBefore && at < time);
    const from = Math.max(this.#began, this.#segments[0]?.from ?? time, notBefore);
    return { rows, seconds: Math.max(1, (time - from) / 1000) };
  }
}

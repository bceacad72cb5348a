import { formatAddressBytes } from "../../../base/ip/index.ts";
import { type Value, renderField, type RecordFields, type Workspace } from "../../../record/index.ts";
import { formatMac, formatText } from "../../elements/mapping/convert-type.ts";
import * as layout from "../../kernel/layout.gen.ts";
import type { Step, InstructionTable } from "./instruction-table.ts";

/** The bytes that offsets are in. */
export interface ByteSource {
  readonly bytes: Buffer;
  readonly view: DataView;
}

/**
 * The kind of a value. `number` and `asLabel` (an autonomous system): the number itself; of all others the offset: addresses, a number of
 * 64 bits, `text` behind its length, behind their count `labels` (the upper twenty bits of each), `tags` (the lower twelve), `communities`
 * (RFC 1997), and `path`: segments of an AS path, each a type (1: a set), a count and this many numbers. All numbers are 32 bits,
 * unsigned, and in network byte order. `stackLabels` and `stackExperimental` are of a label stack (RFC 3032), whose offset goes with the
 * number of its entries: {@link stackAt}.
 */
export type StepKind =
  | "number"
  | "asLabel"
  | "uint64"
  | "ipv4"
  | "ipv6"
  | "mac"
  | "text"
  | "labels"
  | "tags"
  | "communities"
  | "path"
  | "stackLabels"
  | "stackExperimental";

const stackShift = 0x100_0000;

/** The value for a label stack. @param at below 2^24, @param count below 256. */
export function stackAt(at: number, count: number): number {
  return at + count * stackShift;
}

/** Reads the value of a kind as a record has it. */
export const readStepValue: Readonly<Record<StepKind, (value: number, source: ByteSource) => Value>> = {
  number: (value) => value,
  asLabel: (value) => `AS${value}`,
  uint64(at, { view }) {
    const high = view.getUint32(at);
    const low = view.getUint32(at + 4);
    return high <= 0x1fffff ? high * 0x1_0000_0000 + low : (BigInt(high) << 32n) | BigInt(low);
  },
  ipv4: (at, { bytes }) => formatAddressBytes(bytes, at, 4),
  ipv6: (at, { bytes }) => formatAddressBytes(bytes, at, 6),
  mac: (at, { bytes }) => formatMac(bytes, at),
  text: (at, { bytes, view }) => formatText(bytes, at + 4, view.getUint32(at)),
  labels: (at, source) => listAt(at, source).map((entry) => entry >>> 12),
  tags: (at, source) => listAt(at, source).map((entry) => entry & 0xfff),
  communities: (at, source) => listAt(at, source).map((entry) => `${entry >>> 16}:${entry & 0xffff}`),
  path: pathAt,
  stackLabels: (value, source) => stackEntries(value, source).map((entry) => entry >>> 12),
  stackExperimental: (value, source) => stackEntries(value, source).map((entry) => (entry >>> 9) & 7),
};

function stackEntries(value: number, { view }: ByteSource): number[] {
  const at = value % stackShift;
  return Array.from({ length: Math.trunc(value / stackShift) }, (_, i) => view.getUint32(at + 4 * i));
}

const asSet = 1;

function listAt(at: number, { view }: ByteSource): number[] {
  return Array.from({ length: view.getUint32(at) }, (_, i) => view.getUint32(at + 4 + 4 * i));
}

/** Sets in braces. */
function pathAt(at: number, source: ByteSource): string {
  const { view } = source;
  let position = at + 4;
  const segments = Array.from({ length: view.getUint32(at) }, () => {
    const isSet = view.getUint32(position) === asSet;
    const numbers = listAt(position + 4, source);
    position += 8 + 4 * numbers.length;
    return isSet ? `{${numbers.join(",")}}` : numbers.join(" ");
  });
  return segments.join(" ");
}

/**
 * Says how a part of what lies at the offset of a step is read. `place`: the offset itself is meant; `known32`: there is no such part
 * where the number is {@link unknown32}.
 */
export type PartRead = "place" | "uint8" | "uint16" | "uint24" | "uint32" | "known32" | "vlan" | "priority" | "flags";

/** All ones: the exporter does not know the value. */
export const unknown32 = 0xffff_ffff;

/** Reads a part at an offset, as the kernel does. */
export const readPart: Readonly<Record<PartRead, (view: DataView, at: number) => number>> = {
  place: (_view, at) => at,
  uint8: (view, at) => view.getUint8(at),
  uint16: (view, at) => view.getUint16(at),
  uint24: (view, at) => view.getUint32(at - 1) & 0xff_ffff,
  uint32: (view, at) => view.getUint32(at),
  known32: (view, at) => view.getUint32(at),
  vlan: (view, at) => view.getUint16(at) & 0xfff,
  priority: (view, at) => view.getUint16(at) >> 13,
  flags: (view, at) => view.getUint16(at) & 0x1ff,
};

/** Bytes from one offset up to another one. */
export interface Span {
  readonly at: number;
  readonly end: number;
}

/** Takes steps. */
export interface StepSink {
  /** @param value a number, or the offset of a value. */
  add(step: Step, value: number): void;
}

/** Steps of the names that there are; each structure of eight bytes and more may add one in hex. */
const maxKnownSteps = 1024;
const minStructure = 8;
/** An empty structure whose format nobody knows takes some eighty bytes, with its name and what is around it, and has eight itself. */
const maxPerByte = 12;
/** Names in hex structures come from the network. */
const maxLabels = 1024;
/** A byte in hex, and what is around the first. */
const perHexByte = 2;
const aroundHex = 5;
const maxTexts = 8192;
/** The number of bytes that the kernel may read behind a text, and its length. */
const aroundText = 20;

type Given = readonly [name: string, value: Value | readonly Span[], isHex: boolean];

/** Lists of steps, one behind the other. */
export class StepList implements StepSink {
  /** The position behind the last step; it is set where the kernel has listed some. */
  end = 0;
  readonly #instructions: InstructionTable;
  readonly #workspace: Workspace | undefined;
  readonly #steps: Uint32Array;
  readonly #givens = new Map<number, Given>();
  readonly #labels = new Map<string, Buffer>();
  #textsEnd: number = layout.stepTexts;
  #room = 0;

  /** @param workspace where the kernel reads the lists; undefined: they only become fields. */
  constructor(instructions: InstructionTable, workspace: Workspace | undefined) {
    this.#instructions = instructions;
    this.#workspace = workspace;
    this.#steps =
      workspace === undefined
        ? new Uint32Array(2 * maxKnownSteps)
        : new Uint32Array(workspace.memory.buffer, layout.stepList, (layout.stepListEnd - layout.stepList) / 4);
  }

  add(step: Step, value: number): void {
    const { end } = this;
    this.#steps[end] = step.place;
    this.#steps[end + 1] = value;
    this.end = end + 2;
    this.#room += step.maxLength;
  }

  /** @param bytes that the value takes in a line at most. */
  addLong(step: Step, value: number, bytes: number): void {
    this.add(step, value);
    this.#room += bytes;
  }

  /** Adds a field that is none of the kinds of steps. */
  give(name: string, value: Value): void {
    const workspace = this.#workspace;
    const text = workspace === undefined ? "" : renderField(name, value);
    const length = Buffer.byteLength(text);
    const at = this.#takeTexts(length);
    this.#givens.set(at, [name, value, false]);
    this.add(this.#instructions.given, at);
    this.#room += length;
    workspace?.bytes.write(text, at + 4);
    workspace?.view.setUint32(at, length, true);
  }

  /** Adds an array of bytes in hex. */
  giveHex(name: string, spans: readonly Span[]): void {
    const workspace = this.#workspace;
    const label = this.#labelOf(name);
    const at = this.#takeTexts(8 * spans.length + label.length);
    this.#givens.set(at, [name, spans, true]);
    this.add(this.#instructions.hexes, at);
    this.#room += label.length + aroundHex;
    for (let i = 0; i < spans.length; i++) {
      const span = spans[i] as Span;
      const length = span.end - span.at;
      workspace?.view.setUint32(at + 8 + 8 * i, span.at, true);
      workspace?.view.setUint32(at + 12 + 8 * i, length, true);
      this.#room += perHexByte * length + aroundHex;
    }
    workspace?.view.setUint32(at, spans.length, true);
    workspace?.view.setUint32(at + 4, label.length, true);
    workspace?.bytes.set(label, at + 8 + 8 * spans.length);
  }

  /** Bytes in a line that the steps since the last call take at most. */
  takeRoom(): number {
    const taken = this.#room;
    this.#room = 0;
    return taken;
  }

  /** Tells whether there is room for the steps of a sample of this many bytes. */
  hasRoom(bytes: number): boolean {
    return (
      this.end + 2 * (maxKnownSteps + bytes / minStructure) <= this.#steps.length &&
      this.#textsEnd + maxPerByte * bytes + maxTexts <= layout.stepTextsEnd
    );
  }

  /** Puts the fields of the steps from a position to another one into a record. */
  putInto(record: RecordFields, from: number, to: number, source: ByteSource): void {
    const instructions = this.#instructions;
    for (let i = from; i < to; i += 2) {
      const place = this.#steps[i] as number;
      const value = this.#steps[i + 1] as number;
      if (place === instructions.given.place || place === instructions.hexes.place) {
        const [name, given, isHex] = this.#givens.get(value) as Given;
        record.set(name, isHex ? hexOf(given as readonly Span[], source) : (given as Value));
      } else instructions.find(place).put(record, value, source);
    }
  }

  clear(): void {
    this.end = 0;
    this.#room = 0;
    this.#textsEnd = layout.stepTexts;
    if (this.#givens.size > 0) this.#givens.clear();
  }

  /** Takes memory for what the kernel is to read. */
  #takeTexts(bytes: number): number {
    const at = this.#textsEnd;
    if (at + bytes + aroundText > layout.stepTextsEnd) throw new RangeError("the memory for texts of steps is full");
    this.#textsEnd += Math.ceil((bytes + aroundText) / 4) * 4;
    return at;
  }

  /** @returns what stands before the values of an array. */
  #labelOf(name: string): Buffer {
    const known = this.#labels.get(name);
    if (known !== undefined) return known;
    if (this.#labels.size >= maxLabels) this.#labels.clear();
    const label = Buffer.from(`,${JSON.stringify(name)}:[`);
    this.#labels.set(name, label);
    return label;
  }
}

/** Bytes of a source in hex. */
export function hexOf(spans: readonly Span[], { bytes }: Pick<ByteSource, "bytes">): string[] {
  return spans.map(({ at, end }) => `0x${bytes.toString("hex", at, end)}`);
}

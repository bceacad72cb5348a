import { renderField, type RecordFields, type Value, type Workspace } from "../../../record/index.ts";
import * as layout from "../../kernel/layout.ts";
import type { Step, StepBook } from "./step-book.ts";
import type { ByteSource } from "./step-value.ts";

/** Bytes from one place up to another one. */
export interface Span {
  readonly at: number;
  readonly end: number;
}

/** Takes steps. */
export interface StepSink {
  /** @param value a number, or the place of a value. */
  add(step: Step, value: number): void;
}

/** Lists of steps, one behind the other. */
export interface StepList extends StepSink {
  /** @param bytes that the value takes in a line at most. */
  addLong(step: Step, value: number, bytes: number): void;
  /** Adds a field that is none of the kinds of steps. */
  give(name: string, value: Value): void;
  /** Adds an array of bytes in hex. */
  giveHex(name: string, spans: readonly Span[]): void;
  /** The position behind the last step; it is set where the kernel has listed some. */
  end: number;
  /** Bytes in a line that the steps since the last call take at most. */
  takeRoom(): number;
  /** Whether there is room for the steps of a sample of this many bytes. */
  hasRoom(bytes: number): boolean;
  /** Puts the fields of the steps from a position to another one into a record. */
  putInto(record: RecordFields, from: number, to: number, source: ByteSource): void;
  clear(): void;
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
/** What the kernel may read behind a text, and its length. */
const aroundText = 20;

/** @param workspace where the kernel reads the lists; undefined: they only become fields. */
export function createStepList(book: StepBook, workspace: Workspace | undefined): StepList {
  const steps =
    workspace === undefined
      ? new Uint32Array(2 * maxKnownSteps)
      : new Uint32Array(workspace.memory.buffer, layout.stepList, (layout.stepListEnd - layout.stepList) / 4);
  const givens = new Map<number, readonly [name: string, value: Value | readonly Span[], isHex: boolean]>();
  const labels = new Map<string, Buffer>();
  let textsEnd: number = layout.stepTexts;
  let room = 0;

  const add = (step: Step, value: number): void => {
    const { end } = list;
    steps[end] = step.place;
    steps[end + 1] = value;
    list.end = end + 2;
    room += step.maxLength;
  };

  /** Takes memory for what the kernel is to read. */
  const takeTexts = (bytes: number): number => {
    const at = textsEnd;
    if (at + bytes + aroundText > layout.stepTextsEnd) throw new RangeError("the memory for texts of steps is full");
    textsEnd += Math.ceil((bytes + aroundText) / 4) * 4;
    return at;
  };

  /** What stands before the values of an array. */
  const labelOf = (name: string): Buffer => {
    const known = labels.get(name);
    if (known !== undefined) return known;
    if (labels.size >= maxLabels) labels.clear();
    const label = Buffer.from(`,${JSON.stringify(name)}:[`);
    labels.set(name, label);
    return label;
  };

  // Not with accessors, which would make a dictionary of the object.
  const list: StepList = {
    end: 0,
    add,
    addLong(step, value, bytes) {
      add(step, value);
      room += bytes;
    },
    give(name, value) {
      const text = workspace === undefined ? "" : renderField(name, value);
      const length = Buffer.byteLength(text);
      const at = takeTexts(length);
      givens.set(at, [name, value, false]);
      add(book.given, at);
      room += length;
      workspace?.bytes.write(text, at + 4);
      workspace?.view.setUint32(at, length, true);
    },
    giveHex(name, spans) {
      const label = labelOf(name);
      const at = takeTexts(8 * spans.length + label.length);
      givens.set(at, [name, spans, true]);
      add(book.hexes, at);
      room += label.length + aroundHex;
      for (let i = 0; i < spans.length; i++) {
        const span = spans[i] as Span;
        const length = span.end - span.at;
        workspace?.view.setUint32(at + 8 + 8 * i, span.at, true);
        workspace?.view.setUint32(at + 12 + 8 * i, length, true);
        room += perHexByte * length + aroundHex;
      }
      workspace?.view.setUint32(at, spans.length, true);
      workspace?.view.setUint32(at + 4, label.length, true);
      workspace?.bytes.set(label, at + 8 + 8 * spans.length);
    },
    takeRoom() {
      const taken = room;
      room = 0;
      return taken;
    },
    hasRoom: (bytes) =>
      list.end + 2 * (maxKnownSteps + bytes / minStructure) <= steps.length &&
      textsEnd + maxPerByte * bytes + maxTexts <= layout.stepTextsEnd,
    putInto(record, from, to, source) {
      for (let i = from; i < to; i += 2) {
        const place = steps[i] as number;
        const value = steps[i + 1] as number;
        if (place === book.given.place || place === book.hexes.place) {
          const [name, given, isHex] = givens.get(value) as readonly [string, Value | readonly Span[], boolean];
          record.set(name, isHex ? hexOf(given as readonly Span[], source) : (given as Value));
        } else book.find(place).put(record, value, source);
      }
    },
    clear() {
      list.end = 0;
      room = 0;
      textsEnd = layout.stepTexts;
      if (givens.size > 0) givens.clear();
    },
  };
  return list;
}

/** Bytes of a source in hex. */
export function hexOf(spans: readonly Span[], { bytes }: Pick<ByteSource, "bytes">): string[] {
  return spans.map(({ at, end }) => `0x${bytes.toString("hex", at, end)}`);
}

import { renderField, type RecordFields, type Value, type Workspace } from "../../../record/index.ts";
import * as layout from "../../line/kernel/layout.ts";
import type { Step, StepBook } from "./step-book.ts";
import type { ByteSource } from "./step-value.ts";

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
  /** The position behind the last step. */
  readonly end: number;
  /** Bytes in a line that the steps since the last call take at most. */
  takeRoom(): number;
  /** Whether there is room for the steps of a sample of so many bytes. */
  hasRoom(bytes: number): boolean;
  /** Puts the fields of the steps from a position to another one into a record. */
  putInto(record: RecordFields, from: number, to: number, source: ByteSource): void;
  clear(): void;
}

/** Steps of the names that there are; each structure of eight bytes and more may add one in hex. */
const maxKnownSteps = 1024;
const minStructure = 8;
/** A byte of text takes six in a line (`\u00xx`), an empty structure whose format nobody knows seventy, with its name and what is around it. */
const maxPerByte = 9;
const maxTexts = 8192;
/** What the kernel may read behind a text, and its length. */
const aroundText = 20;

/** @param workspace where the kernel reads the lists; undefined: they only become fields. */
export function createStepList(book: StepBook, workspace: Workspace | undefined): StepList {
  const steps =
    workspace === undefined
      ? new Uint32Array(2 * maxKnownSteps)
      : new Uint32Array(workspace.memory.buffer, layout.stepList, (layout.stepListEnd - layout.stepList) / 4);
  const givens = new Map<number, readonly [name: string, value: Value]>();
  let textsEnd: number = layout.stepTexts;
  let end = 0;
  let room = 0;

  const add = (step: Step, value: number): void => {
    steps[end] = step.place;
    steps[end + 1] = value;
    end += 2;
    room += step.maxLength;
  };

  return {
    add,
    addLong(step, value, bytes) {
      add(step, value);
      room += bytes;
    },
    give(name, value) {
      const at = textsEnd;
      givens.set(at, [name, value]);
      add(book.given, at);
      if (workspace === undefined) {
        textsEnd += 4;
        return;
      }
      const text = renderField(name, value);
      if (at + Buffer.byteLength(text) + aroundText > layout.stepTextsEnd) {
        throw new RangeError("the memory for texts of steps is full");
      }
      const length = workspace.bytes.write(text, at + 4);
      workspace.view.setUint32(at, length, true);
      textsEnd += Math.ceil((length + aroundText) / 4) * 4;
      room += length;
    },
    get end() {
      return end;
    },
    takeRoom() {
      const taken = room;
      room = 0;
      return taken;
    },
    hasRoom: (bytes) =>
      end + 2 * (maxKnownSteps + bytes / minStructure) <= steps.length &&
      textsEnd + maxPerByte * bytes + maxTexts <= layout.stepTextsEnd,
    putInto(record, from, to, source) {
      for (let i = from; i < to; i += 2) {
        const place = steps[i] as number;
        const value = steps[i + 1] as number;
        if (place === book.given.place) {
          const [name, given] = givens.get(value) as readonly [string, Value];
          record.set(name, given);
        } else book.find(place).put(record, value, source);
      }
    },
    clear() {
      end = 0;
      room = 0;
      textsEnd = layout.stepTexts;
      if (givens.size > 0) givens.clear();
    },
  };
}

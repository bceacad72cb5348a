import type { LineEnricher } from "../../record/index.ts";
import type { Convert } from "../mapping/field-source.ts";
import type { TimeFormat } from "../mapping/time-format.ts";
import type { Output, Plan, Step } from "../template/plan.ts";
import { createByteTable } from "./byte-table.ts";
import { lineProgram, type PlacedTable } from "./line-program.ts";
import type { ProgramMemory } from "./program-memory.ts";

/** What the kernel needs for all templates that have the same fields. */
export interface CompiledPlan {
  /** The place of the program. */
  readonly program: number;
  /** A line takes no more room than this, the head apart, and so much more for each byte of its record. */
  readonly maxLength: number;
  readonly maxLengthPerByte: number;
}

/** What became of templates so far. */
export interface CompileCounts {
  compiled: number;
  /** Templates that stay with the interpreter. */
  refused: number;
  /** Dropped, because the memory for programs was full. */
  evicted: number;
}

export interface CompiledPlans {
  /**
   * The program for records of a plan that are about to be decoded; undefined when the interpreter is to do them: too few were
   * seen yet, or it cannot be compiled.
   *
   * @param bytes of the set that they are in, which tell about how many they are.
   */
  find(plan: Plan, bytes: number): CompiledPlan | undefined;
  readonly size: number;
  readonly counts: Readonly<CompileCounts>;
}

export interface CompiledPlansOptions {
  readonly memory: ProgramMemory;
  readonly times: TimeFormat;
  readonly enricher: LineEnricher;
  /** As {@link lineProgram} has them. */
  readonly slots: ReadonlyMap<string, number>;
  /** A template is compiled when about so many of its records were seen, so that a flood of templates costs nothing. */
  readonly after: number;
  /** A template with more stays with the interpreter. */
  readonly maxFields: number;
}

/** What is known of one plan. */
interface PlanState {
  records: number;
  key: string | undefined;
  entry: Entry | undefined;
}

interface Entry {
  readonly compiled: CompiledPlan | undefined;
  isEvicted: boolean;
}

/** Programs by content, those that could not be made too: their keys come from the network. */
const maxEntries = 4096;

/** Thrown where the memory for programs is full. */
class MemoryIsFull extends Error {}

export function createCompiledPlans(options: CompiledPlansOptions): CompiledPlans {
  const { memory, times, enricher, slots, after, maxFields } = options;
  const states = new WeakMap<Plan, PlanState>();
  /** By what the templates say. */
  const entries = new Map<string, Entry>();
  const byteTables = new Map<string, PlacedTable>();
  const counts: CompileCounts = { compiled: 0, refused: 0, evicted: 0 };

  const conversions = new Map<Convert, number>();
  const conversionKey = (convert: Convert): number => {
    const known = conversions.get(convert) ?? conversions.size;
    conversions.set(convert, known);
    return known;
  };
  const outputKey = ({ name, convert, fallback }: Output): string =>
    [name, conversionKey(convert), fallback?.name, fallback && conversionKey(fallback.convert)].join();

  const place = (bytes: Uint8Array): number => {
    const at = memory.put(bytes);
    if (at === undefined) throw new MemoryIsFull();
    return at;
  };

  const byteTable = (steps: readonly Step[]): PlacedTable => {
    const key = steps.map(({ outputs: [output] }) => outputKey(output)).join(" ");
    const known = byteTables.get(key);
    if (known !== undefined) return known;
    const { texts, starts, maxLength } = createByteTable(steps, times);
    const textsAt = place(new Uint8Array(texts.buffer));
    const pairs = Uint32Array.from({ length: 512 }, (_, i) => {
      const start = starts[i >> 1] as number;
      return i % 2 === 0 ? textsAt + start : (starts[(i >> 1) + 1] as number) - start;
    });
    const made = { place: place(new Uint8Array(pairs.buffer)), maxLength };
    byteTables.set(key, made);
    return made;
  };

  const compile = (plan: Plan): CompiledPlan | undefined => {
    if (plan.lengths.length > maxFields || plan.slowSteps.length > 0) return undefined;
    const made = lineProgram(plan, { enricher, slots, byteTable });
    if (made === undefined) return undefined;
    const { bytes, maxLength, maxLengthPerByte } = made;
    return { program: place(bytes), maxLength, maxLengthPerByte };
  };

  const forgetAll = (): void => {
    counts.evicted += entries.size;
    for (const entry of entries.values()) entry.isEvicted = true;
    entries.clear();
    byteTables.clear();
    memory.clear();
  };

  const makeEntry = (plan: Plan, key: string): Entry => {
    if (entries.size >= maxEntries) forgetAll();
    let compiled: CompiledPlan | undefined;
    try {
      compiled = compile(plan);
    } catch (error) {
      if (!(error instanceof MemoryIsFull)) throw error;
      // Those that are used come back soon, and making them is cheap.
      forgetAll();
      compiled = compile(plan);
    }
    counts[compiled === undefined ? "refused" : "compiled"]++;
    const entry: Entry = { compiled, isEvicted: false };
    entries.set(key, entry);
    return entry;
  };

  return {
    find(plan, bytes) {
      let state = states.get(plan);
      if (state === undefined) {
        state = { records: 0, key: undefined, entry: undefined };
        states.set(plan, state);
      }
      if (state.entry?.isEvicted === true) {
        state.entry = undefined;
        state.records = 0;
      }
      if (state.entry === undefined) {
        state.records += bytes / plan.minLength;
        if (state.records <= after) return undefined;
        state.key ??= contentKey(plan);
        state.entry = entries.get(state.key) ?? makeEntry(plan, state.key);
      }
      return state.entry.compiled;
    },
    get size() {
      return entries.size;
    },
    counts,
  };
}

function contentKey({ template: { dialect, fields } }: Plan): string {
  return `${dialect} ${fields.map(({ pen, id, length }) => `${pen}.${id}.${length}`).join(" ")}`;
}

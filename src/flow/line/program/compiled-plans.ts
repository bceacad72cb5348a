import type { LineEnricher } from "../../../record/index.ts";
import type { Convert } from "../../elements/mapping/field-source.ts";
import type { TimeFormat } from "../../elements/mapping/time-format.ts";
import type { Output, Plan, Step } from "../../exporters/templates/plan.ts";
import { createByteTable, type PlacedTable } from "./byte-table.ts";
import type { LineHelper } from "./line-helper.ts";
import type { NameBits } from "./name-bits.ts";
import { lineProgram } from "./line-program.ts";
import type { ProgramMemory } from "./program-memory.ts";

/** What the kernel needs for all templates that have the same fields. */
export interface CompiledPlan {
  /** The place of the program. */
  readonly program: number;
  /** What its operations leave to the other side. */
  readonly helpers: readonly LineHelper[];
  /** A line takes no more room than this, the head apart, and so much more for each byte of its record. */
  readonly maxLength: number;
  readonly maxLengthPerByte: number;
}

/** What happened to templates so far. */
export interface CompileCounts {
  compiled: number;
  /** Dropped, because the memory for programs was full. */
  evicted: number;
}

export interface CompiledPlans {
  /** The program for records of a plan, made when there is none for its content. */
  find(plan: Plan): CompiledPlan;
  readonly size: number;
  readonly counts: Readonly<CompileCounts>;
}

export interface CompiledPlansOptions {
  readonly memory: ProgramMemory;
  readonly times: TimeFormat;
  readonly enricher: LineEnricher;
  /** As {@link lineProgram} has them. */
  readonly slots: ReadonlyMap<string, number>;
  readonly nameBits: NameBits;
  readonly growth: number;
  readonly hasEnds: boolean;
}

interface Entry extends CompiledPlan {
  isEvicted: boolean;
}

/** Programs by content, those that could not be made too: their keys come from the network. */
const maxEntries = 4096;

/** Thrown where the memory for programs is full. */
class MemoryIsFull extends Error {}

export function createCompiledPlans(options: CompiledPlansOptions): CompiledPlans {
  const { memory, times, enricher, slots, nameBits, growth, hasEnds } = options;
  const byPlan = new WeakMap<Plan, Entry>();
  /** By what the templates say. */
  const entries = new Map<string, Entry>();
  const byteTables = new Map<string, PlacedTable>();
  const counts: CompileCounts = { compiled: 0, evicted: 0 };

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

  const compile = (plan: Plan): Entry => {
    const { bytes, helpers, maxLength, maxLengthPerByte } = lineProgram(plan, {
      enricher,
      slots,
      nameBits,
      byteTable,
      growth,
      hasEnds,
    });
    return { program: place(bytes), helpers, maxLength, maxLengthPerByte, isEvicted: false };
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
    let entry: Entry;
    try {
      entry = compile(plan);
    } catch (error) {
      if (!(error instanceof MemoryIsFull)) throw error;
      // Those that are used come back soon, and making them is cheap.
      forgetAll();
      entry = compile(plan);
    }
    counts.compiled++;
    entries.set(key, entry);
    return entry;
  };

  return {
    find(plan) {
      const known = byPlan.get(plan);
      if (known?.isEvicted === false) return known;
      const key = contentKey(plan);
      const entry = entries.get(key) ?? makeEntry(plan, key);
      byPlan.set(plan, entry);
      return entry;
    },
    get size() {
      return entries.size;
    },
    counts,
  };
}

/** What a program follows from; the elements' names are the same for all plans of a pipeline. */
function contentKey({ template: { dialect, fields } }: Plan): string {
  return `${dialect} ${fields.map(({ pen, id, length }) => `${pen}.${id}.${length}`).join(" ")}`;
}

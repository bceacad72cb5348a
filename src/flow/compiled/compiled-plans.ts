import type { LineEnricher } from "../../record/index.ts";
import type { Log } from "../../report/index.ts";
import type { Convert } from "../mapping/field-source.ts";
import type { TimeFormat } from "../mapping/time-format.ts";
import type { Output, Plan, Step } from "../template/plan.ts";
import { createByteTable, type ByteTable } from "./byte-table.ts";
import { compileRecord, type RecordTools } from "./compile-record.ts";
import { recordCode, type AddressPlace } from "./record-code.ts";
import type { WriteRecord } from "./record-state.ts";

/** The code of all templates that have the same fields. */
export interface CompiledPlan {
  readonly write: WriteRecord;
  /** A line takes no more room than this, the head apart, and so much more for each byte of its record. */
  readonly maxLength: number;
  readonly maxLengthPerByte: number;
  readonly addresses: readonly AddressPlace[];
}

/** What became of templates so far. */
export interface CompileCounts {
  compiled: number;
  /** Templates that stay with the interpreter. */
  refused: number;
  /** Dropped, because others were used more lately. */
  evicted: number;
}

export interface CompiledPlans {
  /**
   * The code for records of a plan that are about to be decoded; undefined when the interpreter is to do them: too few were
   * seen yet, or it cannot be compiled.
   *
   * @param bytes of the set that they are in, which tell about how many they are.
   */
  find(plan: Plan, bytes: number): CompiledPlan | undefined;
  readonly size: number;
  readonly counts: Readonly<CompileCounts>;
}

export interface CompiledPlansOptions {
  readonly tools: RecordTools;
  readonly times: TimeFormat;
  readonly communityId: boolean;
  readonly enricher: LineEnricher;
  /** A template is compiled when about so many of its records were seen, so that a flood of templates costs nothing. */
  readonly after: number;
  /** Most templates to keep code for. */
  readonly max: number;
  /** A template with more stays with the interpreter: code that is longer is not optimised by the engine. */
  readonly maxFields: number;
  readonly log: Log;
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

const maxByteTables = 256;

export function createCompiledPlans(options: CompiledPlansOptions): CompiledPlans {
  const { tools, times, communityId, enricher, after, max, maxFields, log } = options;
  const states = new WeakMap<Plan, PlanState>();
  /** By what the templates say; the one used longest ago first. */
  const entries = new Map<string, Entry>();
  const byteTables = new Map<string, ByteTable>();
  const counts: CompileCounts = { compiled: 0, refused: 0, evicted: 0 };
  let isAllowed = true;
  let lastKey: string | undefined;

  const conversions = new Map<Convert, number>();
  const conversionKey = (convert: Convert): number => {
    const known = conversions.get(convert) ?? conversions.size;
    conversions.set(convert, known);
    return known;
  };
  const outputKey = ({ name, convert, fallback }: Output): string =>
    [name, conversionKey(convert), fallback?.name, fallback && conversionKey(fallback.convert)].join();

  const byteTable = (steps: readonly Step[]): ByteTable => {
    const key = steps.map(({ outputs: [output] }) => outputKey(output)).join(" ");
    const known = byteTables.get(key);
    if (known !== undefined) return known;
    const made = createByteTable(steps, times);
    if (byteTables.size >= maxByteTables) byteTables.clear();
    byteTables.set(key, made);
    return made;
  };

  const compile = (plan: Plan): CompiledPlan | undefined => {
    if (plan.lengths.length > maxFields || plan.slowSteps.length > 0) return undefined;
    const code = recordCode(plan, { communityId, enricher, byteTable });
    if (code === undefined) return undefined;
    try {
      const { maxLength, maxLengthPerByte, addresses } = code;
      return { write: compileRecord(plan, code, tools), maxLength, maxLengthPerByte, addresses };
    } catch (error) {
      if (!(error instanceof EvalError)) throw error;
      isAllowed = false;
      log.warn({ error }, "code may not be made from text here: templates are interpreted, which is slower");
      return undefined;
    }
  };

  const makeEntry = (plan: Plan, key: string): Entry => {
    const entry: Entry = { compiled: compile(plan), isEvicted: false };
    counts[entry.compiled === undefined ? "refused" : "compiled"]++;
    if (entries.size >= max) {
      for (const [oldest, dropped] of entries) {
        entries.delete(oldest);
        dropped.isEvicted = true;
        break;
      }
      counts.evicted++;
    }
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
        if (state.records <= after || !isAllowed) return undefined;
        state.key ??= contentKey(plan);
        state.entry = entries.get(state.key) ?? makeEntry(plan, state.key);
      }
      const key = state.key as string;
      if (key !== lastKey) {
        // The order of insertion is the order of use.
        entries.delete(key);
        entries.set(key, state.entry);
        lastKey = key;
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

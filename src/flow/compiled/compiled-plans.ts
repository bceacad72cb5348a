import type { LineEnricher } from "../../record/index.ts";
import type { Log } from "../../report/index.ts";
import type { Convert } from "../mapping/field-source.ts";
import type { TimeFormat } from "../mapping/time-format.ts";
import type { Output, Plan, Step } from "../template/plan.ts";
import { createByteTable, type ByteTable } from "./byte-table.ts";
import { compileRecord, type RecordTools } from "./compile-record.ts";
import { keepsByName } from "./kept-values.ts";
import { lineBounds, recordCode, type AddressPlace } from "./record-code.ts";
import type { WriteRecord } from "./record-state.ts";
import { createProgramWriters } from "./run-program.ts";
import { stepProgram } from "./step-program.ts";

/** What writes the records of all templates that have the same fields. */
export interface CompiledPlan {
  readonly write: WriteRecord;
  /** A line takes no more room than this, the head apart, and so much more for each byte of its record. */
  readonly maxLength: number;
  readonly maxLengthPerByte: number;
  readonly addresses: readonly AddressPlace[];
}

/** What became of templates so far. */
export interface CompileCounts {
  /** Programs made. */
  programs: number;
  /** Programs dropped, because others were used more lately. */
  dropped: number;
  /** Functions made. */
  compiled: number;
  /** Templates that stay with the interpreter. */
  refused: number;
  /** Functions dropped for others: their templates were not used any more. */
  evicted: number;
  /** Templates that kept their program, because all functions were in use. */
  postponed: number;
}

export interface CompiledPlans {
  /**
   * What writes the records of a plan that are about to be decoded; undefined when the interpreter is to do them: too few
   * were seen yet, or nothing can be made for it.
   *
   * @param bytes of the set that they are in, which tell about how many they are.
   */
  find(plan: Plan, bytes: number): CompiledPlan | undefined;
  /** Programs, and functions. */
  readonly programs: number;
  readonly functions: number;
  readonly counts: Readonly<CompileCounts>;
}

export interface CompiledPlansOptions {
  readonly tools: RecordTools;
  readonly times: TimeFormat;
  readonly communityId: boolean;
  readonly enricher: LineEnricher;
  /** A template gets a program when about so many of its records were seen, so that a flood of templates costs nothing. */
  readonly after: number;
  /**
   * A template gets a function of its own when its program has written about so many records: the engine takes tens of
   * milliseconds to optimise one, which have to pay.
   */
  readonly functionAfter: number;
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
  readonly key: string;
  readonly plan: Plan;
  /** A program's, or a function's; undefined for a template that stays with the interpreter. */
  compiled: CompiledPlan | undefined;
  /** Bytes of the program. */
  readonly size: number;
  /** What the program wrote since it was made or could have got a function. */
  records: number;
  /** Of all records that were looked for. */
  usedAt: number;
  hasFunction: boolean;
  isDropped: boolean;
}

const maxByteTables = 256;
/** A function takes some 100 to 250 KB, most of it machine code. */
const maxFunctions = 128;
/** A function is dropped for another only when so many records of others came since it was used: no two ever take turns. */
const idleRecords = 1_000_000;
const maxPrograms = 8192;
const maxProgramBytes = 16 * 1024 * 1024;

export function createCompiledPlans(options: CompiledPlansOptions): CompiledPlans {
  const { tools, times, communityId, enricher, after, functionAfter, maxFields, log } = options;
  const states = new WeakMap<Plan, PlanState>();
  /** By what the templates say; the one used longest ago first. */
  const entries = new Map<string, Entry>();
  const withFunction = new Set<Entry>();
  const byteTables = new Map<string, ByteTable>();
  const counts: CompileCounts = { programs: 0, dropped: 0, compiled: 0, refused: 0, evicted: 0, postponed: 0 };
  const keeps = keepsByName(enricher);
  const programWriter = createProgramWriters(tools, communityId);
  let isAllowed = true;
  let lastKey: string | undefined;
  let bytesOfPrograms = 0;
  let records = 0;

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

  const drop = (entry: Entry): void => {
    entries.delete(entry.key);
    withFunction.delete(entry);
    bytesOfPrograms -= entry.size;
    entry.isDropped = true;
  };

  const makeEntry = (plan: Plan, key: string): Entry => {
    const isLeft = plan.lengths.length > maxFields || plan.slowSteps.length > 0;
    const program = isLeft ? undefined : stepProgram(plan, { enricher, keeps, byteTable });
    let compiled: CompiledPlan | undefined;
    let size = key.length;
    if (program === undefined) counts.refused++;
    else {
      compiled = { write: programWriter({ plan, program }), ...lineBounds(plan, program.tables, enricher) };
      size += program.operations.byteLength + program.names.byteLength;
      counts.programs++;
    }
    bytesOfPrograms += size;
    const entry = { plan, key, compiled, size, records: 0, usedAt: records, hasFunction: false, isDropped: false };
    entries.set(key, entry);
    for (const oldest of entries.values()) {
      if (oldest === entry || (entries.size <= maxPrograms && bytesOfPrograms <= maxProgramBytes)) break;
      drop(oldest);
      counts.dropped++;
    }
    return entry;
  };

  /** Makes room for one more function. Returns whether there is any. */
  const makeRoom = (): boolean => {
    if (withFunction.size < maxFunctions) return true;
    let idle: Entry | undefined;
    for (const entry of withFunction) if (idle === undefined || entry.usedAt < idle.usedAt) idle = entry;
    if (idle === undefined || records - idle.usedAt < idleRecords) return false;
    drop(idle);
    counts.evicted++;
    return true;
  };

  const makeFunction = (entry: Entry): void => {
    entry.records = 0;
    if (!makeRoom()) {
      counts.postponed++;
      return;
    }
    const code = recordCode(entry.plan, { communityId, enricher, byteTable });
    if (code === undefined) return;
    try {
      const { maxLength, maxLengthPerByte, addresses } = code;
      entry.compiled = { write: compileRecord(entry.plan, code, tools), maxLength, maxLengthPerByte, addresses };
      entry.hasFunction = true;
      withFunction.add(entry);
      counts.compiled++;
    } catch (error) {
      if (!(error instanceof EvalError)) throw error;
      isAllowed = false;
      log.warn({ error }, "code may not be made from text here: templates are decoded by programs, which is slower");
    }
  };

  return {
    find(plan, bytes) {
      let state = states.get(plan);
      if (state === undefined) {
        state = { records: 0, key: undefined, entry: undefined };
        states.set(plan, state);
      }
      if (state.entry?.isDropped === true) {
        state.entry = undefined;
        state.records = 0;
      }
      const count = bytes / plan.minLength;
      records += count;
      if (state.entry === undefined) {
        state.records += count;
        if (state.records <= after) return undefined;
        state.key ??= contentKey(plan);
        state.entry = entries.get(state.key) ?? makeEntry(plan, state.key);
      }
      const { entry } = state;
      const key = state.key as string;
      entry.usedAt = records;
      if (key !== lastKey) {
        // The order of insertion is the order of use.
        entries.delete(key);
        entries.set(key, entry);
        lastKey = key;
      }
      if (!entry.hasFunction && entry.compiled !== undefined && isAllowed) {
        entry.records += count;
        if (entry.records > functionAfter) makeFunction(entry);
      }
      return entry.compiled;
    },
    get programs() {
      return entries.size;
    },
    get functions() {
      return withFunction.size;
    },
    counts,
  };
}

function contentKey({ template: { dialect, fields } }: Plan): string {
  return `${dialect} ${fields.map(({ pen, id, length }) => `${pen}.${id}.${length}`).join(" ")}`;
}

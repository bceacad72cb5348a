import type { RecordTools } from "./compile-record.ts";
import { panaL7Pen } from "../mapping/convert-field.ts";
import type { Plan } from "../template/plan.ts";
import { variableLength } from "../template/template.ts";
import type { ByteTable } from "./byte-table.ts";
import { nothingKept } from "./kept-values.ts";
import type { WriteRecord } from "./record-state.ts";
import {
  firstControl,
  nameChunk,
  operationWords,
  type Control,
  type operations as is,
  type Operation,
  type StepProgram,
} from "./step-program.ts";
import { digits } from "./text-tables.ts";
import { createRestWriter } from "./write-rest.ts";
import {
  copyText,
  writeHex,
  writeIpv4,
  writeIpv6,
  writeMac,
  writePlainText,
  writeUint32,
  writeUint64,
} from "./write-values.ts";

/** A plan and its program. */
export interface ProgramOfPlan {
  readonly plan: Plan;
  readonly program: StepProgram;
}

const quote = 0x22;
const colon = 0x3a;

/** Makes what writes the records of a plan by its program: the lines are those of its compiled code, byte for byte. */
export function createProgramWriters(tools: RecordTools, communityId: boolean): (of: ProgramOfPlan) => WriteRecord {
  const { enricher, places, times } = tools;
  const { offsets, lengths } = places;
  const blank = nothingKept(enricher);
  const keep = Float64Array.from(blank);
  const writeRest = createRestWriter(tools, communityId, keep);

  const run = (
    { plan, program }: ProgramOfPlan,
    out: DataView,
    start: number,
    input: DataView,
    from: number,
    exportTime: number,
    uptime: number,
  ): number => {
    const { operations, names, tables } = program;
    const isByField = plan.hasVariableLength;
    let p = start;
    let v = 0;
    let a = 0;
    let n = 0;
    let winner = -1;
    for (let i = 0; i < operations.length; i += operationWords) {
      const operation = operations[i] as Operation;
      const place = operations[i + 1] as number;
      const argument = operations[i + 5] as number;
      // Numbers, because the engine makes a table of jumps of nothing else; that none is missing is seen by the types.
      if (operation >= firstControl) {
        switch (operation as Control) {
          case 14 satisfies typeof is.keepNumber:
            keep[place] = v;
            break;
          case 15 satisfies typeof is.keepCodePoint:
            keep[place] = v >>> 2;
            break;
          case 16 satisfies typeof is.keepAddress:
            keep[place] = a;
            keep[place + 1] = n;
            break;
          case 17 satisfies typeof is.keepPresence:
            keep[place] = 1;
            break;
          case 18 satisfies typeof is.contest:
            winner = -1;
            break;
          case 19 satisfies typeof is.claim: {
            const claimed = isByField ? (offsets[place] as number) : from + place;
            if (winner < 0 && isSet(input, claimed, operations[i + 2] as number)) winner = argument;
            break;
          }
          case 20 satisfies typeof is.decide:
            winner = Math.max(winner, 0);
            break;
          case 21 satisfies typeof is.unlessWinner:
            if (winner !== argument) i = place - operationWords;
            break;
          case 22 satisfies typeof is.goTo:
            i = place - operationWords;
            break;
        }
        continue;
      }
      const at = isByField ? (offsets[place] as number) : from + place;
      const name = p;
      p = copyName(out, p, names, operations[i + 3] as number, operations[i + 4] as number);
      const length = operations[i + 2] as number;
      const keptAt = operations[i + 6] as number;
      switch (operation as Exclude<Operation, Control>) {
        case 0 satisfies typeof is.byte: {
          v = input.getUint8(at + argument);
          keep[keptAt] = v;
          const text = digits[v] as number;
          out.setUint32(p, text, true);
          p += 4 - (Math.clz32(text) >>> 3);
          break;
        }
        case 1 satisfies typeof is.word:
          v = upTo4(input, at, length);
          keep[keptAt] = v;
          p = writeUint32(out, p, v);
          break;
        case 3 satisfies typeof is.ipv4:
          a = at;
          n = 4;
          keep[keptAt] = a;
          keep[keptAt + 1] = n;
          p = writeIpv4(out, p, input.getUint32(at));
          out.setUint8(p++, quote);
          break;
        case 13 satisfies typeof is.table: {
          v = input.getUint8(at);
          keep[keptAt] = v;
          const { texts, starts } = tables[argument] as ByteTable;
          const first = starts[v] as number;
          p = copyText(out, p, texts, first, (starts[v + 1] as number) - first);
          break;
        }
        case 11 satisfies typeof is.uptime: {
          const time = exportTime - ((uptime - upTo4(input, at, length)) | 0);
          p = orInterpret(Number.isNaN(uptime) ? -1 : times.milliseconds(out, p, time), argument, name, from, plan);
          break;
        }
        case 10 satisfies typeof is.milliseconds:
          p = orInterpret(times.milliseconds(out, p, upTo8(input, at, length)), argument, name, from, plan);
          break;
        case 9 satisfies typeof is.seconds:
          p = orInterpret(times.seconds(out, p, upTo8(input, at, length)), argument, name, from, plan);
          break;
        case 2 satisfies typeof is.long: {
          const high = upTo4(input, at, length - 4);
          const low = input.getUint32(at + length - 4);
          v = high * 0x1_0000_0000 + low;
          keep[keptAt] = v;
          p = writeUint64(out, p, high, low);
          break;
        }
        case 4 satisfies typeof is.ipv6:
          a = at;
          n = 16;
          keep[keptAt] = a;
          keep[keptAt + 1] = n;
          p = writeIpv6(out, p, input, at);
          out.setUint8(p++, quote);
          break;
        case 5 satisfies typeof is.mac:
          a = at;
          n = length;
          p = writeMac(out, p, input, at);
          out.setUint8(p++, quote);
          break;
        case 6 satisfies typeof is.hex:
          a = at;
          n = length;
          p = writeHex(out, p, input, at, length);
          out.setUint8(p++, quote);
          break;
        case 8 satisfies typeof is.text: {
          const bytes = length === variableLength ? (lengths[place] as number) : length;
          p = orInterpret(writePlainText(out, p, input, at, bytes), argument, name, from, plan);
          break;
        }
        case 7 satisfies typeof is.applicationId:
          p = writeApplicationId(out, p, input, at, length);
          out.setUint8(p++, quote);
          break;
        case 12 satisfies typeof is.interpret:
          p = tools.interpret(plan, argument, p, from);
      }
    }
    return p;
  };

  const orInterpret = (end: number, step: number, name: number, from: number, plan: Plan): number =>
    end < 0 ? tools.interpret(plan, step, name, from) : end;

  return (of) => {
    const { plan } = of;
    const hasBootTime = (plan.lengths[plan.bootTimeField] ?? 0) !== 0;
    const derived = { rateOf: tools.derived.rate(plan), writeNames: tools.derived.names(plan) };
    return (out, at, input, from, state) => {
      for (let i = 0; i < blank.length; i++) keep[i] = blank[i] as number;
      let { uptime } = state;
      if (hasBootTime && !state.isHeaderUptime) {
        const bootTime = tools.bootTime(plan, from);
        if (!Number.isNaN(bootTime)) uptime = state.exportTime - bootTime;
      }
      const start = copyText(out, at, state.head, 0, state.headLength);
      const end = run(of, out, start, input, from, state.exportTime, uptime);
      return writeRest(out, end, input, from, state, derived);
    };
  };
}

/** As {@link copyText}; up to {@link nameChunk} bytes behind may be overwritten. */
function copyName(out: DataView, at: number, names: DataView, start: number, length: number): number {
  out.setFloat64(at, names.getFloat64(start, true), true);
  out.setFloat64(at + 8, names.getFloat64(start + 8, true), true);
  out.setFloat64(at + 16, names.getFloat64(start + 16, true), true);
  for (let i = nameChunk; i < length; i += 8) out.setFloat64(at + i, names.getFloat64(start + i, true), true);
  return at + length;
}

/** @param length 1 to 4. */
function upTo4(input: DataView, at: number, length: number): number {
  if (length === 4) return input.getUint32(at);
  if (length === 2) return input.getUint16(at);
  return length === 1 ? input.getUint8(at) : input.getUint16(at) * 256 + input.getUint8(at + 2);
}

/** @param length 1 to 8; exact up to 2^53. */
function upTo8(input: DataView, at: number, length: number): number {
  if (length <= 4) return upTo4(input, at, length);
  return upTo4(input, at, length - 4) * 0x1_0000_0000 + input.getUint32(at + length - 4);
}

/** @param length 1 to 8. */
function writeUnsigned(out: DataView, p: number, input: DataView, at: number, length: number): number {
  if (length <= 4) return writeUint32(out, p, upTo4(input, at, length));
  return writeUint64(out, p, upTo4(input, at, length - 4), input.getUint32(at + length - 4));
}

function writeApplicationId(out: DataView, start: number, input: DataView, at: number, length: number): number {
  const engine = input.getUint8(at);
  let p = writeUint32(out, start, engine);
  out.setUint8(p++, colon);
  if (engine !== panaL7Pen || length <= 5) return writeUnsigned(out, p, input, at + 1, length - 1);
  p = writeUint32(out, p, input.getUint32(at + 1));
  out.setUint8(p++, colon);
  return writeUnsigned(out, p, input, at + 5, length - 5);
}

function isSet(input: DataView, at: number, length: number): boolean {
  for (let i = 0; i < length; i++) if (input.getUint8(at + i) !== 0) return true;
  return false;
}

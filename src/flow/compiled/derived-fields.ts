import { renderFields, type RecordFields } from "../../record/index.ts";
import { addNames, type NameTable } from "../options/name-table.ts";
import { flowRate, type RateSources } from "../sampling/flow-rate.ts";
import type { Plan, Step } from "../template/plan.ts";

/** What the options of an exporter say, for records whose fields it depends on. */
export interface ToldByOptions {
  rates: RateSources;
  own: NameTable | undefined;
  whole: NameTable | undefined;
}

/** Puts some steps of the record at `from` into a record that is used again. */
export type ReadSteps = (plan: Plan, steps: readonly Step[], from: number) => RecordFields;

/** What follows from a few fields of a record together with what options told; the interpreter's functions do it. */
export interface DerivedFields {
  readonly told: ToldByOptions;
  /** The sampling rate of the record, -1 when it is not known. */
  rate(plan: Plan): (from: number) => number;
  /** Writes the names of interfaces, VRFs, application and domain. Returns where they end. */
  names(plan: Plan): (at: number, from: number) => number;
}

const rateInputs: ReadonlySet<string> = new Set([
  "flow.ie.samplingInterval",
  "flow.ie.samplerRandomInterval",
  "flow.ie.samplingPacketInterval",
  "flow.ie.samplingPacketSpace",
  "flow.ie.samplingPopulation",
  "flow.ie.samplingSize",
  "flow.ie.samplingProbability",
  "flow.ie.selectorId",
  "flow.ie.samplerId",
  "flow.in.netif.index",
  "flow.out.netif.index",
  "flow.direction.name",
]);

/** What names by options follow from, and these names themselves: one that is there stays. */
export const namesOfOptions: ReadonlySet<string> = new Set([
  ...["flow.in", "flow.out"].flatMap((side) => [
    `${side}.netif.index`,
    `${side}.netif.name`,
    `${side}.netif.descr`,
    `${side}.vrf.id`,
    `${side}.vrf.name`,
    `${side}.vrf.rd`,
  ]),
  "app.id",
  "app.name",
  "flow.export.domain.name",
]);

/** Of one name table: the rendered names by the values that they follow from. */
interface NameCache {
  readonly version: number;
  readonly whole: NameTable | undefined;
  readonly wholeVersion: number | undefined;
  readonly rendered: Map<string, Uint8Array>;
}

const maxRendered = 4096;
/** Of all tables together. */
const maxRenderedInAll = 65_536;
/** No names of one record are longer: six of 255 characters of up to six bytes, and their own names. */
export const maxNamesLength = 12_288;

/** @param memory where names are written. */
export function createDerivedFields(memory: Uint8Array, readSteps: ReadSteps): DerivedFields {
  const told: ToldByOptions = {
    rates: { manualRate: undefined, own: undefined, whole: undefined },
    own: undefined,
    whole: undefined,
  };
  let caches = new WeakMap<NameTable, NameCache>();
  /** In all caches, those of tables that are gone too. */
  let remembered = 0;

  const cacheOf = (own: NameTable, whole: NameTable | undefined): NameCache => {
    const known = caches.get(own);
    if (known?.version === own.version && known.whole === whole && known.wholeVersion === whole?.version) return known;
    const made = { version: own.version, whole, wholeVersion: whole?.version, rendered: new Map<string, Uint8Array>() };
    caches.set(own, made);
    return made;
  };

  return {
    told,
    rate(plan) {
      const steps = stepsFor(plan, rateInputs);
      return (from) => flowRate(readSteps(plan, steps, from), plan.namesSampling, told.rates) ?? -1;
    },
    names(plan) {
      const steps = stepsFor(plan, namesOfOptions);
      return (at, from) => {
        const { own, whole } = told;
        if (own === undefined) return at;
        const record = readSteps(plan, steps, from);
        const { rendered } = cacheOf(own, whole);
        let key = "";
        for (const [name, value] of record) key += `${name}\0${typeof value}${String(value)}\0`;
        let bytes = rendered.get(key);
        if (bytes === undefined) {
          const count = record.size;
          addNames(record, own, whole);
          bytes = renderFields([...record].slice(count));
          if (rendered.size >= maxRendered) rendered.clear();
          rendered.set(key, bytes);
          if (++remembered > maxRenderedInAll) {
            caches = new WeakMap();
            remembered = 0;
          }
        }
        memory.set(bytes, at);
        return at + bytes.length;
      };
    },
  };
}

/** The steps that may give one of the names. */
function stepsFor({ steps }: Plan, names: ReadonlySet<string>): Step[] {
  return steps.filter(({ outputs }) =>
    outputs.some(
      ({ name, fallback }) =>
        names.has(name) || (fallback !== undefined && (names.has(fallback.name) || names.has(fallback.hexName))),
    ),
  );
}

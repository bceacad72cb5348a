import { addIcmp, completeFlow } from "../../../src/flow/line/complete-flow.ts";
import type { CounterNames } from "../../../src/flow/elements/mapping/counter-names.ts";
import { bootTimeOf, rateSources, recordSampling, type FlowReader } from "../../../src/flow/wire/records/decoder.ts";
import { addNames, type Applications } from "../../../src/flow/exporters/options.ts";
import { flowRate } from "../../../src/flow/exporters/sampling.ts";
import type { RecordReader } from "../../../src/flow/wire/records/record-reader.ts";
import type { RecordFields } from "../../../src/record/index.ts";
import { splitBiflow } from "./split-biflow.ts";

/**
 * The slow and obvious way from a record's bytes to a flow, which the kernel is compared with: every field becomes one of a Map, step
 * by step, and the Map is completed by names.
 */
export function createModelReader(
  reader: RecordReader,
  counters: CounterNames,
  applications?: () => Applications | undefined,
): FlowReader {
  return {
    read(plan, range, context, sources, output) {
      const { own, whole } = sources;
      const rates = rateSources(sources);
      const head = new Set(context.head.map(([name]) => name));
      const complete = (record: RecordFields, isReverse: boolean): void => {
        addIcmp(record, sources.icmp);
        completeFlow(record, flowRate(record, recordSampling(plan), rates), counters);
        if (own !== undefined) addNames(record, own.names, whole?.names, applications?.());
        output.flow(record, { hasInitiator: plan.hasInitiator, isReverse });
      };
      const isSplit = plan.slowSteps.some(({ kind }) => kind === "split");
      const take = (record: RecordFields): void => {
        const reverse = isSplit ? splitBiflow(record, head) : undefined;
        complete(record, false);
        if (reverse !== undefined) complete(reverse, true);
      };
      return reader.read(plan, range, { ...context, bootTime: bootTimeOf(sources) }, take, sources.lists);
    },
  };
}

import type { RecordFields } from "../../../record/index.ts";
import { sourceKey } from "../../exporters/sequence/sample-sources.ts";
import type { RecordHead } from "../decoder/record-head.ts";
import { counterLayouts } from "./counter-layouts.ts";
import { counterTables, readTable } from "./counter-tables.ts";
import { checkRecords, sampleProblem, type SampleContext } from "./sample-context.ts";
import { createSampleRecords, locateRecords } from "./sample-records.ts";
import { hexOf } from "../steps/step-list.ts";
import { createStructureHex } from "./structure-hex.ts";
import { createXdrReader, readLayout, type LayoutResult } from "./xdr-reader.ts";

/** Reads samples that are no flows; each is a record of its own, which leaves at once. */
export interface CounterSampleReader {
  /** One record with all counters of a sample. @param isExpanded whether the data source has two words. */
  readCounters(context: SampleContext, head: RecordHead, at: number, end: number, isExpanded: boolean): void;
  /** A sample of a format that is not known, in hex. */
  readOther(context: SampleContext, head: RecordHead, key: number, at: number, end: number): void;
}

const sourceKind = 1;

export function createCounterSampleReader(): CounterSampleReader {
  const reader = createXdrReader();
  const records = createSampleRecords();
  const hex = createStructureHex();

  /** Undefined for a format that is not known. */
  const readStructure = (key: number, record: RecordFields): LayoutResult | undefined => {
    const table = counterTables.get(key);
    if (table !== undefined) return readTable(reader, table, record);
    const layout = counterLayouts.get(key);
    return layout && readLayout(reader, layout, record);
  };

  return {
    readCounters(context, head, at, end, isExpanded) {
      const { source, domain, output } = context;
      const { view } = source;
      const fixed = isExpanded ? 16 : 12;
      if (end - at < fixed) {
        sampleProblem(context, "cut_sample", { bytes: end - at });
        return;
      }
      const record: RecordFields = new Map(head);
      const sequence = view.getUint32(at);
      const first = view.getUint32(at + 4);
      const sourceType = isExpanded ? first : first >>> 24;
      const sourceIndex = isExpanded ? view.getUint32(at + 8) : first & 0xff_ffff;
      record.set("flow.record.type", "counters");
      record.set("flow.sample.sequence", sequence);
      record.set("flow.sample.source.type.id", sourceType);
      record.set("flow.sample.source.index", sourceIndex);
      output.sample(domain.samples.account(sourceKey(sourceKind, sourceType, sourceIndex), sequence, undefined, 0));
      locateRecords(view, at + fixed - 4, end, records);
      let isCut = false;
      for (let i = 0; i < records.found; i++) {
        const key = records.keys[i] as number;
        const from = records.starts[i] as number;
        const to = records.ends[i] as number;
        reader.reset(source, from, to);
        const result = readStructure(key, record);
        if (result?.isWhole !== true) hex.add("counters", key, from, to);
        if (result?.isCut === true) isCut = true;
      }
      hex.take((name, spans) => record.set(name, hexOf(spans, source)));
      checkRecords(context, records, isCut);
      output.counters(record);
    },
    readOther({ source, output }, head, key, at, end) {
      const record: RecordFields = new Map(head);
      record.set("flow.record.type", "sample");
      hex.add("sample", key, at, end);
      hex.take((name, spans) => record.set(name, hexOf(spans, source)));
      output.counters(record);
    },
  };
}

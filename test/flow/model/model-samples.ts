import type { CounterNames } from "../../../src/flow/elements/mapping/counter-names.ts";
import type { DecodeOutput, RecordHead } from "../../../src/flow/wire/records/decoder.ts";
import type { SampleLines, SampleLister } from "../../../src/flow/wire/sflow/sample-records.ts";
import { createStepBook } from "../../../src/flow/wire/steps/step-book.ts";
import { createStepList, type ByteSource } from "../../../src/flow/wire/steps/steps.ts";
import type { RecordFields } from "../../../src/record/index.ts";
import { addIcmp, completeFlow } from "./complete-flow.ts";
import type { TakeFlow } from "./model-reader.ts";

/** Makes a record of each sample, by the steps that its reader lists, and completes it by names. */
export function createModelSamples(counters: CounterNames, take: TakeFlow): SampleLines {
  const book = createStepBook(undefined);
  const steps = createStepList(book, undefined);
  let source: ByteSource = { bytes: Buffer.alloc(0), view: new DataView(new ArrayBuffer(0)) };
  let head: RecordHead = [];
  let output: DecodeOutput | undefined;
  const waiting: (() => void)[] = [];
  const flush = (): void => {
    for (const pass of waiting.splice(0)) pass();
  };
  const pass = (form: number, at: number, end: number, rate: number | undefined, lister: SampleLister): void => {
    steps.clear();
    lister.list(form, at, end);
    const record: RecordFields = new Map(head);
    steps.putInto(record, 0, steps.end, source);
    addIcmp(record);
    completeFlow(record, rate, counters);
    if (output !== undefined) take(record, output);
  };
  return {
    book,
    steps,
    counters,
    base: 0,
    useListed() {},
    begin(datagram, fields, _exporter, to) {
      flush();
      const bytes = Buffer.from(datagram);
      source = { bytes, view: new DataView(bytes.buffer, bytes.byteOffset, bytes.length) };
      head = fields;
      output = to;
      return source;
    },
    add: (form, at, end, rate, lister) => void waiting.push(() => pass(form, at, end, rate, lister)),
    setAddresses() {},
    flush,
  };
}

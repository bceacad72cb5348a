import type { RecordFields } from "../../../record/index.ts";
import type { ByteRange, FlowReader } from "../decoder/flow-reader.ts";
import type { TimeFormat } from "../../elements/mapping/time-format.ts";
import type { Datagram, DecodeOutput, Detail } from "../decoder/decoder.ts";
import type { Domain } from "../../exporters/domain.ts";
import type { Exporter, TemplateRecord } from "../../exporters/exporter.ts";
import type { SequenceUnits } from "../../exporters/sequence/sequence.ts";
import type { ListSource } from "../structured/read-list.ts";
import type { PlanTemplate } from "../../exporters/templates/build-plan.ts";
import type { RecordContext } from "../../exporters/templates/record-context.ts";
import type { Plan } from "../../exporters/templates/plan.ts";
import type { RecordReader } from "./record-reader.ts";

/** What decoders of templates are made of. */
export interface TemplateDecoderParts {
  readonly times: TimeFormat;
  /** Reads records of options data. */
  readonly reader: RecordReader;
  /** Reads flow records. */
  readonly flows: FlowReader;
  readonly settings: TemplateSettings;
}

/** A message that is being decoded, and what its sets need of it. */
export interface Message {
  readonly datagram: Datagram;
  readonly exporter: Exporter;
  readonly domain: Domain;
  readonly context: RecordContext;
  readonly output: DecodeOutput;
  readonly reader: RecordReader;
  readonly flows: FlowReader;
  readonly settings: TemplateSettings;
}

/** What the operator decides of templates. */
export interface TemplateSettings {
  /** A template with more fields is refused. */
  readonly maxFields: number;
  readonly planTemplate: PlanTemplate;
}

/** Takes templates as they came and decodes the data sets that waited for them. */
export function defineTemplates(message: Message, records: readonly TemplateRecord[]): void {
  const { exporter, domain, output, datagram, settings } = message;
  const { maxFields, planTemplate } = settings;
  for (const record of records) {
    const { id, fields } = record.template;
    if (fields.length > maxFields) {
      output.problem("template_limit", detailOf(message, { template: id, fields: fields.length, limit: maxFields }));
      continue;
    }
    const change = exporter.define(domain, record, planTemplate, datagram.receivedAt);
    if (change === "refused") {
      output.problem("bad_template", detailOf(message, { template: id, why: "its records have no bytes" }));
      continue;
    }
    output.template(change);
    replay(message, id);
  }
}

/**
 * Decodes a data set; one whose template is not known waits for it.
 *
 * @returns the records that it holds; undefined when that is not known.
 */
export function decodeDataSet(message: Message, templateId: number, range: ByteRange): SequenceUnits | undefined {
  const { exporter, domain, output, context, datagram } = message;
  const known = exporter.template(domain, templateId);
  if (known !== undefined) return decodeRecords(message, known.plan, range, context);

  const bytes = copyOf(range);
  const dropped = domain.waiting.add({ templateId, bytes, context, receivedAt: datagram.receivedAt });
  const detail = detailOf(message, { template: templateId });
  for (let i = 0; i < dropped; i++) output.problem("no_template", detail);
  output.waiting(detail);
  return undefined;
}

/** The exporter and domain of a message, for a log line. */
export function detailOf({ exporter, domain }: Message, more: Detail): Detail {
  return { exporter: exporter.address, domain: domain.id, ...more };
}

function replay(message: Message, templateId: number): void {
  const known = message.domain.templates.get(templateId);
  if (known === undefined) return;
  const sets = message.domain.waiting.take(templateId);
  for (const { bytes, context } of sets) {
    decodeRecords(message, known.plan, { bytes, start: 0, end: bytes.length }, context);
  }
  if (sets.length > 0) message.output.replayed(sets.length);
}

function decodeRecords(
  message: Message,
  plan: Plan,
  range: ByteRange,
  context: RecordContext,
): SequenceUnits | undefined {
  const { template } = plan;
  const isOptions = template.scopeCount !== undefined;
  const { count, isCut } = (isOptions ? readOptions : readFlows)(message, plan, range, context);
  if (!isCut) return { counted: count, flows: isOptions ? 0 : count };
  message.output.problem("cut_record", detailOf(message, { template: template.id, after: count }));
  return undefined;
}

function readFlows(message: Message, plan: Plan, range: ByteRange, context: RecordContext) {
  const { exporter, domain, output, flows } = message;
  const { manualRate, fallbackRate } = exporter;
  const lists = listsOf(message, plan);
  const sources = { manualRate, fallbackRate, own: domain.options, whole: exporter.wholeExporter(domain), lists };
  return flows.read(plan, range, context, sources, output);
}

function readOptions(message: Message, plan: Plan, range: ByteRange, context: RecordContext) {
  const { exporter, domain, output, reader } = message;
  const head = [...context.head, ["flow.record.type", "options"] as const];
  const take = (record: RecordFields): void => {
    exporter.learnOptions(domain, record);
    output.options(record);
  };
  return reader.read(plan, range, { ...context, head }, take, listsOf(message, plan));
}

/** What lists in records of a plan need; undefined where it has none. */
function listsOf(message: Message, { template, slowSteps }: Plan): ListSource | undefined {
  if (slowSteps.length === 0) return undefined;
  const { exporter, domain, output } = message;
  return {
    plan: (id) => exporter.template(domain, id)?.plan,
    problem: (reason, detail) => output.problem(reason, detailOf(message, { record: template.id, ...detail })),
  };
}

/** Bytes that are kept, with memory of their own: a slice would keep much more alive. */
function copyOf({ bytes, start, end }: ByteRange): Buffer {
  const copy = Buffer.allocUnsafeSlow(end - start);
  bytes.copy(copy, 0, start, end);
  return copy;
}

import type { RecordFields } from "../../../record/index.ts";
import type { ByteRange, FlowReader, FlowSources, ReadResult } from "./decoder.ts";
import type { TimeFormat } from "../../elements/mapping/convert-type.ts";
import type { Datagram, DecodeOutput, Detail, DropReason } from "./decoder.ts";
import { namesSamplers, type Domain, type KnownTemplate } from "../../exporters/domain.ts";
import type { Exporter } from "../../exporters/exporter.ts";
import type { TemplateRecord } from "../../exporters/known-templates.ts";
import { isSessionPort } from "../../datagram.ts";
import type { OpenQuestions } from "../../exporters/waiting-sets.ts";
import type { Protocol } from "../../datagram.ts";
import type { SequenceUnits } from "../../exporters/sequence.ts";
import type { ListSource } from "./structured-data.ts";
import type { PlanTemplate } from "../../exporters/build-plan.ts";
import type { RecordContext } from "../../exporters/plan.ts";
import type { Plan } from "../../exporters/plan.ts";
import type { WaitingSet } from "../../exporters/waiting-sets.ts";
import { firewallRuns } from "./firewall.ts";
import { isForeignRest, zeroRecords, type SetRange } from "./decoder.ts";
import { canonicalAddress, exporterRuns } from "./record-reader.ts";
import type { RecordReader } from "./record-reader.ts";

/** The parts that decoders of templates are made of. */
export interface TemplateDecoderParts {
  readonly times: TimeFormat;
  /** Reads records of options data. */
  readonly reader: RecordReader;
  /** Reads flow records. */
  readonly flows: FlowReader;
  readonly settings: TemplateSettings;
  /** Asks other collectors about exporters; left out: there are none. */
  readonly questions?: OpenQuestions | undefined;
}

/** A message that is being decoded, and what its sets need of it. */
export interface Message extends Omit<TemplateDecoderParts, "times"> {
  readonly datagram: Datagram;
  readonly exporter: Exporter;
  readonly domain: Domain;
  readonly context: RecordContext;
  readonly output: DecodeOutput;
  /** The templates that came with it so far; undefined while none. */
  defined?: Set<number> | undefined;
  /** Returns how many records more it seems to have than its header counts (NetFlow v9). */
  readonly excess?: () => number;
}

/** The operator's decisions about templates. */
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
      refuseTemplate(message, "template_limit", id, { template: id, fields: fields.length, limit: maxFields });
      continue;
    }
    const change = exporter.define(domain, record, planTemplate, datagram.receivedAt);
    if (change === "refused") {
      refuseTemplate(message, "bad_template", id, { template: id, why: "its records have no bytes" });
      continue;
    }
    output.template(change);
    (message.defined ??= new Set()).add(id);
    if (!isHolding(message)) replay(message, id);
  }
}

/** Says that a template cannot be used. Nor can the one that it replaces: its data sets wait for one that can. */
export function refuseTemplate(message: Message, reason: DropReason, id: number | undefined, detail: Detail): void {
  const { exporter, domain, output } = message;
  output.problem(reason, detailOf(message, detail));
  if (id !== undefined && exporter.refuse(domain, id)) output.template("withdrawn");
}

/**
 * Decodes a data set; one whose template is not known waits for it. One of an exporter that other collectors are being asked about is held
 * until they have answered, as long as there is room.
 *
 * @returns the records that it holds; undefined when that is not known.
 */
export function decodeDataSet(
  message: Message,
  { id: templateId, start, end, isCut }: SetRange,
): SequenceUnits | undefined {
  const { exporter, domain, output, context, datagram } = message;
  const { bytes, receivedAt } = datagram;
  const range = { bytes, start, end };
  if (!isSessionPort(domain.port ?? 0)) message.questions?.data(exporter, receivedAt);
  const known = templateOf(message, templateId, receivedAt);
  const isSure = isCut || message.defined?.has(templateId) === true;
  const doubted = known !== undefined && !isSure && isOfOther(message, known, range) ? known.plan : undefined;
  if (known !== undefined && doubted === undefined && !mayHold(message, range)) {
    return decodeRecords(message, known.plan, range, context, message.excess);
  }
  const isHeld = known !== undefined && doubted === undefined;
  const dropped = domain.waiting.add({ templateId, bytes: copyOf(range), context, receivedAt, isHeld, doubted });
  if (isHeld) {
    output.held();
    return undefined;
  }
  if (doubted !== undefined) output.problem("wrong_template", detailOf(message, { template: templateId }));
  if (!isSessionPort(domain.port ?? 0)) message.questions?.need(exporter, receivedAt);
  const detail = detailOf(message, { template: templateId });
  for (let i = 0; i < dropped; i++) output.problem("no_template", detail);
  output.waiting(detail);
  return undefined;
}

/**
 * Tells whether a data set shows that its template is another one by now. By TCP templates come before their data. Where the exporter has
 * sent the same template again although its sets are like that, they are.
 */
function isOfOther({ domain }: Message, { plan, isLoose }: KnownTemplate, { bytes, start, end }: ByteRange): boolean {
  const { minLength, hasVariableLength } = plan;
  if (hasVariableLength || isLoose || isSessionPort(domain.port ?? 0)) return false;
  return isForeignRest(bytes, start, end, minLength);
}

/** The exporter and domain of a message, for a log line. */
export function detailOf({ exporter, domain }: Message, more: Detail): Detail {
  return { exporter: exporter.address, domain: domain.id, ...more };
}

/** Decodes what waits of an exporter and can be decoded, whatever datagram it came with: options first. */
export function replayWaiting(
  parts: TemplateDecoderParts,
  protocol: Protocol,
  exporter: Exporter,
  output: DecodeOutput,
  now: number,
): void {
  const waiting = [...exporter.domains()].filter(
    (domain) => domain.protocol === protocol && domain.waiting.count() > 0,
  );
  const sets = waiting.flatMap((domain) =>
    domain.waiting.templateIds().flatMap((id) => {
      const known = templateOf({ exporter, domain, questions: parts.questions }, id, now);
      return known === undefined ? [] : [{ domain, id, known }];
    }),
  );
  const isOptions = ({ known }: (typeof sets)[number]): boolean => known.plan.template.scopeCount !== undefined;
  for (const { domain, id, known } of [...sets.filter(isOptions), ...sets.filter((set) => !isOptions(set))]) {
    const port = domain.port ?? domain.senders.latest()?.port ?? 0;
    decodeWaiting(domain.waiting.take(id, known.plan), known, ({ bytes, context, receivedAt }) => {
      return { ...parts, datagram: { bytes, port, receivedAt }, exporter, domain, context, output };
    });
  }
}

/** The time that the new template of a port may take from the collector that received it. */
const ownTemplatesMs = 400;

/** The template of a data set. One of another port counts after a while where collectors share exporters. */
function templateOf(
  { exporter, domain, questions }: Pick<Message, "exporter" | "domain" | "questions">,
  id: number,
  now: number,
): KnownTemplate | undefined {
  const known = exporter.template(domain, id);
  if (questions === undefined || domain.templates.has(id)) return known;
  if (domain.ownUntil === 0) domain.ownUntil = now + ownTemplatesMs;
  return now < domain.ownUntil ? undefined : known;
}

/**
 * Decodes what waited for a template that has come. It may have waited by another port of the same device: by the start of the exporter
 * NetFlow v9 distinguishes that from another device. In IPFIX nothing does.
 */
function replay(message: Message, templateId: number): void {
  const { exporter, datagram, domain: own } = message;
  if (!exporter.isWaiting()) return;
  for (const domain of own.protocol === "ipfix" ? [own] : own.group.ports) {
    if (domain.waiting.count() === 0) continue;
    const known = templateOf({ ...message, domain }, templateId, datagram.receivedAt);
    if (known === undefined) continue;
    // Its own port has sent it again although these sets do not fit it: then they are to be read by it.
    const sets = domain.waiting.take(templateId, domain === own ? undefined : known.plan);
    if (domain === own && sets.some(({ doubted }) => doubted === known.plan)) known.isLoose = true;
    decodeWaiting(sets, known, () => ({ ...message, domain }));
  }
}

function decodeWaiting(
  sets: readonly WaitingSet[],
  known: KnownTemplate,
  messageOf: (set: WaitingSet) => Message,
): void {
  for (const set of sets) {
    const { bytes, context, isHeld } = set;
    const message = messageOf(set);
    const range = { bytes, start: 0, end: bytes.length };
    if (isOfOther(message, known, range)) {
      keepDoubted(message, set, known);
      continue;
    }
    decodeRecords(message, known.plan, range, context);
    if (isHeld !== true) message.output.replayed(1);
  }
}

/** Keeps a set that does not fit its template until another one comes. */
function keepDoubted(message: Message, set: WaitingSet, { plan }: KnownTemplate): void {
  const { domain, output } = message;
  const detail = detailOf(message, { template: set.templateId });
  output.problem("wrong_template", detail);
  const dropped = domain.waiting.add({ ...set, isHeld: false, doubted: plan });
  for (let i = 0; i < dropped; i++) output.problem("no_template", detail);
}

/** Tells whether a set whose template is known is held: there is room, and it will be asked about. */
function mayHold(message: Message, { start, end }: ByteRange): boolean {
  if (!isHolding(message) || !message.domain.waiting.hasRoom(end - start)) return false;
  return message.questions?.need(message.exporter, message.datagram.receivedAt) === true;
}

/** By TCP and TLS templates are of the connection, which goes to no other collector. */
function isHolding({ exporter, domain, datagram }: Message): boolean {
  return datagram.receivedAt < exporter.heldUntil && !isSessionPort(domain.port ?? 0);
}

function decodeRecords(
  message: Message,
  plan: Plan,
  whole: ByteRange,
  context: RecordContext,
  excess: Message["excess"] = () => Number.POSITIVE_INFINITY,
): SequenceUnits | undefined {
  const { template, minLength, hasVariableLength } = plan;
  let range = whole;
  if (template.dialect === "netflow9" && plan.hasAddresses && !hasVariableLength) {
    const { bytes, start, end } = whole;
    const zeros = zeroRecords(bytes, start, end, minLength);
    const padding = zeros > 0 ? Math.min(zeros, excess()) : 0;
    if (padding > 0) range = { bytes, start, end: end - ((end - start) % minLength) - padding * minLength };
  }
  const isOptions = template.scopeCount !== undefined;
  const { count, isCut } = (isOptions ? readOptions : readFlows)(message, plan, range, context);
  if (!isCut) return { counted: count, flows: isOptions ? 0 : count };
  message.output.problem("cut_record", detailOf(message, { template: template.id, after: count }));
  return undefined;
}

function readFlows(message: Message, plan: Plan, range: ByteRange, context: RecordContext): ReadResult {
  if (plan.exporterFields.length === 0) return readFlowsOf(message, message.exporter, plan, range, context);
  const { exporter: sender, output } = message;
  let count = 0;
  let isCut = false;
  for (const { start, end, records, exporter } of exporterRuns(plan, range)) {
    const source = namedExporter(message, exporter, records);
    const head = source === sender ? context.head : namedHead(context.head, source, sender);
    output.from(source);
    const read = readFlowsOf(message, source, plan, { bytes: range.bytes, start, end }, { ...context, head });
    count += read.count;
    isCut = read.isCut;
  }
  output.from(sender);
  return { count, isCut };
}

function readFlowsOf(message: Message, exporter: Exporter, plan: Plan, range: ByteRange, context: RecordContext) {
  const { output, flows } = message;
  const domain = domainOf(message, exporter);
  const { manualRate, fallbackRate } = exporter.rates();
  const lists = listsOf(message, plan);
  const { own, whole } = exporter.optionsFor(domain);
  const sources: FlowSources = {
    manualRate,
    fallbackRate,
    own,
    whole,
    // Templates are the sender's, whoever the records name.
    hasSamplers: namesSamplers(message.domain),
    doubt: output.doubt,
    icmp: exporter.icmp,
    lists,
  };
  const { firewall } = plan;
  if (firewall === undefined) return flows.read(plan, range, context, sources, output);
  let count = 0;
  for (const run of firewallRuns(plan, firewall, domain.firewall, range)) {
    count += flows.read(run.plan, run, context, sources, output).count;
  }
  return { count, isCut: false };
}

/** Finds the domain that has the options of an exporter: a relay's say nothing of those that it names. */
function domainOf({ exporter: sender, domain }: Message, exporter: Exporter): Domain {
  return exporter === sender ? domain : exporter.domain(domain.protocol, domain.id, domain.port);
}

/** The exporter of records that name one: the sender itself unless it is a relay. */
function namedExporter({ exporter, datagram, output }: Message, named: string | undefined, records: number): Exporter {
  if (named === undefined || named === exporter.address) return exporter;
  if (exporter.isRelay) return exporter.named(named, datagram.receivedAt);
  output.claimed(records);
  return exporter;
}

/** The head of records that a relay passes on. */
function namedHead(head: RecordContext["head"], { address }: Exporter, relay: Exporter): RecordContext["head"] {
  return head.flatMap((field): RecordContext["head"] =>
    field[0] === "flow.export.ip.addr"
      ? [
          [field[0], address],
          ["flow.export.relay.ip.addr", relay.address],
        ]
      : [field],
  );
}

function readOptions(message: Message, plan: Plan, range: ByteRange, context: RecordContext) {
  const { exporter, output, reader } = message;
  const head = [...context.head, ["flow.record.type", "options"] as const];
  const take = (record: RecordFields): void => {
    const source = plan.exporterFields.length === 0 ? exporter : namedExporter(message, namedIn(record), 1);
    source.learnOptions(domainOf(message, source), record, plan.scope, output.doubt);
    if (source !== exporter) {
      record.set("flow.export.ip.addr", source.address);
      record.set("flow.export.relay.ip.addr", exporter.address);
    }
    output.options(record);
  };
  return reader.read(plan, range, { ...context, head }, take, listsOf(message, plan));
}

/** The exporter that a record of options data names. */
function namedIn(record: RecordFields): string | undefined {
  const ipv4 = record.get("flow.ie.exporterIPv4Address");
  if (typeof ipv4 === "string" && ipv4 !== "0.0.0.0") return ipv4;
  const ipv6 = record.get("flow.ie.exporterIPv6Address");
  return typeof ipv6 === "string" && ipv6 !== "::" ? canonicalAddress(ipv6) : undefined;
}

/** Returns what lists in records of a plan need; undefined where it has none. */
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

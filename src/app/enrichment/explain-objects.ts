import type { ExplainedObject, ExplainObject, ObjectQuestion } from "../../server/index.ts";
import { RuleEnricher, type OwnNames, type WatchAddresses } from "../../enrich/index.ts";
import { readLine, renderFields, type Enricher, type RecordFields, type RenderedFields } from "../../record/index.ts";
import { createMetrics, type Component, type Reporting } from "../../base/report/index.ts";
import { InterfaceDirectory, InterfaceEnricher, type InterfaceChange } from "../../snmp/index.ts";
import { createEnrichment, type Enrichment } from "./enrichment.ts";
import type { PlainSettings } from "../settings/index.ts";

/** Enrichers to ask, in the order in which flows use them; undefined for those that the settings do not want. */
export type ExplainedEnrichers = Partial<Pick<Enrichment, "netifs" | "names" | "apps" | "addresses" | "ownNames">> & {
  readonly interfaces?: Enricher | undefined;
  readonly rules?: RuleEnricher | undefined;
};

type Running = { readonly enrichers: ExplainedEnrichers; stop(): Promise<void> };

/** The field for the locality of a flow, which depends on both its ends. */
const flowLocality = ',"flow.locality":';
/** The number of cached addresses. */
const cached = 1024;

/**
 * Explains how records are enriched for an address, its port and its interface; see the API's ExplainAddress. It uses enrichers like those
 * for flows. They are created at the first question, because most collectors never need them, and databases take memory.
 */
export class ObjectExplainer implements Component {
  readonly name = "explanations";
  readonly #settings: PlainSettings;
  readonly #metadata: { readonly watch: WatchAddresses } | undefined;
  readonly #names: { readonly watch: WatchAddresses } | undefined;
  readonly #watchInterfaces: ((listener: (change: InterfaceChange) => void) => () => void) | undefined;
  readonly #reporting: Reporting;
  #made: Promise<Running> | undefined;
  #isStopped = false;

  /** @param watchInterfaces reports names of the interfaces of exporters; undefined where SNMP names none. */
  constructor(
    settings: PlainSettings,
    metadata: { readonly watch: WatchAddresses } | undefined,
    names: { readonly watch: WatchAddresses } | undefined,
    watchInterfaces: ((listener: (change: InterfaceChange) => void) => () => void) | undefined,
    reporting: Reporting,
  ) {
    this.#settings = settings;
    this.#metadata = metadata;
    this.#names = names;
    this.#watchInterfaces = watchInterfaces;
    this.#reporting = reporting;
  }

  async start(): Promise<void> {}

  async stop(): Promise<void> {
    this.#isStopped = true;
    const running = await this.#made?.catch(() => undefined);
    await running?.stop();
  }

  /** Resolves when it can be asked. */
  async ready(): Promise<ExplainObject> {
    if (this.#isStopped) throw new Error("explanations have been stopped");
    this.#made ??= this.#make();
    const { enrichers } = await this.#made;
    return (question) => explainObject(enrichers, question);
  }

  async #make(): Promise<Running> {
    // A question here is not the collector's work: it has separate metrics, which nobody reads.
    const reporting = { ...this.#reporting, metrics: createMetrics() };
    const small = { ...this.#settings, SVC_PROCESSOR_ENRICH_IPADDR_CACHE_SIZE: cached };
    const enrichment = createEnrichment(small, this.#metadata, reporting, { names: this.#names });
    for (const component of enrichment.components) await component.start();
    const directory = new InterfaceDirectory();
    const unwatch = this.#watchInterfaces?.((change) => directory.change(change));
    const interfaces = this.#watchInterfaces && new InterfaceEnricher(directory, reporting.metrics);
    const named = [enrichment.netifs, interfaces, enrichment.ownNames].filter((source) => source !== undefined);
    const rules = enrichment.rules && new RuleEnricher(enrichment.rules, named, reporting.metrics);
    return {
      enrichers: { ...enrichment, interfaces, rules },
      async stop() {
        unwatch?.();
        for (const component of enrichment.components.toReversed()) await component.stop();
      },
    };
  }
}

/** Explains the fields that enrichers add to a record with only the values of the question. */
export function explainObject(enrichers: ExplainedEnrichers, question: ObjectQuestion): ExplainedObject {
  const { object, address, port, netif, scope } = question;
  const asked: RecordFields = new Map([[`${object}.ip.addr`, address]]);
  if (port !== undefined) asked.set(`${object}.l4.port.id`, port.number).set("l4.proto.id", port.protocol);
  if (netif !== undefined) asked.set(`${netifObjects[object] ?? object}.index`, netif.index);
  const record: RecordFields = new Map(asked);
  const sources = new Map<string, string>();
  const rendered: RenderedFields[] = [];
  if (netif !== undefined) record.set(exporterField, netif.exporter);
  for (const [source, enricher] of [
    ["netif", enrichers.netifs],
    ["snmp", enrichers.interfaces],
    ["ports", enrichers.names],
    ["apps", enrichers.apps],
  ] as const) {
    const before = new Map(record);
    enricher?.enrich(record);
    for (const [field, value] of record) if (before.get(field) !== value) sources.set(field, source);
  }
  // The exporter was needed only for the interface.
  if (netif !== undefined) record.delete(exporterField);
  if (scope === undefined) enrichers.addresses?.enrich(record, rendered);
  else enrichers.addresses?.enrichIn(scope, record, rendered);
  record.delete("flow.locality");
  const own = rendered.filter((bytes) => !Buffer.from(bytes).toString("latin1").startsWith(flowLocality));
  if (enrichers.ownNames !== undefined) addNames(enrichers.ownNames, question, { record, sources }, own);
  if (enrichers.rules !== undefined) applyRules(enrichers, enrichers.rules, question, { record, sources }, own);
  const bytes = Buffer.concat([renderFields([...record]), ...own]);
  return { json: `{${bytes.toString("utf8", 1)}}`, asked: new Set(asked.keys()), sources };
}

/** Adds the names that people gave to the values of the record. */
function addNames(
  names: OwnNames,
  { netif }: ObjectQuestion,
  { record, sources }: { readonly record: RecordFields; readonly sources: Map<string, string> },
  rendered: RenderedFields[],
): void {
  const line = Buffer.concat([Buffer.from("{"), Buffer.concat(rendered).subarray(1)]);
  const own = rendered.length === 0 ? [] : readLine(line, 0, line.length);
  const all: RecordFields = new Map([...record, ...own]);
  if (netif !== undefined) all.set(exporterField, netif.exporter);
  const before = new Map(all);
  names.explain(all, (keys, fields) => {
    for (const field of fields) sources.set(field, `names ${keys}`);
  });
  const given = [...all].filter(([field, value]) => before.get(field) !== value);
  if (given.length === 0) return;
  rendered.length = 0;
  for (const [field, value] of [...own, ...given]) record.set(field, value);
}

/** Applies rules to the record, its interface and that interface's exporter. */
function applyRules(
  { addresses }: ExplainedEnrichers,
  rules: RuleEnricher,
  { netif }: ObjectQuestion,
  { record, sources }: { readonly record: RecordFields; readonly sources: Map<string, string> },
  rendered: RenderedFields[],
): void {
  const exporter: RecordFields = new Map(netif === undefined ? [] : [[exporterField, netif.exporter]]);
  addresses?.enrich(exporter);
  const line = Buffer.concat([Buffer.from("{"), Buffer.concat(rendered).subarray(1)]);
  const own = rendered.length === 0 ? [] : readLine(line, 0, line.length);
  const all: RecordFields = new Map([...exporter, ...record, ...own]);
  const before = new Map(all);
  rules.explain(all, (rule, fields) => {
    for (const field of fields) sources.set(field, `rule ${rule}`);
  });
  const given = [...all].filter(
    ([field, value]) => sources.get(field)?.startsWith("rule ") === true || before.get(field) !== value,
  );
  if (given.length === 0) return;
  rendered.length = 0;
  for (const [field, value] of [...own, ...given]) record.set(field, value);
}

const exporterField = "flow.export.ip.addr";
/** The interface through which an end's packets arrive or leave, by its object in records. */
const netifObjects: Readonly<Record<string, string>> = { "flow.src": "flow.in.netif", "flow.dst": "flow.out.netif" };

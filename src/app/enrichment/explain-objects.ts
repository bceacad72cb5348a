import type { ExplainedObject, ExplainObject, ObjectQuestion } from "../../server/index.ts";
import type { WatchAddresses } from "../../enrich/index.ts";
import { renderFields, type Enricher, type RecordFields, type RenderedFields } from "../../record/index.ts";
import { createMetrics, type Clock, type Component, type Log } from "../../base/report/index.ts";
import { InterfaceDirectory, createInterfaceEnricher, type InterfaceChange } from "../../snmp/index.ts";
import { createEnrichment, type Enrichment } from "./enrichment.ts";
import type { PlainSettings } from "../settings/index.ts";

/** Says what records get of an address, its port and its interface; see the API's ExplainAddress. */
export interface ObjectExplainer extends Component {
  /** Resolves when it can be asked. */
  ready(): Promise<ExplainObject>;
}

/** What there is to ask, each in the order in which flows ask it; undefined for what the settings do not ask for. */
export type ExplainedEnrichers = Partial<Pick<Enrichment, "netifs" | "names" | "apps" | "addresses">> & {
  readonly interfaces?: Enricher | undefined;
};

/** What metadata and SNMP know. */
export interface ExplainerSources {
  readonly metadata: { readonly watch: WatchAddresses } | undefined;
  /** Names of the interfaces of exporters; undefined where SNMP names none. */
  readonly watchInterfaces: ((listener: (change: InterfaceChange) => void) => () => void) | undefined;
}

/** Where a flow is follows from both its ends. */
const flowLocality = ',"flow.locality":';
/** Addresses that are remembered. */
const cached = 1024;

/**
 * Asks enrichers as those that flows are decoded with. They are made with the first question, because most collectors are never asked, and
 * databases take memory.
 */
export function createObjectExplainer(
  settings: PlainSettings,
  { metadata, watchInterfaces }: ExplainerSources,
  { log, clock }: { readonly log: Log; readonly clock: Clock },
): ObjectExplainer {
  let made: Promise<{ readonly enrichers: ExplainedEnrichers; readonly stop: () => Promise<void> }> | undefined;
  let isStopped = false;

  const start = async (): ReturnType<() => NonNullable<typeof made>> => {
    // What is asked for here is not what the collector does: it has metrics of its own, which nobody reads.
    const metrics = createMetrics();
    const small = { ...settings, SVC_PROCESSOR_ENRICH_IPADDR_CACHE_SIZE: cached };
    const enrichment = createEnrichment(small, metadata, { log, clock, metrics }, { forFlows: true });
    for (const component of enrichment.components) await component.start();
    const directory = new InterfaceDirectory();
    const unwatch = watchInterfaces?.((change) => directory.change(change));
    const interfaces = watchInterfaces && createInterfaceEnricher(directory, metrics);
    return {
      enrichers: { ...enrichment, interfaces },
      async stop() {
        unwatch?.();
        for (const component of enrichment.components.toReversed()) await component.stop();
      },
    };
  };

  return {
    name: "explanations",
    async start() {},
    async stop() {
      isStopped = true;
      const running = await made?.catch(() => undefined);
      await running?.stop();
    },
    async ready() {
      if (isStopped) throw new Error("explanations have been stopped");
      made ??= start();
      const { enrichers } = await made;
      return (question) => explainObject(enrichers, question);
    },
  };
}

/** What enrichers add to a record that has what the question names and nothing else. */
export function explainObject(enrichers: ExplainedEnrichers, question: ObjectQuestion): ExplainedObject {
  const { object, address, port, netif } = question;
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
  // Of the exporter nothing else was asked.
  if (netif !== undefined) record.delete(exporterField);
  enrichers.addresses?.enrich(record, rendered);
  record.delete("flow.locality");
  const own = rendered.filter((bytes) => !Buffer.from(bytes).toString("latin1").startsWith(flowLocality));
  const bytes = Buffer.concat([renderFields([...record]), ...own]);
  return { json: `{${bytes.toString("utf8", 1)}}`, asked: new Set(asked.keys()), sources };
}

const exporterField = "flow.export.ip.addr";
/** Where records have the interface through which an end's packets come, or leave. */
const netifObjects: Readonly<Record<string, string>> = { "flow.src": "flow.in.netif", "flow.dst": "flow.out.netif" };

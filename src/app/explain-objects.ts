import { renderFields, type Enricher, type RecordFields, type RenderedFields } from "../record/index.ts";
import { createMetrics, type Clock, type Component, type Log } from "../report/index.ts";
import type { WatchAddresses } from "../enrich/index.ts";
import { createEnrichment, type Enrichment } from "./enrichment.ts";
import type { PlainSettings } from "./settings/index.ts";

/** Says what records get of an address below an object, as a JSON object; see the API's ExplainAddress. */
export interface ObjectExplainer extends Component {
  /** Resolves when it can be asked. */
  ready(): Promise<(object: string, address: string) => string>;
}

/** Where a flow is follows from both its ends. */
const flowLocality = ',"flow.locality":';
/** Addresses that are remembered. */
const cached = 1024;

/**
 * Asks enrichers as those that flows are decoded with. They are made with the first question, for most collectors are never asked, and
 * databases take memory.
 */
export function createObjectExplainer(
  settings: PlainSettings,
  metadata: { readonly watch: WatchAddresses } | undefined,
  { log, clock }: { readonly log: Log; readonly clock: Clock },
): ObjectExplainer {
  let made: Promise<Enrichment> | undefined;
  let isStopped = false;

  const start = async (): Promise<Enrichment> => {
    // What is asked for here is not what the collector does: it has metrics of its own, which nobody reads.
    const metrics = createMetrics();
    const small = { ...settings, SVC_PROCESSOR_ENRICH_IPADDR_CACHE_SIZE: cached };
    const enrichment = createEnrichment(small, metadata, { log, clock, metrics }, { forFlows: true });
    for (const component of enrichment.components) await component.start();
    return enrichment;
  };

  return {
    name: "explanations",
    async start() {},
    async stop() {
      isStopped = true;
      const enrichment = await made?.catch(() => undefined);
      for (const component of enrichment?.components.toReversed() ?? []) await component.stop();
    },
    async ready() {
      if (isStopped) throw new Error("explanations have been stopped");
      made ??= start();
      const { addresses } = await made;
      return (object, address) => explainObject(addresses, object, address);
    },
  };
}

/** What an enricher adds to a record that has an address and nothing else. */
export function explainObject(enricher: Enricher | undefined, object: string, address: string): string {
  const record: RecordFields = new Map([[`${object}.ip.addr`, address]]);
  const rendered: RenderedFields[] = [];
  enricher?.enrich(record, rendered);
  record.delete("flow.locality");
  const own = rendered.filter((bytes) => !Buffer.from(bytes).toString("latin1").startsWith(flowLocality));
  const bytes = Buffer.concat([renderFields([...record]), ...own]);
  return `{${bytes.toString("utf8", 1)}}`;
}

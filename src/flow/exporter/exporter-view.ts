import type { Protocol } from "../protocol.ts";
import type { Domain } from "./domain.ts";
import type { Exporter } from "./exporter.ts";

/** What is known of an exporter, for people: a copy. */
export interface ExporterView {
  readonly address: string;
  /** Milliseconds since the epoch. */
  readonly firstSeen: number;
  readonly lastSeen: number;
  readonly datagrams: number;
  readonly records: number;
  readonly domains: readonly DomainView[];
}

export interface DomainView {
  readonly protocol: Protocol;
  /** Observation domain (IPFIX), Source ID (NetFlow v9), engine type and id (v5). */
  readonly id: number;
  /** Of the sender, where templates are scoped by it. */
  readonly port: number | undefined;
  readonly templates: readonly TemplateView[];
  /** Sequence units that never came: flows (NetFlow v5, v7), datagrams (v9), data records (IPFIX). */
  readonly missing: number;
  readonly late: number;
  readonly resets: number;
  /** Sampling rates by what they apply to. */
  readonly sampling: readonly { readonly scope: string; readonly rate: number }[];
}

export interface TemplateView {
  readonly id: number;
  readonly kind: "flows" | "options";
  readonly fields: number;
  /** Milliseconds since the epoch. */
  readonly definedAt: number;
}

export function viewExporter(exporter: Exporter): ExporterView {
  const { address, firstSeen, lastSeen, datagrams, records } = exporter;
  return { address, firstSeen, lastSeen, datagrams, records, domains: Array.from(exporter.domains(), viewDomain) };
}

function viewDomain({ protocol, id, port, templates, sequence, sampling }: Domain): DomainView {
  const { missing, recovered, late, resets } = sequence;
  return {
    protocol,
    id,
    port,
    templates: Array.from(templates, ([templateId, { plan, definedAt }]) => ({
      id: templateId,
      kind: plan.template.scopeCount === undefined ? "flows" : "options",
      fields: plan.lengths.length,
      definedAt,
    })),
    missing: missing - recovered,
    late,
    resets,
    sampling: sampling.rates(),
  };
}

import type { Enricher, RecordFields } from "../../record/index.ts";
import type { Metrics } from "../../report/index.ts";
import { dscpNames } from "./dscp-names.ts";
import type { PortNames } from "./port-names.ts";

export interface NameEnricherOptions {
  /** The names of ports as they are now; undefined when they are not asked for. */
  readonly ports: (() => PortNames) | undefined;
  /** Whether code points get their names. */
  readonly dscp: boolean;
  readonly metrics: Metrics;
}

/**
 * Adds names of numbers: `flow.src.l4.port.name` and `flow.dst.l4.port.name` by transport protocol and port,
 * `ip.dscp.name` by code point. A name that the record has stays.
 */
export function createNameEnricher({ ports, dscp, metrics }: NameEnricherOptions): Enricher {
  const found = { port: 0, dscp: 0 };
  const missed = { port: 0, dscp: 0 };
  const readings = (counts: typeof found): (readonly [{ kind: string }, number])[] =>
    Object.entries(counts).map(([kind, count]) => [{ kind }, count]);
  metrics.counterFrom("netgloss_enrich_names_total", "Numbers of records that got a name.", ["kind"], () =>
    readings(found),
  );
  metrics.counterFrom("netgloss_enrich_names_unknown_total", "Numbers of records that have no name.", ["kind"], () =>
    readings(missed),
  );

  const add = (
    record: RecordFields,
    names: ReadonlyMap<number, string>,
    kind: keyof typeof found,
    field: string,
    as: string,
  ): void => {
    const number = record.get(field);
    if (typeof number !== "number" || record.has(as)) return;
    const name = names.get(number);
    if (name === undefined) missed[kind]++;
    else {
      found[kind]++;
      record.set(as, name);
    }
  };

  return {
    enrich(record) {
      const protocol = ports === undefined ? undefined : record.get("l4.proto.id");
      const names = typeof protocol === "number" ? ports?.().get(protocol) : undefined;
      if (names !== undefined) {
        add(record, names, "port", "flow.src.l4.port.id", "flow.src.l4.port.name");
        add(record, names, "port", "flow.dst.l4.port.id", "flow.dst.l4.port.name");
      }
      if (dscp) add(record, dscpNames, "dscp", "ip.dscp.id", "ip.dscp.name");
    },
  };
}

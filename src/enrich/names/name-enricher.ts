import {
  renderFields,
  scopeOf,
  type Enricher,
  type NumberAdditions,
  type NumberTable,
  type RecordFields,
  type RenderedFields,
} from "../../record/index.ts";
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
 * `ip.dscp.name` and `flow.in.ip.dscp.name` by code point. A name that the record has stays.
 */
export function createNameEnricher({ ports, dscp, metrics }: NameEnricherOptions): Enricher {
  const found = { port: 0, dscp: 0 };
  const readings = (counts: typeof found): (readonly [{ kind: string }, number])[] =>
    Object.entries(counts).map(([kind, count]) => [{ kind }, count]);
  metrics.counterFrom("netgloss_enrich_names_total", "Numbers of records that got a name.", ["kind"], () =>
    readings(found),
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
    if (name === undefined) return;
    found[kind]++;
    record.set(as, name);
  };

  const numberAdditions = (
    kind: keyof typeof found,
    field: string,
    adds: string,
    table: () => NumberTable,
    scope?: string,
  ): NumberAdditions => ({
    field,
    ...(scope !== undefined && { scope }),
    adds,
    tableFor: table,
    added: (records) => void (found[kind] += records),
  });
  const portAdditions = (names: () => PortNames, end: string): NumberAdditions => {
    const adds = `${end}.l4.port.name`;
    // Names change as a whole.
    const rendered = new WeakMap<PortNames, NumberTable>();
    const table = (): NumberTable => {
      const now = names();
      const known = rendered.get(now) ?? new PortTexts(now, adds);
      rendered.set(now, known);
      return known;
    };
    return numberAdditions("port", `${end}.l4.port.id`, adds, table, "l4.proto.id");
  };
  const dscpTable = new Map(
    Array.from(dscpNames, ([id, name]) => [id, renderFields(dscpFields.map((field) => [field, name]))]),
  );

  return {
    lines: {
      begin() {},
      numbers: [
        ...(ports === undefined ? [] : [portAdditions(ports, "flow.src"), portAdditions(ports, "flow.dst")]),
        ...(dscp ? [numberAdditions("dscp", "ip.dscp.id", dscpField, () => dscpTable)] : []),
      ],
      addresses: [],
    },
    enrich(record) {
      const protocol = ports === undefined ? undefined : record.get("l4.proto.id");
      const names = typeof protocol === "number" ? ports?.().get(protocol) : undefined;
      if (names !== undefined) {
        add(record, names, "port", "flow.src.l4.port.id", "flow.src.l4.port.name");
        add(record, names, "port", "flow.dst.l4.port.id", "flow.dst.l4.port.name");
      }
      if (!dscp || record.has(dscpField)) return;
      add(record, dscpNames, "dscp", "ip.dscp.id", dscpField);
      const name = record.get(dscpField);
      if (name !== undefined) record.set(inDscpField, name);
    },
  };
}

/** What names a code point, of which the first decides whether a record has that already. */
const dscpField = "ip.dscp.name";
const inDscpField = "flow.in.ip.dscp.name";
const dscpFields = [dscpField, inDscpField] as const;

/** The names of ports as they stand in lines, each rendered when it is needed: there are thousands, and few are used. */
class PortTexts implements NumberTable {
  readonly #adds: string;
  /** By protocol and port, 16 bits: the name, then its text. */
  readonly #texts = new Map<number, string | RenderedFields>();
  /** By the protocol a bit for each port that has a name: of ports of clients, which differ in each flow, the large table is not asked. */
  readonly #named: (Uint8Array | undefined)[] = [];

  constructor(names: PortNames, adds: string) {
    this.#adds = adds;
    for (const [protocol, ports] of names) {
      const named = (this.#named[protocol] ??= new Uint8Array(8192));
      for (const [port, name] of ports) {
        this.#texts.set(protocol * 65_536 + port, name);
        named[port >>> 3] = (named[port >>> 3] as number) | (1 << (port & 7));
      }
    }
  }

  /** @param scoped by {@link scopedNumber}. */
  get(scoped: number): RenderedFields | undefined {
    const port = scoped >>> 0;
    const protocol = scopeOf(scoped);
    const named = port > 65_535 ? undefined : this.#named[protocol];
    if (named === undefined || ((named[port >>> 3] as number) & (1 << (port & 7))) === 0) return undefined;
    const key = protocol * 65_536 + port;
    const text = this.#texts.get(key);
    if (typeof text !== "string") return text;
    const rendered = renderFields([[this.#adds, text]]);
    this.#texts.set(key, rendered);
    return rendered;
  }
}

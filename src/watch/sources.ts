import { recordVocabulary } from "../record/index.ts";

/** The kinds of records that rules are about. */
export type Source = "flow" | "snmp" | "trap" | "exporter" | "output";

type Vocabulary = typeof recordVocabulary;

/** Names of the fields in which the collector reports each exporter and output every few seconds. */
export const stateFields = {
  exporter: [
    "flow.export.ip.addr",
    "exporter.name",
    "exporter.datagrams",
    "exporter.records",
    "exporter.received",
    "exporter.missing",
    "exporter.missing_samples",
    "exporter.loss.pct",
    "exporter.clock.offset",
  ],
  output: ["output.name", "output.state", "output.delivered.records", "output.dropped.records", "output.queue.bytes"],
} as const;

/** The names of device fields: those of the table, and any that the operator's definitions use. */
const deviceVocabulary: Vocabulary = {
  find(name) {
    const known = recordVocabulary.find(name);
    if (known !== undefined) return known;
    return /^[A-Za-z]\w*(?:\.\w+)+$/.test(name) ? { fields: [name], type: "any", unit: "" } : undefined;
  },
  slip: () => undefined,
  names: () => recordVocabulary.names(),
};

/** Returns a vocabulary of a few names. `short` is another name of the first. */
function fewNames(fields: readonly string[], short: string): Vocabulary {
  const [first = ""] = fields;
  return {
    find(name) {
      const field = name === short ? first : fields.find((each) => each === name);
      return field === undefined ? undefined : { fields: [field], type: "any", unit: "" };
    },
    slip: () => undefined,
    names: () => [short, ...fields],
  };
}

/** The field names that rules may use, by kind of record. */
export const sources: Readonly<Record<Source, { readonly vocabulary: Vocabulary }>> = {
  flow: { vocabulary: recordVocabulary },
  snmp: { vocabulary: deviceVocabulary },
  trap: { vocabulary: deviceVocabulary },
  exporter: { vocabulary: fewNames(stateFields.exporter, "exporter") },
  output: { vocabulary: fewNames(stateFields.output, "output") },
};

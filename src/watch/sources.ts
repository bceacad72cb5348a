import { recordVocabulary } from "../record/index.ts";

/** The kinds of records that rules are about. */
export type Source = "flow" | "snmp" | "trap" | "exporter" | "output";

type Vocabulary = typeof recordVocabulary;

/** What the collector says of each exporter and output, every few seconds: the names of its fields. */
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

/** The names of fields of devices: those of the table, and whatever the definitions of the operator write. */
const deviceVocabulary: Vocabulary = {
  find(name) {
    const known = recordVocabulary.find(name);
    if (known !== undefined) return known;
    return /^[A-Za-z]\w*(?:\.\w+)+$/.test(name) ? { fields: [name], type: "any", unit: "" } : undefined;
  },
  slip: () => undefined,
  names: () => recordVocabulary.names(),
};

/** A vocabulary of a few names; `short` is a further one of the first. */
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

/** What rules may say of the records of each kind. */
export const sources: Readonly<Record<Source, { readonly vocabulary: Vocabulary }>> = {
  flow: { vocabulary: recordVocabulary },
  snmp: { vocabulary: deviceVocabulary },
  trap: { vocabulary: deviceVocabulary },
  exporter: { vocabulary: fewNames(stateFields.exporter, "exporter") },
  output: { vocabulary: fewNames(stateFields.output, "output") },
};

import type { KnownField, Vocabulary } from "./vocabulary.ts";

const fields = new Map<string, KnownField>([
  ["key", { fields: ["key"], type: "address", unit: "" }],
  ["name", { fields: ["name"], type: "text", unit: "" }],
  ["tag", { fields: ["tags"], type: "text", unit: "" }],
  ["tags", { fields: ["tags"], type: "text", unit: "" }],
  ["vlan", { fields: ["vlan"], type: "number", unit: "" }],
  ["context", { fields: ["contexts"], type: "text", unit: "" }],
  ["contexts", { fields: ["contexts"], type: "text", unit: "" }],
  ["layer", { fields: ["layer"], type: "text", unit: "" }],
  ["internal", { fields: ["internal"], type: "boolean", unit: "" }],
]);

const metadata = "metadata.";

/** Names of the fields of metadata entries; behind `metadata.` any key may stand, which may have dots itself. */
export const udmVocabulary: Vocabulary = {
  find(name) {
    const field = fields.get(name);
    if (field !== undefined) return field;
    const isMetadata = name.startsWith(metadata) && name.length > metadata.length;
    return isMetadata ? { fields: [name], type: "text", unit: "" } : undefined;
  },
  slip: () => undefined,
  names: () => [...fields.keys(), metadata],
};

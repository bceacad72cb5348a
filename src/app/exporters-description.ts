import type { ViewDescription } from "../api/index.ts";

type Schema = ViewDescription["schema"];

const integer = (description: string): Schema => ({ type: "integer", description });
const time = (description: string): Schema => integer(`${description}, milliseconds since the epoch.`);
const object = (properties: Readonly<Record<string, Schema>>, ...optional: readonly string[]): Schema => ({
  type: "object",
  additionalProperties: false,
  required: Object.keys(properties).filter((name) => !optional.includes(name)),
  properties,
});
const list = (items: Schema): Schema => ({ type: "array", items });

const template = object({
  id: integer("Its id."),
  kind: { enum: ["flows", "options"] },
  fields: integer("How many fields it has."),
  definedAt: time("When it came for the first time"),
  refreshedAt: time("When it came for the last time; for a restored one, when it was read"),
  origin: { enum: ["received", "restored"], description: "Restored: known from an earlier run, not come again yet." },
});

const domain = object(
  {
    protocol: { type: "string", examples: ["netflow9", "ipfix"] },
    id: integer("Observation domain (IPFIX), Source ID (NetFlow v9), engine type and id (v5), sub-agent (sFlow)."),
    agent: { type: "string", description: "The agent whose sub-agent this is (sFlow)." },
    port: integer("Of the sender, where templates are scoped by it."),
    templates: list(template),
    waitingSets: integer("Data sets that wait for their template."),
    missing: integer(
      "Units that never came, by sequence numbers: flows (NetFlow v5), datagrams (v9), records (IPFIX).",
    ),
    missingSamples: integer("Samples missing by the numbers of their data sources (sFlow)."),
    samplerDrops: integer("Samples that the agent says it dropped (sFlow)."),
    late: integer("Datagrams that came out of order."),
    resets: integer("How often a new count began."),
    sampling: list(object({ scope: { type: "string" }, rate: { type: "number" } })),
    names: object({
      interfaces: integer("Interfaces named by options."),
      applications: integer("Applications named by options."),
      vrfs: integer("VRFs named by options."),
    }),
    bootTime: time("When the exporter started, by its options"),
  },
  "agent",
  "port",
  "bootTime",
);

const exporter = object(
  {
    address: { type: "string" },
    firstSeen: time("Its first datagram"),
    lastSeen: time("Its last datagram"),
    datagrams: integer("Datagrams in this run."),
    records: integer("Flow records in this run."),
    recordsPerSecond: { type: "number", description: "Over the last minute." },
    manualRate: { type: "number", description: "The operator's sampling rate." },
    domains: list(domain),
  },
  "manualRate",
);

/** What `GET /api/v1/flow/exporters` answers. */
export const exportersDescription: ViewDescription = {
  summary: "Who sends flows, and what is known of each",
  schema: object({
    enabled: { type: "boolean", description: "Whether flows are received. If not, there are no exporters." },
    exporters: list(exporter),
  }),
};

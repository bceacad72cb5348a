import type { ViewDescription } from "../server/index.ts";

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

const template = object(
  {
    id: integer("Its id."),
    kind: { enum: ["flows", "options"] },
    fields: integer("How many fields it has."),
    sampling: { enum: ["rate", "sampler"], description: "What its records say of sampling, if anything." },
    namesExporter: { type: "boolean", description: "Whether its records name the exporter (elements 130, 131)." },
    definedAt: time("When it came for the first time"),
    refreshedAt: time("When it came for the last time; for a restored one, when it was read"),
    origin: {
      enum: ["received", "restored", "shared"],
      description:
        "Restored: known from an earlier run, shared: from another collector of the fleet; not come again yet.",
    },
  },
  "sampling",
);

const sender = object(
  {
    port: integer("Its number."),
    firstSeen: time("Its first datagram in this run"),
    lastSeen: time("Its last datagram"),
    bootTime: time("When the exporter started, by its export time and uptime"),
  },
  "bootTime",
);

const rateChange = object({
  scope: { type: "string" },
  from: { type: "number" },
  to: { type: "number" },
  count: integer("How often a rate of the domain changed in this run."),
});

const domain = object(
  {
    protocol: { type: "string", examples: ["netflow9", "ipfix"] },
    id: integer("Observation domain (IPFIX), Source ID (NetFlow v9), engine type and id (v5), sub-agent (sFlow)."),
    agent: { type: "string", description: "The agent whose sub-agent this is (sFlow)." },
    port: integer("Of the sender; the first one where it changes. Not for sFlow."),
    templates: list(template),
    waitingSets: integer("Data sets that wait for their template."),
    waitingSince: time("Since when there are any"),
    waitingFor: { ...list({ type: "integer" }), description: "The templates that they wait for." },
    givenUpSets: integer("Data sets that were given up for want of their template."),
    received: integer("Units received, counted like `missing`."),
    missingAt: time("When some were found missing last"),
    missing: integer(
      "Units that never came, by sequence numbers: flows (NetFlow v5), datagrams (v9), records (IPFIX).",
    ),
    missingSamples: integer("Samples missing by the numbers of their data sources (sFlow)."),
    samplerDrops: integer("Samples that the agent says it dropped (sFlow)."),
    late: integer("Datagrams that came out of order."),
    resets: integer("How often a new count began."),
    sampling: list(object({ scope: { type: "string" }, rate: { type: "number" } })),
    samplingChange: rateChange,
    clockOffset: integer("Milliseconds that the exporter's clock is ahead of the collector's."),
    senders: { ...list(sender), description: "The ports that its datagrams came from, 8 at most." },
    names: object({
      interfaces: integer("Interfaces named by options."),
      applications: integer("Applications named by options."),
      vrfs: integer("VRFs named by options."),
    }),
    bootTime: time("When the exporter started, by its options"),
  },
  "agent",
  "port",
  "waitingSince",
  "missingAt",
  "samplingChange",
  "clockOffset",
  "bootTime",
);

const exporter = object(
  {
    address: { type: "string" },
    name: { type: "string", description: "Of the most specific entry of metadata that has one." },
    relay: { type: "string", description: "The relay whose records named it last." },
    isRelay: { type: "boolean", description: "Whether its records may name other exporters." },
    firstSeen: time("Its first datagram"),
    lastSeen: time("Its last datagram"),
    datagrams: integer("Its own datagrams in this run."),
    records: integer("Flow records in this run."),
    recordsPerSecond: { type: "number", description: "Over the last minute." },
    manualRate: { type: "number", description: "The operator's sampling rate." },
    fallbackRate: { type: "number", description: "The operator's rate for the case that the exporter says none." },
    domains: list(domain),
  },
  "name",
  "relay",
  "manualRate",
  "fallbackRate",
);

/** What `GET /api/v1/flow/exporters` answers. */
export const exportersDescription: ViewDescription = {
  summary: "Who sends flows, and what is known of each",
  schema: object({
    enabled: { type: "boolean", description: "Whether flows are received. If not, there are no exporters." },
    listening: {
      ...object({
        addresses: list({ type: "string" }),
        udp: list({ type: "integer" }),
        tcp: list({ type: "integer" }),
      }),
      description: "Where exporters send to: addresses of this host, ports.",
    },
    exporters: list(exporter),
  }),
};

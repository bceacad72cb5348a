import type { ViewDescription } from "../server/index.ts";
import type { Snmp } from "../snmp/index.ts";

/** What `GET /api/v1/snmp/discovery` answers. */
export function discoveryView(snmp: Snmp | undefined): unknown {
  return { enabled: snmp?.networks !== undefined, ...snmp?.networks?.view() };
}

/** What `GET /api/v1/snmp/candidates` answers. */
export async function candidatesView(snmp: Snmp | undefined): Promise<unknown> {
  return { enabled: snmp?.candidates !== undefined, candidates: (await snmp?.candidates?.view()) ?? [] };
}

type Schema = ViewDescription["schema"];

const text: Schema = { type: "string" };
const texts: Schema = { type: "array", items: text };
const integer: Schema = { type: "integer" };
const time: Schema = { type: "string", format: "date-time" };
const list = (description: string, properties: Readonly<Record<string, Schema>>): Schema => ({
  type: "array",
  description,
  items: { type: "object", properties },
});

const begin = { isDryRun: { type: "boolean" }, networks: texts, startedAt: time, addresses: integer, probed: integer };

const report: Schema = {
  type: "object",
  description: "The last run that came to its end.",
  properties: {
    ...begin,
    durationSeconds: { type: "number" },
    new: list("Devices that were not known.", {
      name: text,
      device: { ...text, description: "Address and port." },
      network: text,
      credential: { ...text, description: "Its place among those of the network, and its version." },
      vendor: text,
      model: text,
      serial: text,
      sysObjectId: text,
      reason: { ...text, description: "Why it was looked for, where that is not because of the ranges." },
      file: text,
    }),
    changed: list("Known devices that are different.", { name: text, device: text, changes: texts, problem: text }),
    gone: list("Devices of discovery that did not answer.", { name: text, device: text, lastSeen: time }),
    duplicates: list("Addresses at which a device answered that has another.", {
      device: text,
      of: text,
      reason: text,
    }),
    known: { ...integer, description: "Known devices that answered." },
    refused: list("Agents that took no credential; the first thousand.", {
      address: text,
      network: text,
      reason: text,
    }),
    problem: { ...text, description: "Why what was found is not polled." },
  },
};

export const discoveryDescription: ViewDescription = {
  summary: "The search of networks for SNMP devices",
  schema: {
    type: "object",
    required: ["enabled"],
    properties: {
      enabled: { type: "boolean" },
      running: {
        type: "object",
        description: "The run that is under way.",
        properties: { ...begin, answered: { ...integer, description: "Devices that answered." } },
      },
      last: report,
      lastFailure: { type: "object", properties: { time, message: text } },
      nextRun: { ...time, description: "When the next run begins by itself." },
    },
  },
};

export const candidatesDescription: ViewDescription = {
  summary: "Addresses that neighbours of devices and flows name, and that are no devices",
  schema: {
    type: "object",
    required: ["enabled", "candidates"],
    properties: {
      enabled: { type: "boolean" },
      candidates: list("In the order of addresses as texts.", {
        address: text,
        source: { enum: ["lldp", "cdp", "arp", "flow"] },
        reason: { ...text, description: "Who names it." },
        state: {
          enum: ["outside", "off", "waiting", "silent", "refused", "duplicate"],
          description:
            "Outside: no network allows it. Off: its source is not in SVC_INPUT_SNMP_DISCOVERY_CANDIDATES. Waiting: it is asked next. Else what the last try came to.",
        },
        network: { ...text, description: "The network that allows it." },
        triedAt: time,
      }),
    },
  },
};

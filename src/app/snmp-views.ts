import type { ListView, SnmpOperations, StreamPage, ViewDescription } from "../server/index.ts";
import type { Progress } from "../base/report/index.ts";
import { waitFor, type DefinitionsPreview, type Snmp } from "../snmp/index.ts";

/** What `GET /api/v1/snmp/definitions` answers. */
export async function previewDefinitions(
  snmp: Snmp | undefined,
  progress: Progress,
): Promise<{ readonly enabled: false } | ({ readonly enabled: true } & DefinitionsPreview)> {
  if (snmp === undefined) return { enabled: false };
  const preview = await during(progress, "preview-definitions", () => snmp.previewDefinitions());
  return { enabled: true, ...preview };
}

/** SNMP as the API reaches it: others can see that definitions are being applied. */
export function watchedSnmp(snmp: Snmp, progress: Progress): SnmpOperations {
  return {
    applyDefinitions: (force) => during(progress, "apply-definitions", () => snmp.applyDefinitions(force)),
    rediscoverDevice: (device, wait) => snmp.rediscoverDevice(device, wait),
    async discoverNetworks({ isDryRun, networks }, wait) {
      if (snmp.networks === undefined) return { ok: false, reason: "off", problems: [] };
      const started = await snmp.networks.run({ isDryRun, networks });
      if (!started.ok) return started;
      const ended = started.ended.then(
        (report) => ({ result: "searched", ...report }),
        (error: unknown) => ({ result: "failed", error: error instanceof Error ? error.message : String(error) }),
      );
      const report = wait === undefined ? undefined : await waitFor(ended, wait.seconds * 1000, wait.signal);
      return { ok: true, isDone: report !== undefined, report: report ?? { ...snmp.networks.view() } };
    },
  };
}

async function during<T>(progress: Progress, kind: string, work: () => Promise<T>): Promise<T> {
  const task = progress.begin({ kind, subject: "SNMP definitions" });
  task.step("reading", "files");
  try {
    return await work();
  } finally {
    task.end();
  }
}

type Schema = ViewDescription["schema"];

const text: Schema = { type: "string" };
const texts: Schema = { type: "array", items: text };
const integer: Schema = { type: "integer" };
const time: Schema = { type: "string", format: "date-time" };
const rate = (description: string): Schema => ({ type: "number", description });

const deviceProperties: Readonly<Record<string, Schema>> = {
  device: { ...text, description: "Address and port." },
  name: text,
  ip: text,
  port: integer,
  version: { enum: ["1", "2c", "3"] },
  state: {
    enum: ["undiscovered", "up", "down", "elsewhere"],
    description: "`elsewhere`: another collector of the fleet polls it, and knows more.",
  },
  polledBy: { ...text, description: "The collector of the fleet that polls it; absent outside of a fleet." },
  discovery: { enum: ["queued", "running"], description: "Absent: none is under way." },
  groups: { ...texts, description: "Device groups that count, after the last discovery." },
  plan: {
    type: "object",
    description: "What is polled; absent before the first discovery.",
    properties: { objects: integer, attributes: integer, discoveredAt: time },
  },
  lastPoll: time,
  nextPoll: time,
  lastError: { type: "object", properties: { time, message: text } },
  pending: { ...texts, description: "Definitions that changed and wait for the next discovery." },
};

const required = ["device", "name", "ip", "port", "version", "state", "groups", "pending"];

/** What `GET /api/v1/snmp/devices` answers. */
export function devicesView(snmp: Snmp | undefined): ListView {
  return {
    head: () => ({ enabled: snmp !== undefined }),
    name: "devices",
    elements: () => snmp?.devices() ?? [],
  };
}

export const devicesDescription: ViewDescription = {
  summary: "The polled devices",
  schema: {
    type: "object",
    required: ["enabled", "devices"],
    properties: {
      enabled: { type: "boolean" },
      devices: { type: "array", items: { type: "object", required, properties: deviceProperties } },
    },
  },
};

const interfaceState: Schema = {
  type: "object",
  required: ["index"],
  properties: {
    index: { ...integer, description: "ifIndex." },
    name: text,
    alias: text,
    admin: text,
    oper: text,
    bitsPerSecond: rate("Its speed."),
    inBitsPerSecond: rate("From the last two polls, as the following ones."),
    outBitsPerSecond: rate("Sent."),
    inErrorsPerSecond: rate("Packets with errors."),
    outErrorsPerSecond: rate("Packets with errors."),
    inDiscardsPerSecond: rate("Packets without errors that were dropped."),
    outDiscardsPerSecond: rate("Packets without errors that were dropped."),
  },
};

export const deviceDescription: ViewDescription = {
  summary: "One polled device, with its plan and its interfaces",
  schema: {
    type: "object",
    required: [...required, "objects", "interfaces", "interfaceStates", "addresses", "counts"],
    properties: {
      ...deviceProperties,
      sysName: text,
      sysDescr: text,
      sysObjectId: text,
      objects: { type: "object", description: "Attributes that are polled, by object.", additionalProperties: texts },
      interfaces: { type: "object", description: "Names by ifIndex.", additionalProperties: text },
      interfaceStates: { type: "array", items: interfaceState },
      addresses: texts,
      counts: { type: "object", additionalProperties: { type: "number" } },
    },
  },
};

export const definitionsDescription: ViewDescription = {
  summary: "What applying the SNMP definitions would do now; nothing is changed",
  schema: {
    type: "object",
    required: ["enabled"],
    properties: {
      enabled: { type: "boolean" },
      ok: { type: "boolean", description: "Whether the files have no errors, so that they can be applied." },
      inUse: { type: "object", properties: { revision: text, devices: integer } },
      findings: {
        type: "array",
        description: "What is wrong with the files.",
        items: { type: "object", properties: { place: text, id: text, message: text } },
      },
      report: { type: "object", description: "As the answer of apply-definitions.", additionalProperties: true },
    },
  },
};

/** `GET /metrics/snmp`: what the last polls read, for Prometheus. */
export function snmpReadings(snmp: Snmp): StreamPage {
  return {
    summary: "What the last polls of SNMP devices read, in the Prometheus text format",
    parameters: {},
    contentType: "text/plain; version=0.0.4; charset=utf-8",
    async *open() {
      for (const piece of snmp.readings() ?? []) yield Buffer.from(piece);
    },
  };
}

import { formatAddress, parseAddress } from "../../base/ip/index.ts";
import { type Call, sendError, sendJson } from "../http/call.ts";
import type { BodyReader } from "../http/request-body.ts";
import { decodeJson, type UnknownFields } from "../json/decode-request.ts";
import { quote } from "../../base/text/index.ts";
import { JsonNumber, type JsonNode } from "../json/parse-json.ts";
import { apiError } from "../api-error.ts";
import {
  allowed,
  anyObject,
  describe,
  failure,
  jsonBody,
  jsonResponse,
  operation,
  parameter,
  refusals,
  type Endpoint,
} from "./endpoint.ts";
import { badField, refuseBody } from "./post-endpoints.ts";

/** The SNMP operations of the port. The collector passes in their implementation. */
export interface SnmpOperations {
  /**
   * Reads all definition files again, validates them and puts all or none of them in use.
   *
   * @param forceRediscovery true rediscovers devices whose definitions have changed.
   */
  applyDefinitions(forceRediscovery: boolean): Promise<SnmpApplied>;
  /**
   * Begins the discovery of a device, or joins the one in progress.
   *
   * @param wait if given, the promise resolves with the outcome, or with the state after this many seconds or when the
   *   signal aborts.
   * @returns undefined for an unknown device.
   */
  rediscoverDevice(
    device: SnmpDeviceId,
    wait?: { readonly seconds: number; readonly signal: AbortSignal },
  ): Promise<{ readonly isDone: boolean; readonly report: Readonly<Record<string, unknown>> } | undefined>;
  /**
   * Searches networks for devices. At most one search runs at a time.
   *
   * @param wait the same as in `rediscoverDevice`.
   */
  discoverNetworks(
    request: {
      /** True where the search writes nothing. */
      readonly isDryRun: boolean;
      /** The names of networks; empty for all. */
      readonly networks: readonly string[];
    },
    wait?: { readonly seconds: number; readonly signal: AbortSignal },
  ): Promise<SnmpSearched>;
}

export type SnmpSearched =
  | { readonly ok: true; readonly isDone: boolean; readonly report: Readonly<Record<string, unknown>> }
  /** `off`: no networks are configured. `invalid`: their file has errors, or lacks these networks. */
  | { readonly ok: false; readonly reason: "off" | "busy" | "invalid"; readonly problems: readonly string[] };

export interface SnmpDeviceId {
  /** The address in canonical text. */
  readonly ip: string;
  readonly port: number;
}

export type SnmpApplied =
  | {
      readonly ok: true;
      /** The changes in the form for the client. */
      readonly report: Readonly<Record<string, unknown>>;
    }
  | {
      readonly ok: false;
      /** The faults of the definition files, each with its `file:line:column`. They never have secrets. */
      readonly findings: readonly { readonly place: string; readonly id: string; readonly message: string }[];
    };

/** The most seconds that a client may wait for the outcome of a discovery. */
const maxWait = 600;
const waitSchema = { type: "integer", minimum: 0, maximum: maxWait };
const flagSchema = { type: "boolean", default: false };
const deviceSchema = {
  type: "object",
  required: ["ip", "port"],
  properties: {
    ip: { type: "string", examples: ["192.0.2.1"] },
    port: { type: "integer", minimum: 1, maximum: 65535 },
  },
  additionalProperties: false,
};

/** Returns the rows of the SNMP operations. Without SNMP they answer 503. */
export function snmpEndpoints(
  snmp: SnmpOperations | undefined,
  bodies: BodyReader,
  unknownFields: UnknownFields,
): readonly Endpoint[] {
  const operations = (): SnmpOperations => {
    if (snmp === undefined) throw apiError("unavailable", "SNMP_DISABLED", "SNMP is not enabled in this collector");
    return snmp;
  };
  return [
    operation(
      "/api/v1/snmp/apply-definitions",
      allowed("admin", "snmp"),
      false,
      async (call) => applyDefinitions(call, operations(), bodies),
      describe(
        "snmp",
        "applySnmpDefinitions",
        "Reads all SNMP definition files again and puts them to use",
        { "200": jsonResponse("In use.", anyObject), "422": failure, "503": failure, ...refusals },
        {
          description:
            "All files are validated first: with any error the set in use stays, and every finding is listed.",
          parameters: [
            parameter(
              "force_rediscovery",
              "Whether devices whose definitions have changed are rediscovered.",
              flagSchema,
            ),
          ],
        },
      ),
    ),
    operation(
      "/api/v1/snmp/rediscover-device",
      allowed("editor", "snmp"),
      true,
      async (call) => rediscoverDevice(call, operations(), bodies, unknownFields),
      describe(
        "snmp",
        "rediscoverSnmpDevice",
        "Begins the rediscovery of one device, or joins one under way",
        {
          "200": jsonResponse("The outcome, when it was waited for.", anyObject),
          "202": jsonResponse("Under way.", anyObject),
          "404": failure,
          "503": failure,
          ...refusals,
        },
        {
          parameters: [parameter("wait", "Seconds to wait for the outcome.", waitSchema)],
          ...jsonBody(deviceSchema),
        },
      ),
    ),
    operation(
      "/api/v1/snmp/discover-networks",
      allowed("admin", "snmp"),
      false,
      async (call) => discoverNetworks(call, operations(), bodies),
      describe(
        "snmp",
        "discoverSnmpNetworks",
        "Searches networks for SNMP devices",
        {
          "200": jsonResponse("The report, when it was waited for.", anyObject),
          "202": jsonResponse("Under way.", anyObject),
          "400": failure,
          "503": failure,
          ...refusals,
        },
        {
          description: "What is found is written as device files and polled. One search runs at a time.",
          parameters: [
            parameter("dry_run", "Writes nothing.", flagSchema),
            parameter("network", "A network by its name; several may be given. Default: all.", {
              type: "array",
              items: { type: "string" },
            }),
            parameter("wait", "Seconds to wait for the report.", waitSchema),
          ],
        },
      ),
    ),
  ];
}

async function applyDefinitions(call: Call, snmp: SnmpOperations, bodies: BodyReader): Promise<void> {
  knowOnly(call.query, ["force_rediscovery"]);
  await refuseBody(call, bodies, parameterHint);
  const applied = await snmp.applyDefinitions(readFlag(call.query, "force_rediscovery"));
  if (applied.ok) {
    call.code = "ok";
    return sendJson(call, 200, applied.report);
  }
  const count = applied.findings.length;
  const message = `the definition files have ${count === 1 ? "an error" : `${count} errors`}: the old set stays in use`;
  const violations = applied.findings.map(({ place, id, message: what }) => ({
    field: place,
    description: `${id}: ${what}`,
  }));
  sendError(call, apiError("invalid_argument", "INVALID_DEFINITIONS", message, { violations }), { status: 422 });
  return undefined;
}

async function rediscoverDevice(
  call: Call,
  snmp: SnmpOperations,
  bodies: BodyReader,
  unknownFields: UnknownFields,
): Promise<void> {
  knowOnly(call.query, ["wait"]);
  const wait = readWait(call);
  const device = readDevice(decodeJson(await bodies.readAll(call)), unknownFields);
  const outcome = await snmp.rediscoverDevice(device, wait);
  if (outcome === undefined) {
    const name = `${device.ip}:${device.port}`;
    throw apiError("not_found", "UNKNOWN_DEVICE", `there is no device ${name}`, { metadata: { device: name } });
  }
  call.code = "ok";
  return sendJson(call, outcome.isDone ? 200 : 202, outcome.report);
}

async function discoverNetworks(call: Call, snmp: SnmpOperations, bodies: BodyReader): Promise<void> {
  knowOnly(call.query, ["dry_run", "network", "wait"]);
  await refuseBody(call, bodies, parameterHint);
  const request = { isDryRun: readFlag(call.query, "dry_run"), networks: call.query.getAll("network") };
  const outcome = await snmp.discoverNetworks(request, readWait(call));
  if (!outcome.ok) {
    const [first = ""] = outcome.problems;
    if (outcome.reason === "busy") throw apiError("failed_precondition", "DISCOVERY_RUNNING", first);
    if (outcome.reason === "off") {
      const message = "no networks are set up: SVC_INPUT_SNMP_DISCOVERY_NETWORKS_PATH names their file";
      throw apiError("unavailable", "DISCOVERY_DISABLED", message);
    }
    const violations = outcome.problems.map((description) => ({ field: "networks", description }));
    throw apiError("invalid_argument", "INVALID_NETWORKS", first, { violations });
  }
  call.code = "ok";
  return sendJson(call, outcome.isDone ? 200 : 202, outcome.report);
}

/** Refuses unknown parameters, which would otherwise be ignored silently. */
function knowOnly(query: URLSearchParams, names: readonly string[]): void {
  for (const name of query.keys()) {
    if (!names.includes(name))
      throw badField(name, `unknown query parameter ${quote(name)}: expected ${names.map(quote).join(", ")}`);
  }
}

function parameterHint(body: string): readonly [field: string, hint: string] {
  const field = ["force_rediscovery", "dry_run", "network"].find((name) => body.includes(name));
  if (field === undefined) return ["", ""];
  return [field, `; ${field} is a query parameter: ?${field}=${field === "network" ? "name" : "true"}`];
}

function readFlag(query: URLSearchParams, name: string): boolean {
  const text = query.get(name) ?? "false";
  if (text !== "true" && text !== "false") throw badField(name, `${name} must be true or false, not ${quote(text)}`);
  return text === "true";
}

function readWait({ query, signal }: Call): { readonly seconds: number; readonly signal: AbortSignal } | undefined {
  const text = query.get("wait");
  if (text === null) return undefined;
  if (!/^\d{1,3}$/.test(text) || Number(text) > maxWait) {
    throw badField("wait", `wait must be a number of seconds, 0 to ${maxWait}, not ${quote(text)}`);
  }
  return { seconds: Number(text), signal };
}

function readDevice(node: JsonNode, unknownFields: UnknownFields): SnmpDeviceId {
  if (!(node instanceof Map)) throw badField("", "the body must be an object with ip and port");
  const body = node as ReadonlyMap<string, JsonNode>;
  for (const name of body.keys()) {
    if (name !== "ip" && name !== "port" && unknownFields === "reject") {
      throw badField("", `unknown field ${quote(name)}: expected "ip", "port"`);
    }
  }
  const ip = body.get("ip");
  const address = typeof ip === "string" ? parseAddress(ip) : undefined;
  if (address === undefined) {
    throw badField("ip", typeof ip === "string" ? `ip ${quote(ip)} is not an IP address` : "ip must be a string");
  }
  const port = body.get("port");
  const number = port instanceof JsonNumber && /^\d{1,5}$/.test(port.text) ? Number(port.text) : 0;
  if (number < 1 || number > 65_535) throw badField("port", "port must be an integer, 1 to 65535");
  return { ip: formatAddress(address), port: number };
}

import { formatAddress, parseAddress } from "../../base/ip/index.ts";
import { type Call, sendError, sendJson } from "../http/call.ts";
import type { BodyReader } from "../http/request-body.ts";
import { decodeJson } from "../json/decode-request.ts";
import { quote } from "../../base/text/index.ts";
import { JsonNumber, type JsonNode } from "../json/parse-json.ts";
import type { UnknownFields } from "../json/read-message.ts";
import { apiError, type FieldViolation } from "../api-error.ts";

/** The SNMP operations that the port offers. The collector hands in what carries them out. */
export interface SnmpOperations {
  /**
   * Reads all definition files again, validates them and puts them to use, or none of them.
   *
   * @param forceRediscovery whether devices whose definitions have changed are rediscovered.
   */
  applyDefinitions(forceRediscovery: boolean): Promise<SnmpApplied>;
  /**
   * Begins the discovery of a device, or joins the one under way.
   *
   * @param wait when given, the promise resolves with the outcome, or with the state after this many seconds or when the
   *   signal aborts.
   * @returns undefined when there is no such device.
   */
  rediscoverDevice(
    device: SnmpDeviceId,
    wait?: { readonly seconds: number; readonly signal: AbortSignal },
  ): Promise<SnmpRediscovery | undefined>;
  /**
   * Searches networks for devices. At most one search runs at a time.
   *
   * @param wait as of `rediscoverDevice`.
   */
  discoverNetworks(
    request: SnmpSearch,
    wait?: { readonly seconds: number; readonly signal: AbortSignal },
  ): Promise<SnmpSearched>;
}

export interface SnmpSearch {
  /** Writes nothing. */
  readonly isDryRun: boolean;
  /** Names of networks; empty: all. */
  readonly networks: readonly string[];
}

export type SnmpSearched =
  | { readonly ok: true; readonly isDone: boolean; readonly report: Readonly<Record<string, unknown>> }
  /** `off`: no networks are set up. `invalid`: their file has errors, or not these networks. */
  | { readonly ok: false; readonly reason: "off" | "busy" | "invalid"; readonly problems: readonly string[] };

export interface SnmpDeviceId {
  /** Canonical text. */
  readonly ip: string;
  readonly port: number;
}

export type SnmpApplied =
  | {
      readonly ok: true;
      /** What changed, as it is shown to the client. */ readonly report: Readonly<Record<string, unknown>>;
    }
  | { readonly ok: false; readonly findings: readonly SnmpFinding[] };

/** One thing that is wrong with the definition files. Never holds a secret. */
export interface SnmpFinding {
  /** `file:line:column` */
  readonly place: string;
  /** Of the definition. */
  readonly id: string;
  readonly message: string;
}

export interface SnmpRediscovery {
  /** Whether the discovery has ended. */
  readonly isDone: boolean;
  /** The state or the outcome, as it is shown to the client. */
  readonly report: Readonly<Record<string, unknown>>;
}

export const applyDefinitionsPath = "/api/v1/snmp/apply-definitions";
export const discoverNetworksPath = "/api/v1/snmp/discover-networks";
export const rediscoverDevicePath = "/api/v1/snmp/rediscover-device";

/** How long a client may wait for the outcome of a discovery, seconds. */
const maxWait = 600;

/** Handlers of the two operations; without SNMP they answer 503. */
export function createSnmpEndpoints(
  snmp: SnmpOperations | undefined,
  bodies: BodyReader,
  unknownFields: UnknownFields,
): Record<"applyDefinitions" | "rediscoverDevice" | "discoverNetworks", (call: Call) => Promise<void>> {
  const operations = (): SnmpOperations => {
    if (snmp === undefined) throw apiError("unavailable", "SNMP_DISABLED", "SNMP is not enabled in this collector");
    return snmp;
  };

  return {
    async applyDefinitions(call) {
      const snmpOperations = operations();
      knowOnly(call.query, ["force_rediscovery"]);
      refuseBody(await bodies.readAll(call));
      const applied = await snmpOperations.applyDefinitions(readFlag(call.query, "force_rediscovery"));
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
    },

    async rediscoverDevice(call) {
      const snmpOperations = operations();
      knowOnly(call.query, ["wait"]);
      const seconds = readWait(call.query.get("wait"));
      const device = readDevice(decodeJson(await bodies.readAll(call)), unknownFields);
      const wait = seconds === undefined ? undefined : { seconds, signal: call.signal };
      const outcome = await snmpOperations.rediscoverDevice(device, wait);
      if (outcome === undefined) {
        const name = `${device.ip}:${device.port}`;
        throw apiError("not_found", "UNKNOWN_DEVICE", `there is no device ${name}`, { metadata: { device: name } });
      }
      call.code = "ok";
      return sendJson(call, outcome.isDone ? 200 : 202, outcome.report);
    },

    async discoverNetworks(call) {
      const snmpOperations = operations();
      knowOnly(call.query, ["dry_run", "network", "wait"]);
      refuseBody(await bodies.readAll(call));
      const request = { isDryRun: readFlag(call.query, "dry_run"), networks: call.query.getAll("network") };
      const seconds = readWait(call.query.get("wait"));
      const wait = seconds === undefined ? undefined : { seconds, signal: call.signal };
      const outcome = await snmpOperations.discoverNetworks(request, wait);
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
    },
  };
}

/** A parameter that is not known would have no effect, without a word. */
function knowOnly(query: URLSearchParams, names: readonly string[]): void {
  for (const name of query.keys()) {
    if (!names.includes(name))
      throw badField(name, `unknown query parameter ${quote(name)}: expected ${names.map(quote).join(", ")}`);
  }
}

/** Clients send an empty object where an operation takes nothing. */
function refuseBody(body: Uint8Array): void {
  const text = Buffer.from(body).toString("latin1").trim();
  if (text === "" || text === "{}") return;
  const field = ["force_rediscovery", "dry_run", "network"].find((name) => text.includes(name)) ?? "";
  const hint =
    field === "" ? "" : `; ${field} is a query parameter: ?${field}=${field === "network" ? "name" : "true"}`;
  throw badField(field, `the request has no body${hint}`);
}

function readFlag(query: URLSearchParams, name: string): boolean {
  const text = query.get(name) ?? "false";
  if (text !== "true" && text !== "false") throw badField(name, `${name} must be true or false, not ${quote(text)}`);
  return text === "true";
}

function readWait(text: string | null): number | undefined {
  if (text === null) return undefined;
  if (!/^\d{1,3}$/.test(text) || Number(text) > maxWait) {
    throw badField("wait", `wait must be a number of seconds, 0 to ${maxWait}, not ${quote(text)}`);
  }
  return Number(text);
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

function badField(field: string, description: string): Error {
  const violations: FieldViolation[] = [{ field, description }];
  return apiError("invalid_argument", "INVALID_FIELD", description, { violations });
}

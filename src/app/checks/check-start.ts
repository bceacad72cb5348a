import { createSocket } from "node:dgram";
import { createServer } from "node:net";
import { once } from "node:events";
import { access, constants, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { listenFault } from "../../base/report/index.ts";
import type { Settings } from "../settings/index.ts";
import { discoveredDirectory } from "../../snmp/settings.ts";
import { missingForMetadataApi } from "../../metadata/settings.ts";
import { fleetDatabaseAddress, metadataDatabaseAddress, metadataDatabaseTls } from "../parts/databases.ts";
import { readTlsCredentials, isLoopback } from "../../server/index.ts";
import { storeOutputs } from "../outputs/store-outputs.ts";
import { readAuthorities } from "../parts/access.ts";
import { checkFiles } from "./check-files.ts";

interface Port {
  readonly setting: string;
  readonly transport: "TCP" | "UDP";
  /** The address; empty: all. */
  readonly address: string;
  readonly port: number;
}

/** Opens all ports for an instant. A port that is in use, that this user may not open, or that two settings share, is a problem. */
async function checkPorts(settings: Settings): Promise<Findings> {
  const problems: string[] = [];
  const opened: { readonly port: Port; readonly close: Close }[] = [];
  try {
    for (const port of portsOf(settings)) {
      const { setting, transport, address } = port;
      const where = address === "" ? "" : ` on ${address}`;
      try {
        opened.push({ port, close: await onAny(port, transport === "TCP" ? listen : bind) });
      } catch (error) {
        const other = opened.find(({ port: one }) => one.transport === transport && one.port === port.port);
        problems.push(`${setting}: ${transport} port ${port.port}${where}: ${portFault(error, other?.port)}`);
      }
    }
  } finally {
    await Promise.all(opened.map(({ close }) => close()));
  }
  return { problems, warnings: [] };
}

function portFault(error: unknown, other: Port | undefined): string {
  if ((error as NodeJS.ErrnoException).code !== "EADDRINUSE") return listenFault(error);
  return other === undefined ? "is in use by another process" : `${other.setting} has it, too`;
}

/** Returns the ports that a start opens, except those that the system chooses. */
function portsOf(settings: Settings): Port[] {
  const ports: Port[] = [];
  const add = (setting: string, transport: Port["transport"], address: string, port: number): void => {
    if (port !== 0) ports.push({ setting, transport, address, port });
  };
  add("SVC_API_PORT", "TCP", settings.SVC_API_IP, settings.SVC_API_PORT);
  for (const word of ["TCP", "TLS"] as const) {
    const name = `SVC_FLOW_SERVER_${word}_PORT` as const;
    if (!settings[`SVC_FLOW_SERVER_${word}_ENABLE`]) continue;
    add(name, "TCP", settings[`SVC_FLOW_SERVER_${word}_IP`], settings[name]);
  }
  if (settings.SVC_FLOW_SERVER_UDP_ENABLE) {
    for (const port of settings.SVC_FLOW_SERVER_UDP_PORT) {
      add("SVC_FLOW_SERVER_UDP_PORT", "UDP", settings.SVC_FLOW_SERVER_UDP_IP, port);
    }
  }
  if (settings.SVC_INPUT_TRAP_ENABLE) {
    const { SVC_INPUT_TRAP_LISTENER_IP: address, SVC_INPUT_TRAP_LISTENER_PORT: port } = settings;
    add("SVC_INPUT_TRAP_LISTENER_PORT", "UDP", address, port);
    if (settings.SVC_INPUT_TRAP_LISTENER_TCP_ENABLE) add("SVC_INPUT_TRAP_LISTENER_PORT", "TCP", address, port);
  }
  return ports;
}

type Close = () => Promise<void>;

async function listen(host: string, port: number): Promise<Close> {
  const server = createServer();
  server.listen({ host, port, exclusive: true });
  await once(server, "listening");
  return async () => {
    server.close();
    await once(server, "close");
  };
}

/** Opens a port as the collector does: all addresses are those of both families, or of IPv4 on a host without IPv6. */
async function onAny({ address, port }: Port, open: (address: string, port: number) => Promise<Close>): Promise<Close> {
  if (address !== "") return open(address, port);
  try {
    return await open("::", port);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EAFNOSUPPORT") throw error;
    return open("0.0.0.0", port);
  }
}

async function bind(address: string, port: number): Promise<Close> {
  const socket = createSocket({ type: address.includes(":") ? "udp6" : "udp4", ipv6Only: false });
  const close = async (): Promise<void> => {
    socket.close();
  };
  try {
    const bound = once(socket, "listening");
    socket.bind({ address, port, exclusive: true });
    await bound;
  } catch (error) {
    await close();
    throw error;
  }
  return close;
}

/** The findings of a check, one line each. */
interface Findings {
  /** Faults that prevent a start, or stop a part after it. */
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
}

function joinFindings(all: readonly Findings[]): Findings {
  return {
    problems: all.flatMap(({ problems }) => problems),
    warnings: all.flatMap(({ warnings }) => warnings),
  };
}

/** Returns the message of an error without the name of the system call, which says little to an operator. */
function messageOf(error: unknown): string {
  return error instanceof Error ? error.message.replace(/, \w+(?: '.*')?$/, "") : String(error);
}

const soonMs = 14 * 86_400_000;

/**
 * Checks the certificates and keys of the API, of its issuer, of the flow port and of the enabled outputs: whether they can be read and
 * belong together. One that has expired or soon will is a warning.
 *
 * @param now milliseconds since the epoch.
 */
function checkTls(settings: Settings, now: number): Findings {
  const problems: string[] = [];
  const warnings: string[] = [];
  const attempt = (subject: string, read: () => unknown): void => {
    try {
      read();
    } catch (error) {
      problems.push(`${subject}: ${messageOf(error)}`);
    }
  };
  const checkPair = (subject: string, certPath: string, keyPath: string): void =>
    attempt(subject, () => {
      const expires = readTlsCredentials({ certPath, keyPath }).expires * 1000;
      const day = new Date(expires).toISOString().slice(0, 10);
      if (expires < now) warnings.push(`${subject}: the certificate in ${certPath} ended on ${day}`);
      else if (expires < now + soonMs) warnings.push(`${subject}: the certificate in ${certPath} ends on ${day}`);
    });

  if (settings.SVC_API_TLS_ENABLE) {
    checkPair("API", settings.SVC_API_TLS_CERT_FILEPATH, settings.SVC_API_TLS_KEY_FILEPATH);
  }
  if (settings.SVC_FLOW_SERVER_TLS_ENABLE) {
    checkPair("flows", settings.SVC_FLOW_SERVER_TLS_CERT_FILEPATH, settings.SVC_FLOW_SERVER_TLS_KEY_FILEPATH);
    const caPath = settings.SVC_FLOW_SERVER_TLS_CA_CERT_FILEPATH;
    if (caPath !== "") attempt("flows", () => readAuthorities(caPath));
  }
  const issuerCa = settings.SVC_API_OIDC_CA_CERT_FILEPATH;
  if (settings.SVC_API_OIDC_ENABLE && issuerCa !== "") attempt("OpenID Connect", () => readAuthorities(issuerCa));
  checkDatabase(settings, attempt, checkPair);
  for (const { context, tls } of storeOutputs(settings)) {
    if (tls === undefined) continue;
    const subject = `output ${context.name}`;
    const { caPath, certPath, keyPath } = tls;
    if (caPath !== "") attempt(subject, () => readAuthorities(caPath));
    if (certPath !== "" && keyPath !== "") checkPair(subject, certPath, keyPath);
    else if (certPath !== keyPath)
      problems.push(`${subject}: a client certificate needs a key, and a key a certificate`);
  }
  return { problems, warnings };
}

function checkDatabase(
  settings: Settings,
  attempt: (subject: string, read: () => unknown) => void,
  checkPair: (subject: string, certPath: string, keyPath: string) => void,
): void {
  const isShared = settings.SVC_PROCESSOR_ENRICH_IPADDR_METADATA_STORE === "postgresql";
  const isFleet = settings.SVC_FLEET_NAME !== "";
  if (!isShared && !isFleet) return;
  const { caPath, certPath, keyPath } = metadataDatabaseTls(settings);
  const subject = "database of the metadata";
  if (isFleet && settings.SVC_FLEET_POSTGRESQL_URL.isSet) {
    attempt("SVC_FLEET_POSTGRESQL_URL", () => fleetDatabaseAddress(settings));
  }
  if (settings.SVC_PROCESSOR_ENRICH_IPADDR_METADATA_POSTGRESQL_URL.isSet) {
    attempt("SVC_PROCESSOR_ENRICH_IPADDR_METADATA_POSTGRESQL_URL", () => metadataDatabaseAddress(settings));
  }
  if (caPath !== "") attempt(subject, () => readAuthorities(caPath));
  if (certPath !== "" && keyPath !== "") checkPair(subject, certPath, keyPath);
}

/** Checks whether all paths that the collector writes are writable. A start creates missing directories, if it can. */
async function checkDirectories(settings: Settings): Promise<Findings> {
  const problems: string[] = [];
  const warnings: string[] = [];
  const check = async (found: string[], name: keyof Settings, path: string, isFile: boolean): Promise<void> => {
    const fault = await pathFault(resolve(path), isFile);
    if (fault !== undefined) found.push(`${name}: ${path}: ${fault}`);
  };
  if (settings.SVC_OUTPUT_FILE_ENABLE) {
    await check(problems, "SVC_OUTPUT_FILE_PATH", settings.SVC_OUTPUT_FILE_PATH, true);
  }
  if (settings.SVC_STATE_DIRECTORY_PATH !== "") {
    await check(problems, "SVC_STATE_DIRECTORY_PATH", settings.SVC_STATE_DIRECTORY_PATH, false);
  }
  if (settings.SVC_EXPLORE_ENABLE && settings.SVC_EXPLORE_STORE === "duckdb")
    await check(problems, "SVC_EXPLORE_PATH", settings.SVC_EXPLORE_PATH, false);
  const plans = settings.SVC_INPUT_SNMP_PERSIST_DIRECTORY_PATH;
  if (settings.SVC_INPUT_SNMP_ENABLE && settings.SVC_INPUT_SNMP_PERSIST_ENABLE && plans !== "") {
    await check(problems, "SVC_INPUT_SNMP_PERSIST_DIRECTORY_PATH", plans, false);
  }
  if (settings.SVC_INPUT_SNMP_DISCOVERY_NETWORKS_PATH !== "" && discoveredDirectory(settings) !== "") {
    const name = "SVC_INPUT_SNMP_DISCOVERY_DEVICES_DIRECTORY_PATH";
    await check(problems, name, discoveredDirectory(settings), false);
  }
  // Metadata can still be read from there.
  if (missingForMetadataApi(settings).length === 0 && settings.SVC_PROCESSOR_ENRICH_IPADDR_METADATA_STORE === "file") {
    const name = "SVC_PROCESSOR_ENRICH_IPADDR_METADATA_USERDEF_PATH";
    const fault = await pathFault(dirname(resolve(settings[name])), false);
    if (fault !== undefined)
      warnings.push(`${name}: changes by the API cannot be written to ${settings[name]}: ${fault}`);
  }
  // The collector runs without its log file.
  if (settings.SVC_LOGGER_FILE_LOG_ENABLE) {
    await check(warnings, "SVC_LOGGER_FILE_LOG_FILENAME", settings.SVC_LOGGER_FILE_LOG_FILENAME, true);
  }
  return { problems, warnings };
}

/** Returns why a path cannot be written; undefined when it can be. */
async function pathFault(path: string, isFile: boolean): Promise<string | undefined> {
  try {
    const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return undefined;
      throw error;
    });
    if (found === undefined) return await parentFault(dirname(path));
    if (isFile && found.isDirectory()) return "is a directory";
    if (!isFile && !found.isDirectory()) return "is not a directory";
    await access(path, isFile ? constants.W_OK : constants.W_OK | constants.X_OK);
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

/** Returns the fault of the nearest existing directory, which must allow others to be created in it. */
async function parentFault(path: string): Promise<string | undefined> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
  if (found === undefined) return dirname(path) === path ? "is not there" : parentFault(dirname(path));
  if (!found.isDirectory()) return `${path} is not a directory`;
  await access(path, constants.W_OK | constants.X_OK);
  return undefined;
}

/**
 * Finds the faults that a start with these settings would meet, without starting: files, certificates, directories, ports.
 *
 * @param isRunning true if a collector with these settings is running and has its ports open.
 */
export async function checkStart(settings: Settings, isRunning: boolean, now: number): Promise<Findings> {
  return joinFindings([
    await checkFiles(settings),
    checkTls(settings, now),
    await checkDirectories(settings),
    checkAccess(settings),
    checkAnswers(settings),
    ...(isRunning ? [] : [await checkPorts(settings)]),
  ]);
}

const signIns = "SVC_API_BASIC_AUTH_ENABLE, SVC_API_USERS_PATH or SVC_API_OIDC_ENABLE";

/** Warns of an API without authentication, where anyone can allow or withdraw routes, and of approvals that need more users. */
function checkAnswers(settings: Settings): Findings {
  if (settings.SVC_WATCH_RULES_PATH === "") return { problems: [], warnings: [] };
  const { SVC_WATCH_ANSWERS: mode, SVC_WATCH_ANSWERS_APPROVALS: approvals } = settings;
  const hasManyUsers = settings.SVC_API_USERS_PATH !== "" || settings.SVC_API_OIDC_ENABLE;
  const warnings: string[] = [];
  if (mode !== "dry-run" && !hasManyUsers && !settings.SVC_API_BASIC_AUTH_ENABLE)
    warnings.push(
      `SVC_WATCH_ANSWERS: it is ${mode}, and everybody who reaches the API may ${mode === "approve" ? "allow and " : ""}withdraw routes: set ${signIns}`,
    );
  if (approvals > 1 && !hasManyUsers)
    warnings.push(
      "SVC_WATCH_ANSWERS_APPROVALS: two different users have to allow an answer, and there are no two: set SVC_API_USERS_PATH or SVC_API_OIDC_ENABLE",
    );
  return { problems: [], warnings };
}

/** Warns of an API port that other hosts reach without authentication: anybody there can change everything. */
function checkAccess(settings: Settings): Findings {
  const isGuarded =
    settings.SVC_API_BASIC_AUTH_ENABLE || settings.SVC_API_USERS_PATH !== "" || settings.SVC_API_OIDC_ENABLE;
  if (isGuarded || isLoopback(settings.SVC_API_IP)) return { problems: [], warnings: [] };
  const where = settings.SVC_API_IP === "" ? "all addresses" : settings.SVC_API_IP;
  const warning = `SVC_API_IP: the API on ${where} is reachable from other hosts without authentication: set ${signIns}`;
  return { problems: [], warnings: [warning] };
}

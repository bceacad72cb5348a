import type { Area, Role, RouteReach } from "../access/role.ts";
import {
  diagnosis,
  exporters,
  candidates,
  definitions,
  device,
  devices,
  discovery,
  fields,
  outputs,
  rules,
  overview,
  progress,
  settings,
  sources,
} from "./answers.ts";
import { location, neighbors, topology } from "./topology-answers.ts";
import { alertDetails, alertParameters, alerts, answers, silences, watchState } from "./watch-answers.ts";
import type { Shape, Value } from "./shape.ts";

/**
 * A read-only view. Its result, or that of its promise, is sent as JSON. In its path, the last segment or the one before it may be `{id}`,
 * which matches any segment and is passed to the view. Undefined is answered as not found.
 */
export type View = (id: string, query: URLSearchParams) => unknown;

/** A view with a list that may be long. Its elements are made while it is sent. */
export interface ListView {
  /** Returns the fields before the list. */
  head(): Readonly<Record<string, unknown>>;
  /** The name of the list's field. */
  readonly name: string;
  elements(): Iterable<unknown>;
}

/** A method that shows the state of the collector: its path, its access, its entry in the OpenAPI document, and its answer. */
export interface CollectorMethod<T = unknown> {
  readonly get: string;
  readonly role: Role;
  readonly area: Area;
  readonly reach?: RouteReach;
  readonly summary: string;
  /** The parameters of the query, with their meanings. */
  readonly parameters?: Readonly<Record<string, string>>;
  readonly answer: Shape<T>;
}

const row = <T>(get: string, area: Area, answer: Shape<T>, summary: string): CollectorMethod<T> => ({
  get,
  role: "viewer",
  area,
  summary,
  answer,
});

/**
 * The table of these methods, with one row each. The types of the collector, of its commands and of its pages, the rights
 * and the OpenAPI document are made from it.
 */
export const collectorMethods = {
  listExporters: row("/api/v1/flow/exporters", "flow", exporters, "Who sends flows, and what is known of each"),
  diagnoseExporter: row(
    "/api/v1/flow/exporters/{id}/diagnosis",
    "flow",
    diagnosis,
    "Why flows of one exporter are missing or wrong; also of one that was never heard",
  ),
  listAlerts: {
    ...row("/api/v1/watch/alerts", "flow", alerts, "What the rules on flows have found, and what has ended"),
    parameters: alertParameters,
  },
  getAlert: row(
    "/api/v1/watch/alerts/{id}",
    "flow",
    alertDetails,
    "One alert with its evidence, its values up to now, and what became of its notices",
  ),
  listSilences: row("/api/v1/watch/silences", "flow", silences, "Alerts whose notices are held back for a time"),
  getWatch: row("/api/v1/watch/rules", "flow", watchState, "The rules on flows, and the receivers of notices"),
  listAnswers: row(
    "/api/v1/watch/answers",
    "flow",
    answers,
    "Routes that are proposed against attacks, announced, and withdrawn again",
  ),
  diagnose: row("/api/v1/flow/diagnosis", "flow", diagnosis, "Why flows are missing or wrong"),
  listSources: row("/api/v1/enrich/sources", "metadata", sources, "The sources of metadata and their last runs"),
  listRules: row("/api/v1/enrich/rules", "flow", rules, "The file of rules that give records fields, as it stands"),
  listOutputs: row("/api/v1/outputs", "collector", outputs, "Where records go, and what waits"),
  listTasks: row(
    "/api/v1/progress",
    "collector",
    progress,
    "What is under way that takes a while: imports, replacements, definitions being applied",
  ),
  getSettings: row(
    "/api/v1/settings",
    "collector",
    settings,
    "The settings in force, what a reload and a restart would change, the packages that are shipped",
  ),
  previewDefinitions: row(
    "/api/v1/snmp/definitions",
    "snmp",
    definitions,
    "What applying the SNMP definitions would do now; nothing is changed",
  ),
  getOverview: row("/api/v1/overview", "collector", overview, "How much comes in, and what was lost where"),
  listFields: {
    ...row("/api/v1/fields", "collector", fields, "The fields of records, and the short names of filters"),
    reach: "nothing",
  },
  getDiscovery: row("/api/v1/snmp/discovery", "snmp", discovery, "The search of networks for SNMP devices"),
  listCandidates: row(
    "/api/v1/snmp/candidates",
    "snmp",
    candidates,
    "Addresses that neighbours of devices and flows name, and that are no devices",
  ),
  getTopology: row(
    "/api/v1/topology",
    "snmp",
    topology,
    "The polled devices, and the links between them and to their neighbors, with what says so",
  ),
  getNeighbors: row(
    "/api/v1/topology/devices/{id}",
    "snmp",
    neighbors,
    "The links of one device to its neighbors, with what says so",
  ),
  locate: row(
    "/api/v1/topology/locate/{id}",
    "snmp",
    location,
    "The switch port of an IP or MAC address: where it was learnt, the most likely port first",
  ),
  listDevices: row("/api/v1/snmp/devices", "snmp", devices, "The polled devices"),
  getDevice: row("/api/v1/snmp/devices/{id}", "snmp", device, "One polled device, with its plan and its interfaces"),
} as const;

type CollectorMethodName = keyof typeof collectorMethods;

/** The type of a method's answer, from the table. */
export type CollectorAnswer<Name extends CollectorMethodName> = Value<(typeof collectorMethods)[Name]["answer"]>;

/** The implementations of the methods. Each returns the answer or a promise of it; undefined for an unknown id in the path. */
export type CollectorViews = {
  readonly [Name in CollectorMethodName]:
    | ListView
    | ((
        id: string,
        query: URLSearchParams,
      ) => CollectorAnswer<Name> | undefined | Promise<CollectorAnswer<Name> | undefined>);
};

/** Returns the views by path. */
export function viewsByPath(views: CollectorViews): ReadonlyMap<string, View | ListView> {
  const names = Object.keys(collectorMethods) as CollectorMethodName[];
  return new Map(names.map((name) => [collectorMethods[name].get, views[name]]));
}

const byPath: ReadonlyMap<string, CollectorMethod> = new Map(
  Object.values(collectorMethods).map((method) => [method.get, method]),
);

/** Returns the row of a path; undefined where it is none of these methods. */
export const methodAt = (path: string): CollectorMethod | undefined => byPath.get(path);

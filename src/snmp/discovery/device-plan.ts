import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { isIndexType, type IndexType } from "../values/convert-value.ts";
import { syntaxes } from "../values/syntaxes-and-units.ts";
import { identityFacts } from "../definitions/definitions.ts";
import type { DeviceFacts } from "./describe-device.ts";
import type { Marks } from "./identify.ts";
import type { LearntInterfaces } from "./learn-interfaces.ts";
import { parseOid, type Oid } from "../session/ber.ts";
import { makeFolder, nodeFileIo, replaceContent } from "../../base/file/index.ts";
import type { Counter, Log, Metrics } from "../../base/report/index.ts";

/** A part of an index at the time of the discovery. */
interface PlannedIndexPart {
  readonly type: IndexType;
  /** The OID as a text with a leading dot. */
  readonly oidText: string;
  readonly field: string;
  /** The name of the syntax. */
  readonly syntax: string;
}

/** An object that the device has. */
export interface PlannedObject {
  readonly index: readonly PlannedIndexPart[];
  /** The attributes that the device has: the OID (text with a leading dot) by the name in the MIB. */
  readonly attributes: ReadonlyMap<string, string>;
  /** The contexts in which it is there; empty for that of the device. */
  readonly contexts: readonly string[];
}

/** The result of the discovery of a device: how to poll it, and for which objects. It never changes. */
export interface DevicePlan {
  /** `ip:port` */
  readonly deviceId: string;
  /** The revision of the definitions at the discovery. */
  readonly revision: string;
  /** The time in ms since the epoch. */
  readonly discoveredAt: number;
  /** The position of the accepted credential, from 0. */
  readonly credential: number;
  readonly sysObjectId: Oid | undefined;
  readonly sysName: string | undefined;
  readonly sysDescr: string | undefined;
  readonly deviceGroups: readonly string[];
  /** The objects by `MIB::object`. */
  readonly objects: ReadonlyMap<string, PlannedObject>;
  readonly learnt: LearntInterfaces;
  readonly facts: DeviceFacts;
  /** The fingerprint, which changes with the interfaces and modules; undefined in plans of earlier versions. */
  readonly marks: Marks | undefined;
  /** A description of the missing parts. */
  readonly problem: string | undefined;
}

/** The number of the format; it grows when earlier plans become unreadable. */
const format = 2;

/** Returns a plan as JSON. */
export function planText(plan: DevicePlan): string {
  return JSON.stringify({
    format,
    ...plan,
    objects: [...plan.objects].map(([id, { index, attributes, contexts }]) => {
      return { id, index, attributes: [...attributes], contexts: contexts.length > 0 ? contexts : undefined };
    }),
    facts: [...plan.facts],
    marks: plan.marks && [...plan.marks],
    learnt: {
      descriptions: [...plan.learnt.descriptions],
      names: [...plan.learnt.names],
      ipv4Addresses: [...plan.learnt.ipv4Addresses],
      inetAddresses: [...plan.learnt.inetAddresses],
    },
  });
}

/** Reads the plan of a device; undefined for the plan of another device or of an unknown format, which costs a discovery. */
export function readPlan(deviceId: string, text: string): DevicePlan | undefined {
  try {
    const plan = planFromJson(JSON.parse(text));
    return plan?.deviceId === deviceId ? plan : undefined;
  } catch {
    return undefined;
  }
}

/** Reads a plan from JSON. @returns undefined if it is not a plan of this format. */
function planFromJson(json: unknown): DevicePlan | undefined {
  if (!isRecord(json) || json["format"] !== format) return undefined;
  const { deviceId, revision, discoveredAt, credential, sysObjectId, sysName, sysDescr } = json;
  const deviceGroups = readList(json["deviceGroups"], readText);
  const objects = readList(json["objects"], readObject);
  const learnt = readLearnt(json["learnt"]);
  const facts = readList(json["facts"] ?? [], readFact);
  const marks = readList(json["marks"], readMark);
  if (typeof deviceId !== "string" || typeof revision !== "string") return undefined;
  if (typeof discoveredAt !== "number" || !Number.isInteger(credential) || Number(credential) < 0) return undefined;
  if (!deviceGroups || !objects || !learnt || !facts) return undefined;
  return {
    deviceId,
    revision,
    discoveredAt,
    credential: credential as number,
    sysObjectId: Array.isArray(sysObjectId) ? parseOid(sysObjectId.join(".")) : undefined,
    sysName: readText(sysName),
    sysDescr: readText(sysDescr),
    deviceGroups,
    objects: new Map(objects),
    learnt,
    facts: new Map(facts),
    marks: marks && new Map(marks),
    problem: readText(json["problem"]),
  };
}

function isRecord(json: unknown): json is Record<string, unknown> {
  return typeof json === "object" && json !== null && !Array.isArray(json);
}

function readText(json: unknown): string | undefined {
  return typeof json === "string" ? json : undefined;
}

/** Reads a list; undefined if any item cannot be read. */
function readList<T>(json: unknown, read: (item: unknown) => T | undefined): T[] | undefined {
  if (!Array.isArray(json)) return undefined;
  const items = json.map(read);
  return items.some((item) => item === undefined) ? undefined : (items as T[]);
}

function readObject(json: unknown): [string, PlannedObject] | undefined {
  if (!isRecord(json) || typeof json["id"] !== "string") return undefined;
  const index = readList(json["index"], readIndexPart);
  const attributes = readList(json["attributes"], readAttribute);
  const contexts = readList(json["contexts"] ?? [], readText);
  return index && attributes && contexts && [json["id"], { index, attributes: new Map(attributes), contexts }];
}

function readIndexPart(json: unknown): PlannedIndexPart | undefined {
  if (!isRecord(json)) return undefined;
  const { type, oidText, field, syntax } = json;
  if (typeof type !== "string" || !isIndexType(type) || typeof oidText !== "string" || typeof field !== "string")
    return undefined;
  return typeof syntax === "string" && syntaxes.has(syntax) ? { type, oidText, field, syntax } : undefined;
}

function readAttribute(json: unknown): [string, string] | undefined {
  if (!Array.isArray(json)) return undefined;
  const [name, oid] = json as unknown[];
  return typeof name === "string" && typeof oid === "string" && parseOid(oid) !== undefined ? [name, oid] : undefined;
}

function readFact(json: unknown): [(typeof identityFacts)[number], string] | undefined {
  if (!Array.isArray(json)) return undefined;
  const [name, text] = json as unknown[];
  const fact = identityFacts.find((one) => one === name);
  return fact !== undefined && typeof text === "string" ? [fact, text] : undefined;
}

function readMark(json: unknown): [string, string] | undefined {
  if (!Array.isArray(json)) return undefined;
  const [name, value] = json as unknown[];
  return typeof name === "string" && typeof value === "string" ? [name, value] : undefined;
}

function readLearnt(json: unknown): LearntInterfaces | undefined {
  if (!isRecord(json)) return undefined;
  const descriptions = readList(json["descriptions"], readInterface);
  const names = readList(json["names"], readInterface);
  const ipv4Addresses = readList(json["ipv4Addresses"], readText);
  const inetAddresses = readList(json["inetAddresses"], readText);
  if (!descriptions || !names || !ipv4Addresses || !inetAddresses) return undefined;
  return {
    descriptions: new Map(descriptions),
    names: new Map(names),
    ipv4Addresses: new Set(ipv4Addresses),
    inetAddresses: new Set(inetAddresses),
  };
}

function readInterface(json: unknown): [number, string] | undefined {
  if (!Array.isArray(json)) return undefined;
  const [index, name] = json as unknown[];
  return typeof index === "number" && typeof name === "string" ? [index, name] : undefined;
}

/**
 * Keeps plans across restarts, in one JSON file for each device. It creates the directory if it is missing; with an empty path nothing
 * is kept. Failures to read or write are counted and logged; they cost no more than a discovery.
 */
export class PlanStore {
  readonly #directory: string;
  readonly #failures: Counter;
  readonly #log: Log;
  /** The current write to each file; writes to one file follow each other. */
  readonly #writing = new Map<string, Promise<void>>();

  constructor(directory: string, metrics: Metrics, log: Log) {
    this.#directory = directory;
    this.#log = log;
    this.#failures = metrics.counter("netgloss_snmp_plan_failures_total", "Plans that could not be read or written", {
      operation: ["load", "save", "remove"],
    });
  }

  /** Reads the plan of a device. @returns undefined if there is none that can be read. */
  async load(deviceId: string): Promise<DevicePlan | undefined> {
    if (this.#directory === "") return undefined;
    try {
      const plan = planFromJson(JSON.parse(await readFile(this.#fileOf(deviceId), "utf8")));
      if (plan?.deviceId === deviceId) return plan;
      this.#fail("load", deviceId, new Error("not a plan of this device in a format that is known"));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") this.#fail("load", deviceId, error);
    }
    return undefined;
  }

  /** Replaces the plan as a whole: a reader sees either the old plan or the new one. */
  save(plan: DevicePlan): Promise<void> {
    return this.#inOrder(plan.deviceId, () =>
      this.#replace(this.#fileOf(plan.deviceId), planText(plan), plan.deviceId),
    );
  }

  remove(deviceId: string): Promise<void> {
    return this.#inOrder(deviceId, () => this.#delete(this.#fileOf(deviceId), deviceId));
  }

  /** Stores the time at which polling stopped, in ms since the epoch. */
  async noteStop(at: number): Promise<void> {
    if (this.#directory === "") return;
    await this.#replace(join(this.#directory, stopName), `${Math.round(at)}\n`, stopName);
  }

  /** Takes the time at which an earlier run stopped; it can be taken only once. @returns undefined if the run left none. */
  async takeStop(): Promise<number | undefined> {
    if (this.#directory === "") return undefined;
    const path = join(this.#directory, stopName);
    const text = await readFile(path, "utf8").catch(() => "");
    await this.#delete(path, stopName);
    return /^\d{1,15}\n$/.test(text) ? Number(text) : undefined;
  }

  /** Removes the plans of all other devices, and the files of interrupted saves. Other files stay. */
  async keepOnly(deviceIds: ReadonlySet<string>): Promise<void> {
    if (this.#directory === "") return;
    const known = new Set(Array.from(deviceIds, (deviceId) => this.#fileOf(deviceId)));
    const names = await readdir(this.#directory).catch(() => []);
    for (const path of names.map((name) => join(this.#directory, name))) {
      const plan = path.endsWith(temporaryEnd) ? path.slice(0, -temporaryEnd.length) : path;
      if (!plan.endsWith(".json") || (plan === path && known.has(path)) || this.#writing.size > 0) continue;
      const isOurs = plan === path ? (await ownerOf(path)) !== undefined : known.has(plan);
      if (isOurs) await this.#delete(path, path);
    }
  }

  #fileOf(deviceId: string): string {
    return join(this.#directory, `${deviceId.replace(/[^0-9a-z.]/g, "_")}.json`);
  }

  async #replace(path: string, text: string, subject: string): Promise<void> {
    try {
      await makeFolder(this.#directory);
      await replaceFile(path, text);
    } catch (error) {
      this.#fail("save", subject, error);
    }
  }

  async #delete(path: string, subject: string): Promise<void> {
    await rm(path, { force: true }).catch((error: unknown) => this.#fail("remove", subject, error));
  }

  async #inOrder(deviceId: string, write: () => Promise<void>): Promise<void> {
    if (this.#directory === "") return;
    const written = (this.#writing.get(deviceId) ?? Promise.resolve()).then(write);
    this.#writing.set(deviceId, written);
    await written;
    if (this.#writing.get(deviceId) === written) this.#writing.delete(deviceId);
  }

  #fail(operation: "load" | "save" | "remove", device: string, error: unknown): void {
    this.#failures.add(1, { operation });
    this.#log.warn({ operation, device, error }, "the plan of an SNMP device cannot be kept");
  }
}

/** Returns the device of the plan in a file; undefined if there is no such plan or file. */
async function ownerOf(path: string): Promise<string | undefined> {
  try {
    return planFromJson(JSON.parse(await readFile(path, "utf8")))?.deviceId;
  } catch {
    // The file is not a plan, or it is broken; a broken plan is reported when its device needs it.
    return undefined;
  }
}

/** A name that no plan can have. */
const stopName = "last-stop";

const temporaryEnd = ".tmp";

/** Replaces a file. An interrupted save may have left the temporary file. */
async function replaceFile(path: string, text: string): Promise<void> {
  const temporary = `${path}${temporaryEnd}`;
  await rm(temporary, { force: true });
  await replaceContent(nodeFileIo, { target: path, temporary, mode: 0o640 }, Buffer.from(text));
}

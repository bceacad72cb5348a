import { isIndexType, type IndexType } from "../values/decode-index.ts";
import { syntaxes } from "../values/syntax.ts";
import { identityFacts } from "../definitions/identity-rule.ts";
import type { DeviceFacts } from "./describe-device.ts";
import type { Marks } from "./marks.ts";
import type { LearntInterfaces } from "./learn-interfaces.ts";
import { parseOid, type Oid } from "../session/oid.ts";

/** A part of an index as it was when the device was discovered. */
export interface PlannedIndexPart {
  readonly type: IndexType;
  /** Text with a leading dot. */
  readonly oidText: string;
  readonly field: string;
  /** Name of a syntax. */
  readonly syntax: string;
}

/** An object that the device has. */
export interface PlannedObject {
  readonly index: readonly PlannedIndexPart[];
  /** The attributes that the device has: OID (text with a leading dot) by name in the MIB. */
  readonly attributes: ReadonlyMap<string, string>;
  /** The contexts in which it is there; empty: in that of the device. */
  readonly contexts: readonly string[];
}

/** What a discovery found out about a device: how it is asked, and for what. Never changed after it was made. */
export interface DevicePlan {
  /** `ip:port` */
  readonly deviceId: string;
  /** Of the definitions that were looked for. */
  readonly revision: string;
  /** Milliseconds since the epoch. */
  readonly discoveredAt: number;
  /** Which of the device's credentials was accepted, from 0. */
  readonly credential: number;
  readonly sysObjectId: Oid | undefined;
  readonly sysName: string | undefined;
  readonly sysDescr: string | undefined;
  readonly deviceGroups: readonly string[];
  /** By `MIB::object`. */
  readonly objects: ReadonlyMap<string, PlannedObject>;
  readonly learnt: LearntInterfaces;
  readonly facts: DeviceFacts;
  /** What changes with its interfaces and modules; undefined in plans of earlier versions. */
  readonly marks: Marks | undefined;
  /** What is missing, in words. */
  readonly problem: string | undefined;
}

/** Bumped when plans written before cannot be read any more. */
const format = 2;

export function planToJson(plan: DevicePlan): unknown {
  return {
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
  };
}

/** @returns undefined when it is not a plan of this format. */
export function planFromJson(json: unknown): DevicePlan | undefined {
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

/** All or nothing. */
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

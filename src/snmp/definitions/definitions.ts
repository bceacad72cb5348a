import { RE2JS } from "re2js";
import { type Oid, formatOid } from "../session/ber.ts";
import type { Credential, UsmCredential } from "../session/security.ts";
import type { AuthenticationProtocol, PrivacyProtocol } from "../settings.ts";
import type { Transport } from "../session/peer.ts";
import type { Bounds, EnumTables, FieldDefinition } from "../values/put-value.ts";
import type { IndexType } from "../values/convert-value.ts";
import type { Secret } from "../../base/text/index.ts";

/** Facts about the identity of a device: each is one field of its record of SNMPv2-MIB::system. */
export const identityFacts = ["vendor", "model", "os.name", "os.version", "serial"] as const;
export type IdentityFact = (typeof identityFacts)[number];

/** Facts that ENTITY-MIB gives of the chassis (RFC 6933), or of the first entity where there is none. */
export const entityFacts = ["model", "serial", "software", "manufacturer", "descr"] as const;
export type EntityFact = (typeof entityFacts)[number];

/**
 * A pattern in the syntax of RE2, case not counting. What a device says is matched against it, and so it must not take exponential time:
 * with JavaScript's engine it may.
 */
export class Pattern {
  /** As the file has it. */
  readonly text: string;
  #compiled: RE2JS | undefined;

  constructor(text: string) {
    this.text = text;
  }

  /** Compiled when it is first asked for. @throws for a text that is no pattern. */
  get compiled(): RE2JS {
    return (this.#compiled ??= RE2JS.compile(withoutLineEnds(this.text), RE2JS.CASE_INSENSITIVE));
  }
}

/** A dot is no end of a line, as in JavaScript; to RE2 only a line feed is one. */
function withoutLineEnds(pattern: string): string {
  return pattern.replaceAll(/\\Q.*?(?:\\E|$)|\\.|\[\^?\]?(?:\\.|\[:\w+:\]|[^\]\\])*\]|\./gsu, (part) =>
    part === "." ? String.raw`[^\n\r\x{2028}\x{2029}]` : part,
  );
}

/**
 * One location where a fact may be found. The text there counts when `match` finds something in it: the first group of it, or
 * `value` where that is given.
 */
export interface FactSource {
  readonly from: "value" | "descr" | "oid" | "entity";
  /** The OID of a scalar, or of a column, of which the first instance counts. */
  readonly oid?: Oid;
  readonly entity?: EntityFact;
  readonly match?: Pattern;
  readonly value?: string;
}

/** The identity of devices of a sysObjectID, or of the start of one. Sources are tried in order. */
export interface IdentityRule {
  readonly sources: ReadonlyMap<IdentityFact, readonly FactSource[]>;
  /** Models by what follows the rule's OID in the sysObjectID, as text without a leading dot. */
  readonly models: ReadonlyMap<string, string>;
}

/**
 * Returns the credentials of a device, in the order in which they are tried. The secrets in them are in the clear.
 *
 * @param context which of the agent's contexts is asked.
 */
export function deviceCredentials(device: Device, context = device.context): Credential[] {
  const { version } = device;
  if (version === "3") {
    return device.v3Credentials.map((credential) => ({
      ...usmCredential(credential),
      ...(context !== "" && { contextName: context }),
    }));
  }
  const suffix = context === "" ? "" : `@${context}`;
  return device.communities.map((community) => ({ version, community: `${community.reveal()}${suffix}` }));
}

/** A user, its secrets in the clear. */
export function usmCredential(credential: V3Credential): UsmCredential {
  const { username, authenticationProtocol, authenticationPassphrase, privacyProtocol, privacyPassphrase } = credential;
  return {
    version: "3",
    username,
    authenticationProtocol,
    ...(authenticationPassphrase && { authenticationPassphrase: authenticationPassphrase.reveal() }),
    privacyProtocol,
    ...(privacyPassphrase && { privacyPassphrase: privacyPassphrase.reveal() }),
  };
}

/** The group that stands for the groups that the sysObjectID of a device leads to. */
export const autoGroup = "auto";

/** The group of devices whose sysObjectID leads nowhere. */
export const genericGroup = "generic";

export const versions = ["1", "2c", "3"] as const;
export type SnmpVersion = (typeof versions)[number];

/** A user of SNMPv3. Passphrases are there when their protocol needs one. */
export interface V3Credential {
  readonly username: string;
  readonly authenticationProtocol: AuthenticationProtocol;
  readonly authenticationPassphrase: Secret | undefined;
  readonly privacyProtocol: PrivacyProtocol;
  readonly privacyPassphrase: Secret | undefined;
}

/** A device with its defaults filled in. */
export interface Device {
  /** Identity: `192.0.2.1:161`, `[2001:db8::1]:161`. */
  readonly id: string;
  /** The key in its file. */
  readonly name: string;
  /** Canonical text. */
  readonly ip: string;
  readonly port: number;
  readonly transport: Transport;
  readonly version: SnmpVersion;
  /** The context of the agent that is asked: its contextName, or what follows `@` in a community. Empty: the default. */
  readonly context: string;
  /** In which contexts objects (`MIB::object`) are read, in the place of those that their definitions name. */
  readonly objectContexts: ReadonlyMap<string, readonly string[]>;
  /** In the order in which they are tried; at least one for versions 1 and 2c. */
  readonly communities: readonly Secret[];
  /** In the order in which they are tried; at least one for version 3. */
  readonly v3Credentials: readonly V3Credential[];
  /** Names of device groups, sorted; `auto` for those that the sysObjectID leads to. */
  readonly deviceGroups: readonly string[];
  readonly timeoutMs: number;
  /** The number of times that a request is sent again after a time-out. */
  readonly retries: number;
  /** True if the time-out doubles with each retry. */
  readonly exponentialTimeout: boolean;
  readonly pollIntervalMs: number;
  /** By object type; these come before all others. */
  readonly pollIntervalsMs: ReadonlyMap<string, number>;
  /** The interval after which it is discovered again by itself; 0 is never. */
  readonly rediscoverIntervalMs: number;
  /** The most OIDs in one request. */
  readonly maxOids: number;
  /** 0 is automatic. */
  readonly maxRepetitions: number;
  /** The most rows that are read of one table. */
  readonly maxRows: number;
  readonly maxConcurrentPolls: number;
}

export interface IndexPart extends FieldDefinition {
  readonly type: IndexType;
  readonly oid: Oid;
}

export interface AttributeReference {
  /** `MIB::object` */
  readonly object: string;
  readonly attribute: string;
}

export const metrics = ["gauge", "counter"] as const;
export const rediscoveries = ["OnReset", "OnChange"] as const;

export interface Attribute extends FieldDefinition {
  /** The key in its object: the name in the MIB. */
  readonly name: string;
  /** Without an instance. */
  readonly oid: Oid;
  /** True if the value distinguishes rows, rather than being measured. */
  readonly tag: boolean;
  readonly metric: (typeof metrics)[number] | undefined;
  /** The event of this attribute that makes the device be discovered again: it went back, or it changed at all. */
  readonly rediscover: (typeof rediscoveries)[number] | undefined;
  /** Numbers, as the device sends them, that stand for no reading, with the reason. */
  readonly noValue: ReadonlyMap<number, string> | undefined;
  /** The range of its readings in the record, in the place of the bounds of its unit. */
  readonly range: Bounds | undefined;
  /** Another attribute of the object, with the numbers of it at which this one has no reading. */
  readonly noValueWhen: { readonly attribute: string; readonly is: readonly number[] } | undefined;
  /** The attribute that is not polled where this one is supported. */
  readonly overrides: AttributeReference | undefined;
}

/** A conceptual table, or a group of scalars when `index` is empty (the instance is `.0`). */
export interface ObjectDefinition {
  /** `MIB::object` */
  readonly id: string;
  readonly mib: string;
  readonly object: string;
  /** Name of the object type that gives the interval. */
  readonly type: string | undefined;
  /** In which of the agent's contexts it is read, each with rows of its own. Empty: in that of the device. */
  readonly contexts: readonly string[];
  /** Its own, or that of the object it augments. */
  readonly index: readonly IndexPart[];
  readonly augments: string | undefined;
  /** The attribute that shows whether a device has the object; any of them where the definition names none. */
  readonly discoveryAttribute: Attribute | undefined;
  /** By name in the MIB. */
  readonly attributes: ReadonlyMap<string, Attribute>;
  /** Texts that every record of the object has, by the name of the field. */
  readonly fixed: ReadonlyMap<string, string>;
  /** Texts that records have by what another field of theirs says: by the name of that field, by its value. They come first. */
  readonly fixedBy: FixedBy;
}

export type FixedBy = ReadonlyMap<string, ReadonlyMap<string, ReadonlyMap<string, string>>>;

/** Returns the names of the fields that records have by the value of another field. */
export function namesPutBy(fixedBy: FixedBy): Set<string> {
  const names = new Set<string>();
  for (const byValue of fixedBy.values())
    for (const said of byValue.values()) for (const name of said.keys()) names.add(name);
  return names;
}

/** The kinds of definitions. */
export const kinds = [
  "device",
  "device_group",
  "object_group",
  "object",
  "enum_integer",
  "enum_bitmap",
  "enum_oid",
  "sysoid",
  "identity",
  "object_type",
  "device_default",
] as const;
export type Kind = (typeof kinds)[number];

/** A snapshot of all definitions, resolved and typed. Never changed after it was made. */
export interface Definitions {
  /** Hash of what the definitions mean: not of comments, order, or the files they are in. */
  readonly revision: string;
  /** By identity, `ip:port`. */
  readonly devices: ReadonlyMap<string, Device>;
  /** Object groups by device group. */
  readonly deviceGroups: ReadonlyMap<string, readonly string[]>;
  /** Objects by object group. */
  readonly objectGroups: ReadonlyMap<string, readonly string[]>;
  /** By `MIB::object`. */
  readonly objects: ReadonlyMap<string, ObjectDefinition>;
  readonly enums: EnumTables;
  /** Device groups by sysObjectID or the start of one (text with a leading dot). */
  readonly sysoids: ReadonlyMap<string, readonly string[]>;
  /** Identities of devices, by sysObjectID or the start of one (text with a leading dot). */
  readonly identities: ReadonlyMap<string, IdentityRule>;
  /** Poll interval in milliseconds by object type. */
  readonly objectTypes: ReadonlyMap<string, number>;
  readonly warnings: readonly Finding[];
  /** Hash of what each definition means, by kind and id. */
  readonly hashes: Readonly<Record<Kind, ReadonlyMap<string, string>>>;
}

/**
 * The device groups that a sysObjectID leads to: those of the longest start of it that the definitions know, the whole
 * of it first; else `generic`.
 */
export function groupsOfSysObjectId(definitions: Definitions, sysObjectId: Oid): readonly string[] {
  return sysoidOf(definitions, sysObjectId)?.groups ?? [genericGroup];
}

/** The longest start of a sysObjectID that the definitions know, with its device groups. */
export function sysoidOf(
  definitions: Definitions,
  sysObjectId: Oid,
): { readonly oid: string; readonly groups: readonly string[] } | undefined {
  for (let length = sysObjectId.length; length > 1; length--) {
    const oid = formatOid(sysObjectId.slice(0, length));
    const groups = definitions.sysoids.get(oid);
    if (groups !== undefined && groups.length > 0) return { oid, groups };
  }
  return undefined;
}

/** The device groups that count for a device: those that it names, in the place of `auto` those of its sysObjectID. */
export function deviceGroupsOf(
  definitions: Definitions,
  device: Device,
  sysObjectId: Oid | undefined,
): readonly string[] {
  const named = device.deviceGroups.filter((group) => group !== autoGroup);
  if (named.length > 0 && named.length === device.deviceGroups.length) return named;
  const found = sysObjectId === undefined ? [genericGroup] : groupsOfSysObjectId(definitions, sysObjectId);
  return [...new Set([...found, ...named])];
}

/** All objects that device groups lead to, by id in the order of ids. Groups that do not exist lead nowhere. */
export function reachedObjects(
  definitions: Definitions,
  deviceGroups: readonly string[],
): ReadonlyMap<string, ObjectDefinition> {
  const ids = new Set<string>();
  for (const deviceGroup of deviceGroups) {
    for (const objectGroup of definitions.deviceGroups.get(deviceGroup) ?? []) {
      for (const id of definitions.objectGroups.get(objectGroup) ?? []) ids.add(id);
    }
  }
  const objects = new Map<string, ObjectDefinition>();
  for (const id of [...ids].sort()) {
    const object = definitions.objects.get(id);
    if (object !== undefined) objects.set(id, object);
  }
  return objects;
}

/** In which contexts an object of a device is read; none: in that of the device. */
export function contextsOf(device: Device, object: ObjectDefinition): readonly string[] {
  return device.objectContexts.get(object.id) ?? object.contexts;
}

/** Returns how often a device's objects of a type are polled: its own interval for the type, the type's, the device's. */
export function pollIntervalMs(definitions: Definitions, device: Device, type: string | undefined): number {
  if (type === undefined) return device.pollIntervalMs;
  return device.pollIntervalsMs.get(type) ?? definitions.objectTypes.get(type) ?? device.pollIntervalMs;
}

export type Severity = "error" | "warning";

/** Something wrong with the definition files. Its texts hold no community and no passphrase. */
export interface Finding {
  readonly severity: Severity;
  /** The file, or the directory that could not be read. */
  readonly file: string;
  /** From 1; undefined where the finding is about the whole file. */
  readonly line: number | undefined;
  readonly column: number | undefined;
  /** The definition's id, where it is about one. */
  readonly id: string | undefined;
  readonly message: string;
  /** The name that was probably meant. */
  readonly suggestion: string | undefined;
}

/** `objects/if.yml:12:7: IF-MIB::ifXTable: attribute ifHCInOctets: unknown syntax "Counter46" (did you mean "Counter64"?)` */
export function formatFinding(finding: Finding): string {
  const where = finding.line === undefined ? finding.file : `${finding.file}:${finding.line}:${finding.column}`;
  const about = finding.id === undefined ? "" : `${finding.id}: `;
  const hint = finding.suggestion === undefined ? "" : ` (did you mean "${finding.suggestion}"?)`;
  return `${where}: ${about}${finding.message}${hint}`;
}

/** By file, line and column; those about the whole file first. */
export function compareFindings(a: Finding, b: Finding): number {
  if (a.file !== b.file) return a.file < b.file ? -1 : 1;
  return (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0);
}

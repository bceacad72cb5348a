import { RE2JS } from "re2js";
import { type Oid, formatOid } from "../session/ber.ts";
import type { Credential, UsmCredential } from "../session/security.ts";
import type { AuthenticationProtocol, PrivacyProtocol } from "../settings.ts";
import type { Transport } from "../session/peer.ts";
import type { Bounds, EnumTables, FieldDefinition } from "../values/put-value.ts";
import type { IndexType } from "../values/convert-value.ts";
import type { Secret } from "../../base/text/index.ts";

/** The facts about the identity of a device; each is one field in its record of SNMPv2-MIB::system. */
export const identityFacts = ["vendor", "model", "os.name", "os.version", "serial"] as const;
export type IdentityFact = (typeof identityFacts)[number];

/** The facts that ENTITY-MIB has about the chassis (RFC 6933), or about the first entity if there is no chassis. */
export const entityFacts = ["model", "serial", "software", "manufacturer", "descr"] as const;
export type EntityFact = (typeof entityFacts)[number];

/**
 * A pattern in the syntax of RE2, without regard to case. It is matched against texts from devices, so it must not take exponential
 * time; with JavaScript's engine it could.
 */
export class Pattern {
  /** The text in the file. */
  readonly text: string;
  #compiled: RE2JS | undefined;

  constructor(text: string) {
    this.text = text;
  }

  /** Returns the pattern, compiled at the first use. @throws for a text that is no pattern. */
  get compiled(): RE2JS {
    return (this.#compiled ??= RE2JS.compile(withoutLineEnds(this.text), RE2JS.CASE_INSENSITIVE));
  }
}

/** Returns a pattern whose dots match no line end, as in JavaScript; for RE2 only a line feed is a line end. */
function withoutLineEnds(pattern: string): string {
  return pattern.replaceAll(/\\Q.*?(?:\\E|$)|\\.|\[\^?\]?(?:\\.|\[:\w+:\]|[^\]\\])*\]|\./gsu, (part) =>
    part === "." ? String.raw`[^\n\r\x{2028}\x{2029}]` : part,
  );
}

/**
 * A location where a fact may be found. The text there counts if `match` finds something in it. The fact is then the first group, or
 * `value` if that is given.
 */
export interface FactSource {
  readonly from: "value" | "descr" | "oid" | "entity";
  /** The OID of a scalar, or of a column whose first instance counts. */
  readonly oid?: Oid;
  readonly entity?: EntityFact;
  readonly match?: Pattern;
  readonly value?: string;
}

/** The identity of devices with a sysObjectID or a prefix of it. Sources are tried in order. */
export interface IdentityRule {
  readonly sources: ReadonlyMap<IdentityFact, readonly FactSource[]>;
  /** The models by the part of the sysObjectID after the rule's OID, as text without a leading dot. */
  readonly models: ReadonlyMap<string, string>;
}

/**
 * Returns the credentials of a device, in the order in which they are tried. Their secrets are in the clear.
 *
 * @param context the context of the agent.
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

/** Returns a user with its secrets in the clear. */
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

/** The group that stands for the groups of a device by its sysObjectID. */
export const autoGroup = "auto";

/** The group of devices with an unknown sysObjectID. */
export const genericGroup = "generic";

export const versions = ["1", "2c", "3"] as const;
export type SnmpVersion = (typeof versions)[number];

/** A user of SNMPv3. Passphrases are present if their protocol needs one. */
export interface V3Credential {
  readonly username: string;
  readonly authenticationProtocol: AuthenticationProtocol;
  readonly authenticationPassphrase: Secret | undefined;
  readonly privacyProtocol: PrivacyProtocol;
  readonly privacyPassphrase: Secret | undefined;
}

/** A device with its defaults filled in. */
export interface Device {
  /** The identity: `192.0.2.1:161`, `[2001:db8::1]:161`. */
  readonly id: string;
  /** The key in its file. */
  readonly name: string;
  /** The address as canonical text. */
  readonly ip: string;
  readonly port: number;
  readonly transport: Transport;
  readonly version: SnmpVersion;
  /** The context of the agent: its contextName, or the part after `@` in a community. Empty for the default. */
  readonly context: string;
  /** The contexts in which objects (`MIB::object`) are read, in place of those in their definitions. */
  readonly objectContexts: ReadonlyMap<string, readonly string[]>;
  /** The communities in the order in which they are tried; at least one for versions 1 and 2c. */
  readonly communities: readonly Secret[];
  /** The users in the order in which they are tried; at least one for version 3. */
  readonly v3Credentials: readonly V3Credential[];
  /** The names of device groups, sorted; `auto` stands for those of the sysObjectID. */
  readonly deviceGroups: readonly string[];
  readonly timeoutMs: number;
  /** The number of times that a request is sent again after a time-out. */
  readonly retries: number;
  /** True if the time-out doubles with each retry. */
  readonly exponentialTimeout: boolean;
  readonly pollIntervalMs: number;
  /** The intervals by object type, which take precedence over all others. */
  readonly pollIntervalsMs: ReadonlyMap<string, number>;
  /** The interval of discoveries without another cause; 0 means never. */
  readonly rediscoverIntervalMs: number;
  /** The most OIDs in one request. */
  readonly maxOids: number;
  /** The max-repetitions of GetBulk; 0 means automatic. */
  readonly maxRepetitions: number;
  /** The most rows to read from one table. */
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
  /** The OID without an instance. */
  readonly oid: Oid;
  /** True if the value distinguishes rows and is not a measurement. */
  readonly tag: boolean;
  readonly metric: (typeof metrics)[number] | undefined;
  /** The event of this attribute that causes a discovery: it went back, or it changed in any way. */
  readonly rediscover: (typeof rediscoveries)[number] | undefined;
  /** The numbers, as the device sends them, that mean no reading, with the reason. */
  readonly noValue: ReadonlyMap<number, string> | undefined;
  /** The range of its readings in the record, in place of the bounds of its unit. */
  readonly range: Bounds | undefined;
  /** Another attribute of the object, with its numbers at which this one has no reading. */
  readonly noValueWhen: { readonly attribute: string; readonly is: readonly number[] } | undefined;
  /** The attribute that is not polled if this one is supported. */
  readonly overrides: AttributeReference | undefined;
}

/** A conceptual table, or a group of scalars if `index` is empty (the instance is `.0`). */
export interface ObjectDefinition {
  /** `MIB::object` */
  readonly id: string;
  readonly mib: string;
  readonly object: string;
  /** The name of the object type, which determines the interval. */
  readonly type: string | undefined;
  /** The contexts of the agent in which it is read, each with rows of its own. Empty for that of the device. */
  readonly contexts: readonly string[];
  /** Its own index, or that of the object that it augments. */
  readonly index: readonly IndexPart[];
  readonly augments: string | undefined;
  /** The attribute that shows whether a device has the object; any attribute if the definition names none. */
  readonly discoveryAttribute: Attribute | undefined;
  /** The attributes by name in the MIB. */
  readonly attributes: ReadonlyMap<string, Attribute>;
  /** The texts that every record of the object has, by the name of the field. */
  readonly fixed: ReadonlyMap<string, string>;
  /**
   * The texts that records have by the value of another of their fields: by the name of that field, then by its value. They come first.
   */
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

/** A snapshot of all definitions, resolved and typed. It never changes. */
export interface Definitions {
  /** A hash of the meaning of the definitions, independent of comments, order, and file names. */
  readonly revision: string;
  /** The devices by identity, `ip:port`. */
  readonly devices: ReadonlyMap<string, Device>;
  /** The object groups by device group. */
  readonly deviceGroups: ReadonlyMap<string, readonly string[]>;
  /** The objects by object group. */
  readonly objectGroups: ReadonlyMap<string, readonly string[]>;
  /** The objects by `MIB::object`. */
  readonly objects: ReadonlyMap<string, ObjectDefinition>;
  readonly enums: EnumTables;
  /** The device groups by sysObjectID or a prefix of it (text with a leading dot). */
  readonly sysoids: ReadonlyMap<string, readonly string[]>;
  /** The identities of devices by sysObjectID or a prefix of it (text with a leading dot). */
  readonly identities: ReadonlyMap<string, IdentityRule>;
  /** The poll interval in ms by object type. */
  readonly objectTypes: ReadonlyMap<string, number>;
  readonly warnings: readonly Finding[];
  /** A hash of the meaning of each definition, by kind and id. */
  readonly hashes: Readonly<Record<Kind, ReadonlyMap<string, string>>>;
}

/**
 * Returns the device groups of a sysObjectID: those of its longest known prefix, which may be the whole OID; `generic` if none is known.
 */
export function groupsOfSysObjectId(definitions: Definitions, sysObjectId: Oid): readonly string[] {
  return sysoidOf(definitions, sysObjectId)?.groups ?? [genericGroup];
}

/** Returns the longest known prefix of a sysObjectID, with its device groups. */
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

/** Returns the effective device groups of a device: its own, with those of its sysObjectID in place of `auto`. */
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

/** Returns all objects of device groups, by id in the order of ids. Groups that do not exist have no objects. */
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

/** Returns the contexts in which an object of a device is read; none for that of the device. */
export function contextsOf(device: Device, object: ObjectDefinition): readonly string[] {
  return device.objectContexts.get(object.id) ?? object.contexts;
}

/** Returns the interval of a device's objects of a type: the device's for the type, else the type's, else the device's general one. */
export function pollIntervalMs(definitions: Definitions, device: Device, type: string | undefined): number {
  if (type === undefined) return device.pollIntervalMs;
  return device.pollIntervalsMs.get(type) ?? definitions.objectTypes.get(type) ?? device.pollIntervalMs;
}

export type Severity = "error" | "warning";

/** A fault in the definition files. Its texts contain no community and no passphrase. */
export interface Finding {
  readonly severity: Severity;
  /** The file, or the directory that could not be read. */
  readonly file: string;
  /** The line, from 1; undefined if the finding concerns the whole file. */
  readonly line: number | undefined;
  readonly column: number | undefined;
  /** The id of the definition, if the finding concerns one. */
  readonly id: string | undefined;
  readonly message: string;
  /** The name that was probably meant. */
  readonly suggestion: string | undefined;
}

/**
 * Formats a finding: `objects/if.yml:12:7: IF-MIB::ifXTable: attribute ifHCInOctets: unknown syntax "Counter46" (did you mean
 * "Counter64"?)`
 */
export function formatFinding(finding: Finding): string {
  const where = finding.line === undefined ? finding.file : `${finding.file}:${finding.line}:${finding.column}`;
  const about = finding.id === undefined ? "" : `${finding.id}: `;
  const hint = finding.suggestion === undefined ? "" : ` (did you mean "${finding.suggestion}"?)`;
  return `${where}: ${about}${finding.message}${hint}`;
}

/** Orders findings by file, line and column; those about a whole file come first. */
export function compareFindings(a: Finding, b: Finding): number {
  if (a.file !== b.file) return a.file < b.file ? -1 : 1;
  return (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0);
}

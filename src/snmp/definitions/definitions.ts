import type { Oid } from "../session/oid.ts";
import type { Transport } from "../session/peer.ts";
import type { AuthenticationProtocol, PrivacyProtocol } from "../session/credential.ts";
import type { Bounds } from "../values/plausibility.ts";
import type { EnumTables, FieldDefinition } from "../values/put-value.ts";
import type { IndexType } from "../values/decode-index.ts";
import type { IdentityRule } from "./identity-rule.ts";
import type { Finding } from "./finding.ts";
import type { Secret } from "../../base/text/index.ts";

/** What a device can be of; `auto` stands for the groups that its sysObjectID leads to. */
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
  /** Which of the agent's contexts is asked: its contextName, or what follows `@` in a community. Empty: the default. */
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
  /** How often a request is sent again after a time-out. */
  readonly retries: number;
  /** Whether the time-out doubles with each retry. */
  readonly exponentialTimeout: boolean;
  readonly pollIntervalMs: number;
  /** By object type; these come before all others. */
  readonly pollIntervalsMs: ReadonlyMap<string, number>;
  /** How often it is discovered again by itself; 0 is never. */
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
  /** Whether the value distinguishes rows, rather than being measured. */
  readonly tag: boolean;
  readonly metric: (typeof metrics)[number] | undefined;
  /** What about this attribute makes the device be discovered again: it went back, or it changed at all. */
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
  /** What devices are, by sysObjectID or the start of one (text with a leading dot). */
  readonly identities: ReadonlyMap<string, IdentityRule>;
  /** Poll interval in milliseconds by object type. */
  readonly objectTypes: ReadonlyMap<string, number>;
  readonly warnings: readonly Finding[];
  /** Hash of what each definition means, by kind and id. */
  readonly hashes: Readonly<Record<Kind, ReadonlyMap<string, string>>>;
}

import { askEach } from "../session/session.ts";
import { formatOid, oidStartsWith, type Oid } from "../session/ber.ts";
import type { Definitions, Device, Pattern } from "../definitions/definitions.ts";
import {
  identityFacts,
  type EntityFact,
  type FactSource,
  type IdentityFact,
  type IdentityRule,
} from "../definitions/definitions.ts";
import type { Session } from "../session/session.ts";
import { hasNoValue, type VarBind } from "../session/ber.ts";
import { walk } from "../session/walk.ts";
import { getScalars } from "../session/walk.ts";
import type { Identity } from "./identify.ts";

/** The facts about a device that it provides. */
export type DeviceFacts = ReadonlyMap<IdentityFact, string>;

interface PlacedRule {
  /** The prefix of the sysObjectID to which the rule applies. */
  readonly oid: Oid;
  readonly rule: IdentityRule;
}

/** entPhysicalTable of ENTITY-MIB (RFC 6933). */
const entPhysicalEntry: Oid = [1, 3, 6, 1, 2, 1, 47, 1, 1, 1, 1];
const entPhysicalClass = 5;
const entityColumns: Readonly<Record<EntityFact, number>> = {
  descr: 2,
  software: 10,
  serial: 11,
  manufacturer: 12,
  model: 13,
};
/** PhysicalClass: chassis(3), stack(11). */
const chassis = new Set([3, 11]);
/** The most entities to read: if the chassis is not among the first ones, it is not found. */
const maxEntities = 300;
/** The most characters of a text on which patterns are run. */
const maxText = 1024;

/** The words that agents and firmware write if they know nothing, and words that are true of every device. */
const emptyWords =
  /^(?:n\/?a|none|null|unknown|undefined|unspecified|default(?: string)?|empty|(?:not|un)[ -]?(?:available|specified|applicable|set|defined|known)|to be filled by o\.?e\.?m\.?|o\.?e\.?m\.?|system (?:product name|version|manufacturer|serial number)|(?:link|controller|chassis|switch|router|firewall|device|system|module|stack|server|agent|unit|product|model|version|serial|board|card)(?: ?#?\d{1,2})?)$/i;

/**
 * Reports whether a text is a useful fact about a device. Its sysName is not, and neither is a whole sysDescr of many words.
 *
 * @param isNamed true if the text is from a column for models, or a part of a longer text: many devices have their model as sysName.
 */
function isOfUse(fact: IdentityFact, text: string, isNamed: boolean, { sysName, sysDescr }: Identity): boolean {
  if (!/[\p{L}\p{N}]/u.test(text) || emptyWords.test(text)) return false;
  if (fact === "serial") return !/^[0.:-]+$/.test(text);
  if (fact === "os.version" && (text.startsWith("#") || !/\d/.test(text))) return false;
  return (isNamed || text !== sysName) && (text !== sysDescr || text.split(/\s+/).length <= 4);
}

/**
 * Finds the facts about a device by the rules of all prefixes of its sysObjectID, the longest first. Each fact is from the first source
 * with a useful text. A model by sysObjectID counts if no source gives one.
 *
 * @throws SnmpError if the agent stops answering.
 */
export async function describeDevice(
  session: Session,
  { identities }: Definitions,
  identity: Identity,
  { maxOids, maxRepetitions }: Pick<Device, "maxOids" | "maxRepetitions">,
): Promise<DeviceFacts> {
  const { sysObjectId, sysDescr } = identity;
  const rules = rulesOf(identities, sysObjectId ?? []);
  const sources = rules.flatMap(({ rule }) => [...rule.sources.values()].flat());
  const texts = await readFirstInstances(session, oidsOf(sources), maxOids);
  const entity = sources.some(({ from }) => from === "entity")
    ? await readChassis(session, maxRepetitions)
    : new Map<number, string>();
  const textAt = ({ from, oid, entity: column, value }: FactSource): string | undefined => {
    if (from === "descr") return sysDescr;
    if (from === "oid") return texts.get(formatOid(oid as Oid));
    return from === "entity" ? entity.get(entityColumns[column as EntityFact]) : value;
  };
  const find = (fact: IdentityFact, notThis?: string): string | undefined =>
    firstOf(rules, ({ rule }) =>
      firstFact(
        rule.sources.get(fact) ?? [],
        textAt,
        (text, isNamed) => text !== notThis && isOfUse(fact, text, isNamed, identity),
      ),
    );
  const serial = find("serial");
  const modelById = (): string | undefined => firstOf(rules, ({ rule, oid }) => modelOf(rule, oid, sysObjectId ?? []));
  const facts = new Map<IdentityFact, string>();
  for (const fact of identityFacts) {
    const found = fact === "model" ? (find(fact, serial) ?? modelById()) : find(fact);
    if (found !== undefined) facts.set(fact, found);
  }
  return facts;
}

function firstOf<T>(items: readonly T[], find: (item: T) => string | undefined): string | undefined {
  for (const item of items) {
    const found = find(item);
    if (found !== undefined) return found;
  }
  return undefined;
}

function rulesOf(identities: ReadonlyMap<string, IdentityRule>, sysObjectId: Oid): PlacedRule[] {
  const rules: PlacedRule[] = [];
  for (let length = sysObjectId.length; length > 0; length--) {
    const oid = sysObjectId.slice(0, length);
    const rule = identities.get(formatOid(oid));
    if (rule !== undefined) rules.push({ oid, rule });
  }
  return rules;
}

function modelOf({ models }: IdentityRule, oid: Oid, sysObjectId: Oid): string | undefined {
  for (let length = sysObjectId.length; length > oid.length && models.size > 0; length--) {
    const model = models.get(sysObjectId.slice(oid.length, length).join("."));
    if (model !== undefined) return model;
  }
  return undefined;
}

function firstFact(
  sources: readonly FactSource[],
  textAt: (source: FactSource) => string | undefined,
  isWanted: (text: string, isNamed: boolean) => boolean,
): string | undefined {
  for (const source of sources) {
    const text = textAt(source)?.slice(0, maxText);
    if (text === undefined || text === "") continue;
    const groups = source.match === undefined ? [] : groupsOf(source.match, text);
    if (groups === undefined) continue;
    if (source.value !== undefined) return source.value;
    const found = (groups.find((group) => group !== null) ?? text).trim();
    if (isWanted(found, source.entity === "model" || found !== text.trim())) return found;
  }
  return undefined;
}

/** Returns the groups of the first match, null for groups without a part in it; undefined without a match. */
function groupsOf(pattern: Pattern, text: string): readonly (string | null)[] | undefined {
  const matcher = pattern.compiled.matcher(text);
  return matcher.find() ? Array.from({ length: matcher.groupCount() }, (_, i) => matcher.group(i + 1)) : undefined;
}

function oidsOf(sources: readonly FactSource[]): Oid[] {
  const oids = new Map<string, Oid>();
  for (const { oid } of sources) if (oid !== undefined) oids.set(formatOid(oid), oid);
  return [...oids.values()];
}

/** Reads the first instance of each OID as text, by the OID as text. An OID whose answer is an error is left out. */
async function readFirstInstances(
  session: Session,
  oids: readonly Oid[],
  maxOids: number,
): Promise<ReadonlyMap<string, string>> {
  const texts = new Map<string, string>();
  // Agents differ in the number of long texts that fit into an answer.
  await askEach(session, oids, { type: "getNext", maxOids: Math.min(maxOids, 8) }, (i, answer) => {
    const oid = oids[i] as Oid;
    if (typeof answer === "number" || hasNoValue(answer) || !oidStartsWith(answer.oid, oid)) return;
    const text = textOfValue(answer);
    if (text !== undefined) texts.set(formatOid(oid), text);
  });
  return texts;
}

/** Reads the chassis of ENTITY-MIB, by the number of the column. */
async function readChassis(session: Session, maxRepetitions: number): Promise<ReadonlyMap<number, string>> {
  let found: number | undefined;
  let first: number | undefined;
  const root = [...entPhysicalEntry, entPhysicalClass];
  await walk(
    session,
    [root],
    (_, varbinds) => {
      for (const { oid, value } of varbinds) {
        const index = oid[root.length];
        first ??= index;
        if (typeof value === "number" && chassis.has(value)) found ??= index;
      }
    },
    { maxRepetitions, maxValues: maxEntities, stop: () => (found === undefined ? undefined : "found") },
  );
  const index = found ?? first;
  const texts = new Map<number, string>();
  if (index === undefined) return texts;
  const columns = Object.values(entityColumns);
  const oids = columns.map((column) => [...entPhysicalEntry, column, index]);
  await getScalars(session, oids, oids.length, (i, value) => {
    const text = textOfValue(value);
    if (text !== undefined) texts.set(columns[i] as number, text);
  });
  return texts;
}

function textOfValue({ type, value }: VarBind): string | undefined {
  if (type === "ObjectIdentifier") return formatOid(value);
  if (!(value instanceof Uint8Array)) return value === null ? undefined : String(value);
  const text = Buffer.from(value)
    .toString("utf8")
    .replace(/(?<!\0)\0+$/, "")
    .trim();
  return text === "" || /[\p{Cc}\uFFFD]/u.test(text.replace(/[\r\n\t]/g, "")) ? undefined : text;
}

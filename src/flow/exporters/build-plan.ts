import { convertType, toUnsigned } from "../elements/mapping/convert-type.ts";
import { convertField } from "../elements/mapping/convert-field.ts";
import {
  type ElementNames,
  netflow9ScopeNames,
  outerNames,
  registeredElements,
  type ElementSource,
  type OuterHeader,
} from "../elements/mapping/element-names.ts";
import type { Convert, FieldSource } from "../elements/mapping/convert-type.ts";
import { variableLength, type Template } from "./plan.ts";
import { elementKey, reversePen } from "../elements/registry/registry.ts";
import { samplerElements, samplingElements } from "./sampling.ts";
import { buildSlowSteps, hasSection, headerLevels, slowFields, type HeaderLevels } from "./template-structure.ts";
import { firewallPlan } from "./firewall-flows.ts";
import type { OptionsScope, Output, Plan, Presence, Step } from "./plan.ts";

/** Behind all elements that have these names by themselves. */
const lastPreference = 1_000_000;

const startName = "flow.start.timestamp";
const endName = "flow.end.timestamp";

/** observationTimeSeconds, -Milliseconds, -Microseconds, -Nanoseconds. */
const firstObservationTime = 322;
const lastObservationTime = 325;

/** A record that has a packet is of that packet: it begins and ends when that was observed, where nothing else says so. */
function withObservationTime(group: ElementFields): ElementFields {
  const { pen, id, names, fallback } = group;
  if (pen !== 0 || id < firstObservationTime || id > lastObservationTime) return group;
  const times = [startName, endName].map((name) => ({
    name,
    convert: fallback.convert,
    preference: lastPreference - id,
  }));
  return { ...group, names: [...names, ...times] };
}

/** Elements of the start of a flow that can be reckoned with, the exact ones first; and all of them. */
const starts = { known: [152, 154, 156, 150, 22], all: [150, 152, 154, 156, 158, 22] };
const ends = { known: [153, 155, 157, 151, 21], all: [151, 153, 155, 157, 159, 21] };
/** flowDurationMilliseconds, flowDurationMicroseconds: how many of them are a millisecond. */
const durations: ReadonlyMap<number, number> = new Map([
  [161, 1],
  [162, 1000],
]);

/**
 * The end of a flow where its template has the start and the duration alone, and the start where it has the end: as a further name of the
 * duration.
 */
function durationNames(template: Template): (group: ElementFields) => ElementFields {
  const { fields } = template;
  const find = (ids: readonly number[]): number =>
    ids.reduce(
      (found, id) => (found >= 0 ? found : fields.findIndex((field) => field.pen === 0 && field.id === id)),
      -1,
    );
  const duration = find([...durations.keys()]);
  if (duration < 0) return (group) => group;
  const [start, end] = [find(starts.known), find(ends.known)];
  const isStart = start >= 0 && find(ends.all) < 0;
  if (!isStart && (end < 0 || find(starts.all) >= 0)) return (group) => group;
  const from = isStart ? start : end;
  const distance = distanceOf(template, duration, from);
  const { id, length } = fields[from] as Template["fields"][number];
  const unit = durations.get((fields[duration] as Template["fields"][number]).id) ?? 1;
  if (distance === undefined || length === variableLength) return (group) => group;
  const convert: Convert = (source, at, durationLength) => {
    const passed = toUnsigned(source, at, durationLength);
    const time = millisecondsOf(source, at + distance, length, id);
    if (typeof passed !== "number" || time === undefined) return undefined;
    return source.times.milliseconds(time + Math.round(passed / unit) * (isStart ? 1 : -1));
  };
  const name = { name: isStart ? endName : startName, convert, preference: lastPreference };
  return (group) => (group.fields.includes(duration) ? withName(group, name) : group);
}

function withName(group: ElementFields, name: ElementNames["names"][number]): ElementFields {
  return group.fields.length > 1 ? group : { ...group, names: [...group.names, name] };
}

/** Returns how many bytes one field is behind another in each record; undefined where that varies. */
function distanceOf({ fields }: Template, from: number, to: number): number | undefined {
  const between = fields.slice(Math.min(from, to), Math.max(from, to));
  // A field of one byte is read by what that byte says alone.
  if (fields[from]?.length === 1 || between.some(({ length }) => length === variableLength)) return undefined;
  const bytes = between.reduce((sum, { length }) => sum + length, 0);
  return to > from ? bytes : -bytes;
}

const timesOf: ReadonlyMap<number, Convert> = new Map([
  ...[21, 22].map((id) => [id, convertField.uptime] as const),
  ...[150, 151].map((id) => [id, convertType.dateTimeSeconds] as const),
  ...[152, 153].map((id) => [id, convertType.dateTimeMilliseconds] as const),
  ...[154, 155].map((id) => [id, convertType.dateTimeMicroseconds] as const),
  ...[156, 157].map((id) => [id, convertType.dateTimeNanoseconds] as const),
]);

/** A time of an element in milliseconds since the epoch, whole. */
function millisecondsOf(source: FieldSource, at: number, length: number, id: number): number | undefined {
  const text = timesOf.get(id)?.(source, at, length);
  const time = typeof text === "string" ? Date.parse(text) : Number.NaN;
  return Number.isNaN(time) ? undefined : time;
}

const paddingOctets = 210;
const systemInitTimeMilliseconds = 160;
/** initiatorOctets, responderOctets, initiatorPackets, responderPackets. */
const initiatorElements: ReadonlySet<number> = new Set([231, 232, 298, 299]);

export interface PlanOptions {
  /** Default: those of the registries. */
  readonly elements?: ElementSource;
  /** True if a record of both directions becomes one of each. Default: no. */
  readonly splitBiflows?: boolean;
}

/** {@link buildPlan} with its options given. */
export type PlanTemplate = (template: Template) => Plan | undefined;

/**
 * Works out how records of a template are read.
 *
 * @returns undefined when a record would take no bytes: a set would hold any number of them.
 */
export function buildPlan(template: Template, options: PlanOptions = {}): Plan | undefined {
  const plan = planOf(template, options);
  if (plan === undefined) return undefined;
  const { elements = registeredElements } = options;
  const firewall = firewallPlan(template, elements, (of, source) => planOf(of, { ...options, elements: source }));
  return firewall === undefined ? plan : { ...plan, firewall };
}

function planOf(template: Template, options: PlanOptions): Plan | undefined {
  const { fields } = template;
  const minLength = fields.reduce((sum, { length }) => sum + (length === variableLength ? 1 : length), 0);
  if (minLength === 0) return undefined;
  const { elements = registeredElements, splitBiflows = false } = options;
  const slowSteps = buildSlowSteps(template, elements, splitBiflows);
  return {
    template,
    steps: buildSteps(template, elements, slowFields(slowSteps)),
    slowSteps,
    lengths: fields.map(({ length }) => length),
    hasVariableLength: fields.some(({ length }) => length === variableLength),
    minLength,
    exporterFields: exporterFields(template),
    bootTimeField: fields.findIndex(({ pen, id }) => pen === 0 && id === systemInitTimeMilliseconds),
    hasInitiator: fields.some(({ pen, id }) => pen === 0 && initiatorElements.has(id)),
    namesSampling: fields.some(({ pen, id }) => pen === 0 && samplingElements.has(id)),
    hasAddresses:
      template.scopeCount === undefined && fields.some(({ pen, id }) => pen === 0 && addressElements.has(id)),
    namesSampler:
      template.scopeCount === undefined && fields.some(({ pen, id }) => pen === 0 && samplerElements.has(id)),
    firewall: undefined,
    scope: optionsScope(template),
  };
}

/** The addresses of flows: IPv4, IPv6, MAC. */
export const addressElements: ReadonlySet<number> = new Set([8, 12, 27, 28, 56, 57, 80, 81]);

/** Scopes of NetFlow v9 (RFC 3954 section 6.1): system, interface, template. */
const ownScopes: ReadonlySet<number> = new Set([1, 2, 5]);
const observationDomainId = 149;
/**
 * Elements as scopes: the "system" of NetFlow v9, which some exporters send in IPFIX, interfaces, samplers, exporters by address,
 * templates, processes of the exporter, observation domains. Applications, VRFs and others narrow what is said to something that is no
 * part of sampling.
 */
const ownScopeElements: ReadonlySet<number> = new Set([1, 10, 14, 48, 130, 131, 143, 144, 145, 149, 252, 253, 302]);

function optionsScope({ dialect, fields, scopeCount = 0 }: Template): OptionsScope {
  const scopes = fields.slice(0, scopeCount);
  const own = dialect === "netflow9" ? ownScopes : ownScopeElements;
  return {
    isForeign: scopes.some(({ pen, id }) => pen !== 0 || !own.has(id)),
    namesDomain: dialect === "ipfix" && scopes.some(({ pen, id }) => pen === 0 && id === observationDomainId),
  };
}

/** exporterIPv4Address and exporterIPv6Address, with the length of their values. */
const exporterElements = [
  [130, 4],
  [131, 16],
] as const;

/** The fields that name the exporter, IPv4 first. */
function exporterFields({ fields }: Template): number[] {
  return exporterElements.flatMap(([element, length]) =>
    fields.flatMap((field, i) => (field.pen === 0 && field.id === element && field.length === length ? [i] : [])),
  );
}

/** A field under one name. */
interface Claim {
  readonly output: Output;
  readonly preference: number;
  /** True for a counter that counts from the beginning of the flow, not since the last record. */
  readonly isTotal: boolean;
}

type NamesOf = (group: ElementFields) => ElementNames;

function buildSteps(template: Template, elements: ElementSource, slow: ReadonlySet<number>): Step[] {
  const levels = headerLevels(template);
  const duration = durationNames(template);
  const isOfPacket = hasSection(template);
  const names: NamesOf = (group) => duration(isOfPacket ? withObservationTime(group) : group);
  if (levels === undefined)
    return stepsOf(
      groupByElement(template, elements, (field) => !slow.has(field)),
      { names },
    );
  const headers = headerSteps(template, elements, levels);
  const taken = new Set(headers.flatMap(({ outputs }) => outputs.map(({ name }) => name)));
  const isPlain = (field: number): boolean => !slow.has(field) && !levels.fields.some((fields) => fields.has(field));
  return [...headers, ...stepsOf(groupByElement(template, elements, isPlain), { names, taken })];
}

/**
 * The steps for the fields of headers around one another. The innermost header that is in the packet is the flow's; one that is
 * all zeros leaves its addresses under the names of their elements where these are of its address family alone.
 */
function headerSteps(template: Template, elements: ElementSource, levels: HeaderLevels): Step[] {
  const { fields, addresses, ofFamily } = levels;
  const groupsOf = (level: ReadonlySet<number>): readonly ElementFields[] =>
    groupByElement(template, elements, (field) => level.has(field));
  const groups = fields.map(groupsOf);
  const zeroGroups = ofFamily.map(groupsOf);
  const presence = (level: number, isSet: boolean): Presence => ({ fields: addresses[level] ?? [], isSet });
  const outermost = presence(0, true);
  const below = (header: OuterHeader) => (group: ElementFields) => outerNames(group, group.id, header);
  const steps: Step[] = [];
  const absent: Presence[] = [];
  for (let flow = fields.length - 1; flow >= 0; flow--) {
    const when = flow === 0 ? [...absent] : [...absent, presence(flow, true)];
    steps.push(...stepsOf(groups[flow] ?? [], { when }));
    for (const zero of zeroGroups.slice(flow + 1)) steps.push(...stepsOf(zero, { when, names: ofElement }));
    if (flow > 0) {
      steps.push(...stepsOf(groups[0] ?? [], { when: [...when, outermost], names: below("outer") }));
      steps.push(...stepsOf(zeroGroups[0] ?? [], { when: [...when, presence(0, false)], names: ofElement }));
    }
    if (flow > 1)
      steps.push(...stepsOf(groups[1] ?? [], { when: [...when, presence(1, true)], names: below("middle") }));
    absent.push(presence(flow, false));
  }
  return steps;
}

/** The names of an element that has none of ours. */
function ofElement(group: ElementFields): ElementNames {
  return { ...group, names: [{ ...group.fallback, preference: 0 }] };
}

/** So many of a template's fields of one element may have further names; each may be all of them. */
const maxTagged = 16;

interface StepOptions {
  /** The conditions of all the steps. */
  readonly when?: readonly Presence[];
  /** Default: the names of the elements. */
  readonly names?: NamesOf | undefined;
  /** Names that nothing here can have. */
  readonly taken?: ReadonlySet<string>;
}

/** The steps for some elements of a template. */
function stepsOf(
  groups: readonly ElementFields[],
  { when, names = (group) => group, taken }: StepOptions = {},
): Step[] {
  const claims = new Map<string, Claim[] | Step>();
  for (const group of groups) {
    const { names: own, fallback, takesEmpty, tagged = [] } = names(group);
    const last = group.fields.at(-1) as number;
    const isRepeated = group.fields.length > 1;
    if (isRepeated) {
      // One name has one type: only those of the registries may be arrays.
      const { name, convert } = fallback;
      const all = group.fields.map((field) => ({ field, name, convert, fallback, takesEmpty }));
      const outputs = all as [Output, ...Output[]];
      claims.set(fallback.name, { kind: "list", outputs, when });
    }
    const isTotal = (group.pen === 0 || group.pen === reversePen) && totalCounts.has(group.id);
    const claim = (output: Output, preference: number): void => {
      const others = claims.get(output.name);
      if (Array.isArray(others)) others.push({ output, preference, isTotal });
      else claims.set(output.name, [{ output, preference, isTotal }]);
    };
    own.forEach(({ name, convert, preference }, i) => {
      if (isRepeated && name === fallback.name) return;
      // All values of a repeated element are in its list.
      const lost = i === 0 && !isRepeated ? fallback : undefined;
      claim({ field: last, name, convert, fallback: lost, takesEmpty }, preference);
    });
    for (const { name, convert } of tagged) {
      for (const field of group.fields.slice(0, maxTagged)) {
        claim({ field, name, convert, fallback: undefined, takesEmpty }, lastPreference);
      }
    }
  }
  return [...claims].flatMap(([name, those]) => {
    if (!Array.isArray(those)) return [those];
    if (taken?.has(name) === true) return those.flatMap(({ output }) => plainStep(output, when));
    return stepsOfName(those, when);
  });
}

/** octetTotalCount, postOctetTotalCount, layer2OctetTotalCount, packetTotalCount, postPacketTotalCount; of either direction. */
const totalCounts: ReadonlySet<number> = new Set([85, 171, 353, 86, 172]);

/**
 * The steps for one name. A total does not compete with a count since the last record, although that is zero: it would count
 * again what earlier records have counted.
 */
function stepsOfName(claims: readonly Claim[], when: Step["when"]): Step[] {
  const ranked = claims.toSorted((a, b) => a.preference - b.preference);
  const deltas = ranked.filter(({ isTotal }) => !isTotal);
  const competing = deltas.length > 0 ? deltas : ranked;
  const others = ranked.filter((claim) => !competing.includes(claim));
  const outputs = competing.map(({ output }) => output) as [Output, ...Output[]];
  return [
    { kind: outputs.length > 1 ? "contest" : "field", outputs, when },
    ...others.flatMap(({ output }) => plainStep(output, when)),
  ];
}

/** The step that gives an output the name of its fallback; none where it has no fallback. */
function plainStep(output: Output, when: Step["when"]): Step[] {
  const { fallback } = output;
  if (fallback === undefined) return [];
  return [{ kind: "field", outputs: [{ ...output, name: fallback.name, convert: fallback.convert }], when }];
}

export interface ElementFields extends ElementNames {
  readonly pen: number;
  readonly id: number;
  /** The fields of the template that are this element. */
  readonly fields: number[];
}

/** The elements of the wanted fields of a template in the order of their first field, without padding and what has no bytes. */
function groupByElement(
  template: Template,
  elements: ElementSource,
  isWanted: (field: number) => boolean,
): readonly ElementFields[] {
  const { fields, dialect, scopeCount = 0 } = template;
  const groups = new Map<number | string, ElementFields>();
  const sides = namedSides(template);
  fields.forEach(({ pen, id, length }, index) => {
    const isNetflow9Scope = dialect === "netflow9" && index < scopeCount;
    if (!isNetflow9Scope && pen === 0 && id === paddingOctets) return;
    // A field without bytes has no value; thousands of them in a small template would cost much time.
    if (!isWanted(index) || length === 0) return;
    const side = sides?.[index];
    if (side !== undefined) {
      groups.set(`${id} ${side}`, { ...sideNames(elements.names(pen, id), id, side), pen, id, fields: [index] });
      return;
    }
    const key = isNetflow9Scope ? -1 - id : elementKey(pen, id);
    const group = groups.get(key);
    if (group === undefined) {
      const names = isNetflow9Scope ? netflow9ScopeNames(id) : elements.names(pen, id);
      groups.set(key, { ...names, pen, id, fields: [index] });
    } else group.fields.push(index);
  });
  return [...groups.values()];
}

const interfaceName = 82;
const interfaceDescription = 83;
/** ingressInterface, egressInterface, and the physical ones. */
const sideElements: ReadonlyMap<number, Side> = new Map([
  [10, "in"],
  [252, "in"],
  [14, "out"],
  [253, "out"],
]);
type Side = "in" | "out";

/**
 * Finds the interfaces that the fields interfaceName and interfaceDescription of a template of flows with both of them name (Open vSwitch):
 * each names the interface before it. Undefined where they are not there for both.
 */
function namedSides({ fields, scopeCount }: Template): readonly (Side | undefined)[] | undefined {
  if (scopeCount !== undefined) return undefined;
  const isNamed = ({ pen, id }: Template["fields"][number]): boolean =>
    pen === 0 && (id === interfaceName || id === interfaceDescription);
  let side: Side | undefined;
  const sides = fields.map((field) => {
    if (field.pen === 0) side = sideElements.get(field.id) ?? side;
    return isNamed(field) ? side : undefined;
  });
  const found = fields.flatMap((field, i) => (isNamed(field) ? [`${field.id} ${sides[i]}`] : []));
  const isForBoth = [interfaceName, interfaceDescription].some((id) =>
    ["in", "out"].every((each) => found.includes(`${id} ${each}`)),
  );
  const isClear = new Set(found).size === found.length && found.every((each) => !each.endsWith("undefined"));
  return isForBoth && isClear ? sides : undefined;
}

function sideNames({ fallback, takesEmpty }: ElementNames, id: number, side: Side): ElementNames {
  const name = `flow.${side}.netif.${id === interfaceName ? "name" : "descr"}`;
  return { names: [{ name, convert: fallback.convert, preference: 0 }], fallback, takesEmpty };
}

import type { LineEnricher } from "../../record/index.ts";
import { panaL7Pen } from "../mapping/convert-field.ts";
import type { Convert } from "../mapping/field-source.ts";
import type { Output, Plan, Step } from "../template/plan.ts";
import { variableLength } from "../template/template.ts";
import type { ByteTable } from "./byte-table.ts";
import { communityIdLength } from "./community-id-code.ts";
import { maxNamesLength } from "./derived-fields.ts";
import { maxNumberAddition } from "./number-addition.ts";
import { createCodeWriter, type CodeWriter } from "./text-run.ts";
import { isCodePoint, isPure, isTotal, valueKind, type ValueKind } from "./value-kind.ts";

/** The source of a {@link WriteRecord}, and what it needs to know. */
export interface RecordCode extends LineBounds {
  /** The body of a function; it uses the names of {@link RecordTools}. */
  readonly source: string;
  /** By position: `tables` in the source. */
  readonly tables: readonly ByteTable[];
}

/** What is known of the lines of a plan beforehand. */
export interface LineBounds {
  /** No line is longer than the head and this many bytes, and so many more for each byte of the record. */
  readonly maxLength: number;
  readonly maxLengthPerByte: number;
  /** Where records have the addresses of both ends, if always at the same place. */
  readonly addresses: readonly AddressPlace[];
}

/** An address at the same place in every record of a plan. */
export interface AddressPlace {
  /** Of `lineObjects`. */
  readonly object: number;
  readonly offset: number;
  readonly length: number;
}

export interface RecordCodeOptions {
  readonly communityId: boolean;
  readonly enricher: LineEnricher;
  /** What steps make of one byte. */
  readonly byteTable: (steps: readonly Step[]) => ByteTable;
}

/** Fields that something else in the line follows from, and the variables that keep them. -1 is absent. */
const numberVariables: Readonly<Record<string, string>> = {
  "flow.src.l4.port.id": "sourcePort",
  "flow.dst.l4.port.id": "destinationPort",
  "l4.proto.id": "protocol",
  "icmp.type.id": "icmpType",
  "icmp.code.id": "icmpCode",
  "flow.bytes": "octets",
  "flow.packets": "packets",
  "flow.src.as.asn": "sourceSystem",
  "flow.dst.as.asn": "destinationSystem",
};
const addressVariables: Readonly<Record<string, string>> = {
  "flow.src.ip.addr": "source",
  "flow.dst.ip.addr": "destination",
};
const presenceVariables: Readonly<Record<string, string>> = {
  "ip.version.ver": "hasVersion",
  "flow.src.vlan.tag.id": "hasSourceVlan",
  "flow.dst.vlan.tag.id": "hasDestinationVlan",
};

/** More bytes than any number, address or time takes, with its quotes. */
const maxScalar = 64;
/** A byte of text becomes at most `\u00xx`. */
const maxPerByte = 6;
/** Type and code of ICMP by the destination port. */
const maxIcmp = 64;
/** The counters' estimates and their rate. */
const maxEstimates = 192;
/** What both ends of a flow add together. */
const maxFinish = 64;

/**
 * Writes the code for the records of a plan: the bytes of the line are those of the interpreter, the enricher and the line
 * buffer, in the same order. Only numbers and texts that were rendered as JSON get into the source.
 *
 * @returns undefined for a plan that is left to the interpreter: something that other fields follow from is of variable
 *   length or a list.
 */
export function recordCode(plan: Plan, options: RecordCodeOptions): RecordCode | undefined {
  const { enricher } = options;
  const { steps } = plan;
  const numbers = enricher.numbers.map(({ field, scope, adds }, i): NumberCode => {
    // Of several that add one name the first that has something counts.
    const before = enricher.numbers.slice(0, i).flatMap((other, j) => (other.adds === adds ? [`added${j}`] : []));
    return { field, scope, adds, before, variable: `number${i}` };
  });
  const watched = new Map<string, string[]>();
  const watch = (name: string, statement: string): void =>
    void watched.set(name, [...(watched.get(name) ?? []), statement]);
  for (const [name, variable] of Object.entries(numberVariables)) watch(name, `${variable} = v;`);
  for (const { field, scope, variable } of numbers) {
    watch(field, `${variable} = v;`);
    if (scope !== undefined) watch(scope, `${variable}Scope = v;`);
  }
  for (const [name, variable] of Object.entries(addressVariables)) {
    watch(name, `${variable}At = a; ${variable}Length = n;`);
  }
  for (const [name, variable] of Object.entries(presenceVariables)) watch(name, `${variable} = true;`);

  const produced = new Set(steps.flatMap(({ outputs }) => outputs.flatMap(namesOf)));
  if (numbers.some(({ adds }) => produced.has(adds))) return undefined;

  const writer = createCodeWriter();
  const tables: ByteTable[] = [];
  const context: StepContext = { plan, writer, watched };
  for (let i = 0; i < steps.length;) {
    const group = byteGroup(plan, steps, i, watched);
    if (group.length > 0) {
      writeGroup(context, group, tables.push(options.byteTable(group)) - 1);
      i += group.length;
    } else if (writeStep(context, steps[i] as Step, i)) i++;
    else return undefined;
  }
  writeRest(writer, options, numbers);

  return {
    source: [
      `let p = copyText(out, at, state.head, 0, state.headLength);`,
      `let ${variables(numbers).join(", ")};`,
      ...uptimeCode(plan),
      writer.source(),
      `return p;`,
    ].join("\n"),
    tables,
    ...lineBounds(plan, tables, enricher),
  };
}

/** @param tables that its bytes are looked up in. */
export function lineBounds(plan: Plan, tables: readonly ByteTable[], { numbers, addresses }: LineEnricher): LineBounds {
  const outputs = plan.steps.flatMap((step) => step.outputs);
  const uses = new Uint32Array(plan.lengths.length);
  for (const { field } of outputs) uses[field] = (uses[field] as number) + 1;
  return {
    maxLength:
      outputs.reduce((sum, output) => sum + maxScalar + nameBound(output), 0) +
      tables.reduce((sum, { maxLength }) => sum + maxLength, 0) +
      maxEstimates +
      maxIcmp +
      maxNamesLength +
      communityIdLength +
      numbers.length * maxNumberAddition +
      addresses.reduce((sum, { maxLength }) => sum + 2 * maxLength + maxFinish, 0),
    maxLengthPerByte: maxPerByte * uses.reduce((most, count) => Math.max(most, count), 1),
    addresses: addressPlaces(plan),
  };
}

interface StepContext {
  readonly plan: Plan;
  readonly writer: CodeWriter;
  /** Statements by name of the field whose value they keep: `v` is its number, `a` and `n` are place and length. */
  readonly watched: ReadonlyMap<string, readonly string[]>;
}

/** Additions to a number, as the code has them. */
interface NumberCode {
  readonly field: string;
  readonly scope: string | undefined;
  readonly adds: string;
  readonly variable: string;
  /** Variables that tell whether the same name was added by others before. */
  readonly before: readonly string[];
}

function variables(numbers: readonly NumberCode[]): string[] {
  const own = numbers.flatMap(({ variable, scope }) =>
    scope === undefined ? variable : [variable, `${variable}Scope`],
  );
  return [
    ...[...Object.values(numberVariables), ...own].map((name) => `${name} = -1`),
    ...Object.values(addressVariables).flatMap((name) => [`${name}At = 0`, `${name}Length = 0`]),
    ...Object.values(presenceVariables).map((name) => `${name} = false`),
    "a = 0, n = 0, v = 0, w = 0, t = 0",
  ];
}

function namesOf({ name, fallback }: Output): string[] {
  return fallback === undefined ? [name] : [name, fallback.name, fallback.hexName];
}

function nameBound(output: Output): number {
  return Math.max(...namesOf(output).map((name) => Buffer.byteLength(JSON.stringify(name)) + 8));
}

function addressPlaces({ steps, lengths, hasVariableLength }: Plan): AddressPlace[] {
  if (hasVariableLength) return [];
  return Object.keys(addressVariables).flatMap((name, object) => {
    const step = steps.find(({ kind, outputs }) => kind === "field" && outputs[0].name === name);
    const field = step?.outputs[0].field ?? -1;
    const length = lengths[field];
    if (length !== 4 && length !== 16) return [];
    return [{ object, offset: lengths.slice(0, field).reduce((sum, bytes) => sum + bytes, 0), length }];
  });
}

/** Where a field begins, as an expression. */
function placeOf({ lengths, hasVariableLength }: Plan, field: number): string {
  if (hasVariableLength) return `offsets[${field}]`;
  const offset = lengths.slice(0, field).reduce((sum, length) => sum + length, 0);
  return offset === 0 ? "from" : `from + ${offset}`;
}

/** The steps from one on that read the same single byte; none when the first is better read by itself. */
export function byteGroup(
  plan: Plan,
  steps: readonly Step[],
  from: number,
  watched: { has(name: string): boolean },
): Step[] {
  const group: Step[] = [];
  const field = steps[from]?.outputs[0].field;
  for (let i = from; i < steps.length; i++) {
    const step = steps[i] as Step;
    const [output] = step.outputs;
    const isOfGroup =
      step.kind === "field" &&
      output.field === field &&
      plan.lengths[output.field] === 1 &&
      isPure(output.convert) &&
      (!watched.has(output.name) || numberOfByte(output.convert) !== undefined);
    if (!isOfGroup) break;
    group.push(step);
  }
  const [only] = group;
  // A table of what anybody may call a name would be made for each of these names.
  const isPlain = group.length === 1 && only !== undefined && isStatic(plan, only.outputs[0]);
  return isPlain ? [] : group;
}

/** What a conversion makes of the byte `v`, as an expression, where that is a number. */
function numberOfByte(convert: Convert): string | undefined {
  if (valueKind(convert) === "unsigned") return "v";
  return isCodePoint(convert) ? "v >>> 2" : undefined;
}

function writeGroup({ writer, plan, watched }: StepContext, group: readonly Step[], table: number): void {
  const [first] = group as [Step];
  writer.code(
    `v = input.getUint8(${placeOf(plan, first.outputs[0].field)});`,
    `a = starts${table}[v];`,
    `p = copyText(out, p, texts${table}, a, starts${table}[v + 1] - a);`,
  );
  for (const { outputs } of group) {
    const keep = watched.get(outputs[0].name);
    if (keep !== undefined) writer.code(`t = v;`, `v = ${numberOfByte(outputs[0].convert)};`, ...keep, `v = t;`);
  }
}

/** Writes what a step takes. Returns whether it can be compiled. */
function writeStep(context: StepContext, step: Step, index: number): boolean {
  const { plan, watched } = context;
  const { kind, outputs } = step;
  const isWatched = outputs.some(({ name }) => watched.has(name));
  if (kind === "contest" && outputs.every((output) => isStatic(plan, output))) {
    writeContest(context, outputs);
    return true;
  }
  const [output] = outputs;
  if (kind === "field" && isStatic(plan, output)) {
    writePut(context, output);
    return true;
  }
  if (isWatched && !(kind === "field" && isNever(plan, output))) return false;
  if (kind === "field" && writePartial(context, output, index)) return true;
  context.writer.code(`p = interpret(${index}, p, from);`);
  return true;
}

/** Whether it is known beforehand that the field has a value, and its fallback as well, or that it has no bytes. */
export function isStatic(plan: Plan, { field, convert, fallback, takesEmpty }: Output): boolean {
  const length = plan.lengths[field] as number;
  if (length === variableLength || (length === 0 && takesEmpty)) return false;
  const isAlways = (of: Convert): boolean => isTotal(valueKind(of), length);
  return length === 0 || (isAlways(convert) && (fallback === undefined || isAlways(fallback.convert)));
}

/** Whether the field never has a value under its name: its bytes are none of its type. */
export function isNever(plan: Plan, { field, convert }: Output): boolean {
  const length = plan.lengths[field] as number;
  const kind = valueKind(convert);
  if (length === variableLength) return false;
  if (kind === "unsigned") return length === 0 || length > 8;
  return kind === "ipv4" || kind === "ipv6" ? !isTotal(kind, length) : false;
}

function writePut(context: StepContext, { field, name, convert }: Output): void {
  const { plan, writer, watched } = context;
  const length = plan.lengths[field] as number;
  if (length === 0) return;
  writer.text(`,${JSON.stringify(name)}:`);
  writeTotal(writer, valueKind(convert), placeOf(plan, field), length, watched.get(name));
}

function writeContest(context: StepContext, outputs: Step["outputs"]): void {
  const { plan, writer } = context;
  const conditions = outputs.map(({ field }) => isSetExpression(plan, field));
  writer.code(`w = ${conditions.map((condition, i) => `${condition} ? ${i} : `).join("")}0;`);
  outputs.forEach((output, i) => {
    writer.code(`if (w === ${i}) {`);
    writePut(context, output);
    const { fallback } = output;
    if (fallback !== undefined) {
      writer.code(`} else {`);
      writePut({ ...context, watched: new Map() }, { ...output, name: fallback.name, convert: fallback.convert });
    }
    writer.code(`}`);
  });
}

/** Whether not all bytes of a field are zero. */
function isSetExpression(plan: Plan, field: number): string {
  const length = plan.lengths[field] as number;
  const place = placeOf(plan, field);
  const parts: string[] = [];
  for (let i = 0; i < length; i += 4) {
    if (length - i >= 4) parts.push(`input.getInt32(${place} + ${i})`);
    else for (let j = i; j < length; j++) parts.push(`input.getUint8(${place} + ${j})`);
  }
  return parts.length === 0 ? "false" : `(${parts.join(" | ")}) !== 0`;
}

/** The unsigned number of some bytes; exact up to 2^53. */
function numberExpression(place: string, length: number): string {
  const small = (at: string, bytes: number): string =>
    bytes === 1
      ? `input.getUint8(${at})`
      : bytes === 2
        ? `input.getUint16(${at})`
        : bytes === 3
          ? `(input.getUint16(${at}) * 256 + input.getUint8(${at} + 2))`
          : `input.getUint32(${at})`;
  if (length <= 4) return small(place, length);
  return `(${small(place, length - 4)} * 4294967296 + input.getUint32(${place} + ${length - 4}))`;
}

/** Writes a value that is always there. */
function writeTotal(
  writer: CodeWriter,
  kind: ValueKind,
  place: string,
  length: number,
  keep: readonly string[] = [],
): void {
  switch (kind) {
    case "unsigned":
      writeUnsigned(writer, place, length, keep);
      return;
    case "icmpType":
    case "icmpCode":
      writeUnsigned(writer, kind === "icmpType" ? place : `${place} + 1`, 1, keep);
      return;
    case "applicationId":
      writeApplicationId(writer, place, length);
      return;
    case "ipv4":
    case "ipv6":
    case "mac":
    case "hex":
      writer.text(`"`);
      writer.code(`a = ${place};`);
      if (kind === "ipv4") writer.code(`p = writeIpv4(out, p, input.getUint32(a));`);
      else if (kind === "ipv6") writer.code(`p = writeIpv6(out, p, input, a);`);
      else if (kind === "mac") writer.code(`p = writeMac(out, p, input, a);`);
      else writer.code(`p = writeHex(out, p, input, a, ${length});`);
      if (keep.length > 0) writer.code(`n = ${length};`, ...keep);
      writer.text(`"`);
      return;
    case "text":
    case "seconds":
    case "milliseconds":
    case "uptime":
    case "other":
      throw new TypeError(`not every field of the kind ${kind} has a value`);
  }
}

function writeApplicationId(writer: CodeWriter, place: string, length: number): void {
  writer.text(`"`);
  writeUnsigned(writer, place, 1, []);
  writer.text(`:`);
  if (length > 5) {
    writer.code(`if (v === ${panaL7Pen}) {`);
    writeUnsigned(writer, `${place} + 1`, 4, []);
    writer.text(`:`);
    writeUnsigned(writer, `${place} + 5`, length - 5, []);
    writer.code(`} else {`);
    writeUnsigned(writer, `${place} + 1`, length - 1, []);
    writer.code(`}`);
  } else writeUnsigned(writer, `${place} + 1`, length - 1, []);
  writer.text(`"`);
}

function writeUnsigned(writer: CodeWriter, place: string, length: number, keep: readonly string[]): void {
  if (length === 1) {
    writer.code(
      `v = input.getUint8(${place});`,
      `t = digits[v];`,
      `out.setUint32(p, t, true);`,
      `p = (p + 4 - (Math.clz32(t) >>> 3)) | 0;`,
      ...keep,
    );
  } else if (length <= 4) {
    writer.code(`v = ${numberExpression(place, length)};`, `p = writeUint32(out, p, v);`, ...keep);
  } else {
    const high = numberExpression(place, length - 4);
    const low = `input.getUint32(${place} + ${length - 4})`;
    writer.code(`p = writeUint64(out, p, ${high}, ${low});`);
    if (keep.length > 0) writer.code(`v = ${numberExpression(place, length)};`, ...keep);
  }
}

/** Writes a value that some bytes do not have; the interpreter does those. Returns whether there is code for it. */
function writePartial({ plan, writer }: StepContext, output: Output, index: number): boolean {
  const kind = valueKind(output.convert);
  const length = plan.lengths[output.field] as number;
  const isVariable = length === variableLength;
  const name = `,${JSON.stringify(output.name)}:`;
  const place = placeOf(plan, output.field);
  const orInterpret = (prefix: string, write: string): void => {
    writer.text(prefix);
    writer.code(`t = ${write};`, `p = t < 0 ? interpret(${index}, p - ${Buffer.byteLength(prefix)}, from) : t;`);
  };
  if (kind === "text") {
    orInterpret(`${name}"`, `writeText(out, p, input, ${place}, ${isVariable ? `lengths[${output.field}]` : length})`);
    return true;
  }
  if (isVariable || length === 0 || length > 8) return false;
  const value = numberExpression(place, length);
  if (kind === "seconds") orInterpret(name, `times.seconds(out, p, ${value})`);
  else if (kind === "milliseconds") orInterpret(name, `times.milliseconds(out, p, ${value})`);
  else if (kind === "uptime" && length <= 4) {
    orInterpret(name, `uptime !== uptime ? -1 : times.milliseconds(out, p, exportTime - ((uptime - ${value}) | 0))`);
  } else return false;
  return true;
}

/** The exporter's uptime: of the header, else since the start that the record itself tells, else that options told. */
function uptimeCode(plan: Plan): string[] {
  const lines = [`const exportTime = state.exportTime;`, `let uptime = state.uptime;`];
  const field = plan.bootTimeField;
  const length = plan.lengths[field];
  if (length === undefined || length === 0) return lines;
  // How the bytes are read is the interpreter's business: templates with this field are rare.
  lines.push(`if (!state.isHeaderUptime) { t = bootTime(from); if (t === t) uptime = exportTime - t; }`);
  return lines;
}

/** What comes after the fields of the template. */
function writeRest(
  writer: CodeWriter,
  { communityId, enricher }: RecordCodeOptions,
  numbers: readonly NumberCode[],
): void {
  writer.code(
    `if (icmpType < 0 && icmpCode < 0 && (protocol === 1 || protocol === 58) && sourcePort <= 0 && destinationPort > 0 && destinationPort <= 65535) {`,
  );
  writer.text(`,"icmp.type.id":`);
  writer.code(`p = writeUint32(out, p, destinationPort >>> 8);`);
  writer.text(`,"icmp.code.id":`);
  writer.code(`p = writeUint32(out, p, destinationPort & 255);`, `}`);
  writer.code(`if (!hasVersion && (sourceLength | destinationLength) !== 0) {`);
  writer.text(`,"ip.version.ver":`);
  writer.code(
    `out.setUint8(p++, (sourceLength !== 0 ? sourceLength : destinationLength) === 4 ? 52 : 54);`,
    `}`,
    `let rate = state.rate;`,
    `if (state.isRateOfRecord) rate = rateOf(from);`,
    `if (rate >= 0) { p = writeEstimates(out, p, rate, octets, packets); if (p < 0) return -1; }`,
    `if (state.hasNames) p = writeNames(p, from);`,
  );
  if (communityId) {
    writer.code(
      `if (sourceLength !== 0 && sourceLength === destinationLength) p = writeCommunityId(out, p, input, sourceAt, destinationAt, sourceLength, protocol, sourcePort, destinationPort, icmpType, icmpCode);`,
    );
  }
  numbers.forEach(({ variable, scope, before }, i) => {
    const conditions = [`${variable} >= 0`, `state.numberTables[${i}] !== undefined`];
    if (scope !== undefined) conditions.push(`${variable}Scope >= 0`);
    conditions.push(...before.map((added) => `${added} === 0`));
    const value = scope === undefined ? variable : `scopedNumber(${variable}Scope, ${variable})`;
    writer.code(
      `let added${i} = 0;`,
      `if (${conditions.join(" && ")}) {`,
      `t = writeNumberAddition(out, p, state.numberTables[${i}], ${value});`,
      `if (t < 0) return -1;`,
      `if (t > p) { added${i} = 1; p = t; }`,
      `}`,
    );
  });
  enricher.addresses.forEach(({ finish }, i) => {
    writer.code(
      `if (sourceLength !== 0) { p = addresses${i}.append(0, input, sourceAt, sourceLength, hasSourceVlan, out, p, sourceSystem); if (p < 0) return -1; }`,
      `if (destinationLength !== 0) { p = addresses${i}.append(1, input, destinationAt, destinationLength, hasDestinationVlan, out, p, destinationSystem); if (p < 0) return -1; }`,
      `p = copyText(out, p, state.exporterTexts[${i}].text, 0, state.exporterTexts[${i}].length);`,
    );
    if (finish !== undefined) writer.code(`p = addresses${i}.finish(out, p);`);
  });
  numbers.forEach((_, i) => writer.code(`state.numbersAdded[${i}] += added${i};`));
  writer.text("}\n");
}

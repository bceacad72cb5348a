import {
  readLine,
  renderFields,
  type Enricher,
  type FieldValues,
  type LineEnricher,
  type NumberAdditions,
  type NumberTable,
  type RecordFields,
  type RenderedFields,
  type ShapeLines,
  type Value,
} from "../../record/index.ts";
import type { Metrics } from "../../base/report/index.ts";
import { placeFields, type RuledFields } from "../place-fields.ts";
import { RecentCache } from "../recent-cache.ts";
import { LineShaper } from "../shape-lines.ts";
import type { Rule } from "./read-rules.ts";
import { RuleProgram, type CompiledRule } from "./rule-program.ts";

/** A source of interface names, which is asked before the rules. */
export interface InterfaceSource {
  /** Returns all that it knows of the interfaces of an exporter: another object after each change. */
  known(exporter: string): unknown;
  enrich(record: RecordFields): void;
  /**
   * Counts records whose interface was named by the result of {@link InterfaceSource.enrich} in another way. Left out if it does not
   * count.
   */
  named?(records: number): void;
  /** Receives the fields of rules that apply after this source although they are in lines already. Left out: the source adds nothing to such lines. */
  behind?(ruled: RuledFields): void;
}

/** The most exporters whose decisions are kept; below, the most bytes that the decisions on all interfaces may take. */
const maxExporters = 16_384;
const maxKeptBytes = 2 ** 26;
/** The bytes of an interface in addition to its texts. */
const keptOverhead = 320;
/** The bytes of an interface without any decision: its place in a map. */
const keptOfNothing = 40;

const ways = ["in", "out"] as const;
const exporterField = "flow.export.ip.addr";
const indexOf = { in: "flow.in.netif.index", out: "flow.out.netif.index" } as const;
/** The fields that exporters send for interfaces, in records and in options. */
const ownNames = {
  in: ["flow.in.netif.name", "flow.in.netif.descr"],
  out: ["flow.out.netif.name", "flow.out.netif.descr"],
} as const;
/** All fields that sources give an interface, except metadata. */
const sourceFields = [".name", ".descr", ".alias", ".type.name", ".speed", ".state.admin.name", ".tags"];
/** The names that stand for the fields of rules among the names of a record. */
const ruleMarks = { in: "flow.in (rules)", out: "flow.out (rules)" } as const;
const nothing: RenderedFields = Buffer.alloc(0);
const noNames: readonly string[] = [];
const nothingDecided: DecidedInterface = { rules: nothing, whole: undefined };

/**
 * The fields of an interface: those of the rules, and those of the rules behind those of the sources, where one source alone names it.
 */
interface DecidedInterface {
  readonly rules: RenderedFields;
  readonly whole: RenderedFields | undefined;
}

/** The decisions for an exporter, valid while the facts about it stay the same. */
interface Decided {
  readonly program: RuleProgram;
  /** The text that its address adds to records. */
  readonly text: Buffer;
  readonly known: readonly unknown[];
  readonly exporter: RenderedFields | undefined;
  readonly tables: Readonly<
    Record<"in" | "out", { readonly whole: NumberTable; readonly rules: NumberTable } | undefined>
  >;
}

/** The fields of a record, behind those that rules gave. */
class Overlay implements FieldValues {
  readonly given = new Map<string, Value>();
  of: FieldValues = this.given;

  get(name: string): Value | undefined {
    return this.given.get(name) ?? this.of.get(name);
  }
}

/**
 * Adds the fields of rules to records. Each rule sees the fields that earlier rules gave. Rules that read only exporters and interfaces
 * are decided once for each of them; the others are applied to the line of each record.
 */
export class RuleEnricher implements Enricher {
  readonly lines: LineEnricher;
  /** Applies the rules about records. Lines that no rule changes are not copied. */
  readonly shape: ShapeLines;
  readonly #sources: readonly InterfaceSource[];
  readonly #program: () => RuleProgram;
  #decided = new RecentCache<Decided>(maxExporters);
  /** The approximate bytes of decisions on interfaces since the last reset. */
  #keptBytes = 0;
  readonly #overlay = new Overlay();
  /** The decisions for the exporter of the current datagram. */
  #now: Decided | undefined;
  #records = 0;
  #renamed = 0;

  /**
   * @param rules returns the current rules of the file; undefined while there are none.
   * @param sources in the order in which they get the records.
   */
  constructor(rules: () => readonly Rule[] | undefined, sources: readonly InterfaceSource[], metrics: Metrics) {
    let of: readonly Rule[] | undefined = [];
    let program = new RuleProgram([]);
    this.#program = () => {
      const now = rules();
      if (now !== of) {
        of = now;
        program = new RuleProgram(now ?? []);
        this.#forget();
      }
      return program;
    };
    this.#sources = sources;
    const ruled: RuledFields = {
      names: () => this.#program().decidedNames,
      find: (record, fields) => this.#findRuled(record, fields),
    };
    for (const source of sources) source.behind?.(ruled);
    const shaper = new LineShaper<undefined>({
      planOf: () => undefined,
      give: (line, _plan, given) => {
        const fields = applyRules(this.#program().ofRecords, line, this.#overlay);
        if (fields.size === 0) return;
        this.#records++;
        given.push(shaper.render(fields));
      },
      place: (record, given) => this.#place(record, given),
    });
    this.shape = (lines, count) => ({
      lines: this.#program().ofRecords.length === 0 ? lines : shaper.shape(lines),
      count,
    });
    this.lines = {
      begin: () => void (this.#now = undefined),
      numbers: [...ways.map((way) => this.#whole(way)), ...ways.map((way) => this.#additions(way))],
      addresses: [],
      exporter: (exporter, text) => (this.#now ??= this.#decisions(exporter, text)).exporter,
    };
    metrics.gaugeFrom(
      "netgloss_enrich_rules",
      "Rules in use, of all decoding threads together, by what they are asked of.",
      ["of"],
      () =>
        (["exporter", "in", "out", "record"] as const).map(
          (scope) => [{ of: scope }, this.#program().rules.filter((rule) => rule.scope === scope).length] as const,
        ),
    );
    const count = (name: string, help: string, read: () => number): void =>
      metrics.counterFrom(`netgloss_enrich_rules_${name}_total`, help, [], read);
    count("records", "Records that were given fields by rules about single records.", () => this.#records);
    count(
      "renamed",
      "Fields of rules put under another name because metadata of the record was in the way.",
      () => this.#renamed,
    );
  }

  /** Applies the rules that are decided once to a record of any kind. */
  enrich(record: RecordFields, rendered: RenderedFields[] = []): void {
    const { decided } = this.#program();
    if (decided.length === 0) return;
    const more: RecordFields = new Map();
    takeRendered(more, rendered);
    const given = applyRules(decided, { get: (name) => record.get(name) ?? more.get(name) }, this.#overlay);
    const isInTheWay = [...given.keys()].some((name) => [...more.keys()].some((other) => areOne(name, other)));
    if (isInTheWay) takeRendered(record, rendered.splice(0));
    this.#place(record, given);
  }

  /** Applies all rules to a record. @param applied called with each rule that is true and the fields that it gave. */
  explain(record: RecordFields, applied: (rule: string, fields: readonly string[]) => void): void {
    const { decided, ofRecords } = this.#program();
    this.#place(record, applyRules([...decided, ...ofRecords], record, this.#overlay, applied));
  }

  #findRuled(record: FieldValues, fields: ReadonlyMap<string, Value>): readonly string[] {
    const { decided, decidedNames } = this.#program();
    if (decidedNames.size === 0) return noNames;
    const both = [...fields.keys()].filter((name) => decidedNames.has(name) && record.get(name) !== undefined);
    if (both.length === 0) return noNames;
    const given = applyRules(decided, { get: (name) => fields.get(name) ?? record.get(name) }, this.#overlay);
    return both.filter((name) => given.has(name));
  }

  #place(record: RecordFields, given: ReadonlyMap<string, Value>): void {
    if (given.size > 0) this.#renamed += placeFields(record, given).size;
  }

  #additions(way: "in" | "out"): NumberAdditions {
    return {
      field: indexOf[way],
      adds: [ruleMarks[way]],
      tableFor: (exporter, text) => (this.#now ??= this.#decisions(exporter, text)).tables[way]?.rules,
      added() {},
    };
  }

  /** Combines both tables, because one text is written in less time than two are looked up. */
  #whole(way: "in" | "out"): NumberAdditions {
    const namer = this.#sources.at(-1);
    return {
      field: indexOf[way],
      adds: [...sourceFields.map((suffix) => `flow.${way}.netif${suffix}`), ruleMarks[way]],
      isWhole: true,
      tableFor: (exporter, text) => (this.#now ??= this.#decisions(exporter, text)).tables[way]?.whole,
      added: (records) => namer?.named?.(records),
    };
  }

  #tablesOf(way: "in" | "out", exporter: string, text: Buffer, program: RuleProgram): Decided["tables"]["in"] {
    if (!program.has(way)) return undefined;
    const kept = new Map<number, DecidedInterface>();
    const find = (index: number): DecidedInterface => {
      const known = kept.get(index);
      if (known !== undefined) return known;
      const made = this.#decide(way, exporter, text, index, program);
      kept.set(index, made);
      this.#keptBytes +=
        made === nothingDecided ? keptOfNothing : keptOverhead + made.rules.length + (made.whole?.length ?? 0);
      // The memory is bounded, because exporters may send any number of an interface. Forgotten interfaces are decided again.
      if (this.#keptBytes > maxKeptBytes) this.#forget();
      return made;
    };
    const unless = program.asks(way, ownNames[way]) ? { unless: ownNames[way] } : {};
    return {
      whole: { get: (index) => find(index).whole },
      rules: { get: (index) => find(index).rules, ...unless },
    };
  }

  /** Forgets all decisions. Tables in use stay unchanged until the next datagram. */
  #forget(): void {
    this.#decided = new RecentCache(maxExporters);
    this.#keptBytes = 0;
  }

  /** @param text the fields that the address of the exporter adds. */
  #decisions(exporter: string, text: Uint8Array): Decided {
    const program = this.#program();
    const before = this.#decided.get(exporter);
    const sources = this.#sources;
    if (
      before?.program === program &&
      before.known.every((each, i) => each === sources[i]?.known(exporter)) &&
      Buffer.compare(before.text, text) === 0
    ) {
      return before;
    }
    const known = sources.map((source) => source.known(exporter));
    const copy = Buffer.from(text);
    const made: Decided = {
      program,
      text: copy,
      known,
      exporter: program.has("exporter") ? this.#decideExporter(exporter, copy, program) : nothing,
      tables: {
        in: this.#tablesOf("in", exporter, copy, program),
        out: this.#tablesOf("out", exporter, copy, program),
      },
    };
    this.#decided.set(exporter, made);
    return made;
  }

  /**
   * Decides the fields of an exporter.
   *
   * @returns undefined if its metadata is in the way of the rules' fields; then records become fields.
   */
  #decideExporter(exporter: string, text: Buffer, program: RuleProgram): RenderedFields | undefined {
    const record = recordOf(exporter, text);
    const given = new Map(applyRules(program.asked("exporter").rules, record, this.#overlay));
    const fields = new Map(record);
    const isInTheWay = [...given.keys()].some((name) => record.has(name)) || placeFields(fields, given).size > 0;
    return isInTheWay ? undefined : renderFields([...given]);
  }

  #decide(way: "in" | "out", exporter: string, text: Buffer, index: number, program: RuleProgram): DecidedInterface {
    const record = recordOf(exporter, text);
    record.set(indexOf[way], index);
    const before = record.size;
    const others = this.#sources.slice(0, -1);
    for (const source of others) source.enrich(record);
    const isOthers = record.size > before;
    this.#sources.at(-1)?.enrich(record);
    const asked = program.asked(way);
    const given = applyRules(asked.rules, record, this.#overlay);
    const rules = [...given].filter(([name]) => asked.sets.has(name));
    const facts = [...record].slice(before);
    const isNamed = !isOthers && record.has(`flow.${way}.netif.name`) && this.#sources.at(-1)?.named !== undefined;
    if (rules.length === 0 && !isNamed) return nothingDecided;
    return { rules: renderFields(rules), whole: isNamed ? renderFields([...facts, ...rules]) : undefined };
  }
}

const openBrace = Buffer.from("{");

/** Applies rules in order. @returns the fields that they gave, valid until the next call. */
function applyRules(
  rules: readonly CompiledRule[],
  of: FieldValues,
  overlay: Overlay,
  applied?: (rule: string, fields: readonly string[]) => void,
): ReadonlyMap<string, Value> {
  overlay.of = of;
  overlay.given.clear();
  for (let i = 0; i < rules.length; i++) {
    const rule = rules[i] as CompiledRule;
    if (rule.apply(overlay, overlay.given)) applied?.(rule.name, [...rule.rule.set.keys()]);
  }
  return overlay.given;
}

function recordOf(exporter: string, text: Buffer): RecordFields {
  const record: RecordFields = new Map([[exporterField, exporter]]);
  takeRendered(record, [text]);
  return record;
}

/** Reports whether names are equal, or one lies below the other. */
const areOne = (a: string, b: string): boolean => a === b || a.startsWith(`${b}.`) || b.startsWith(`${a}.`);

/** Adds rendered fields to a record. */
function takeRendered(record: RecordFields, rendered: readonly RenderedFields[]): void {
  for (const text of rendered) {
    if (text.length === 0) continue;
    const line = Buffer.concat([openBrace, text.subarray(1)]);
    for (const [name, value] of readLine(line, 0, line.length)) record.set(name, value);
  }
}

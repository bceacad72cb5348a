import { isIP } from "node:net";
import { recordVocabulary } from "../../record/index.ts";
import { quote } from "../../base/text/index.ts";
import { inScopes } from "./limited-engine.ts";
import { QueryGate } from "./run-query.ts";
import type { ExploreAnswer, FlowsAnswer } from "./answer.ts";
import {
  fault,
  objectOf,
  readFlowsQuery,
  readQuery,
  type ExploreQuery,
  type FlowsQuery,
  type Within,
} from "./explore-query.ts";

/** The direction of flows, as seen from the subject of a profile. `all`: the subject is no end of a flow, so there is no direction. */
export type Way = "in" | "out" | "all";

/** The subject of a profile: the filters of its flows. */
export interface Subject {
  readonly field: string;
  readonly value: string;
  /** The filter of all its flows. */
  readonly filter: string;
  readonly ways: readonly { readonly way: Way; readonly filter: string }[];
}

const plainName = /^[\w.-]+$/;
/** A text that needs no quotes in a filter. */
const plainValue = /^[\w.:/-]+$/;

type Known = NonNullable<ReturnType<typeof recordVocabulary.find>>;

function literal(value: string, { type }: Known): string {
  const isPlain = type !== "text" && type !== "any" && plainValue.test(value);
  return isPlain ? value : JSON.stringify(value);
}

/** Returns a name for a filter; a name with a hyphen gets backticks. */
const nameOf = (field: string): string => (field.includes("-") ? `\`${field}\`` : field);

const bothWays = (field: string, value: string, into: string, out: string): Subject => ({
  field,
  value,
  filter: `${out} or ${into}`,
  ways: [
    { way: "in", filter: into },
    { way: "out", filter: out },
  ],
});

/** The subjects with names of their own. An end of a flow has two directions; so has an interface, from its own point of view. */
const named: Readonly<Record<string, (value: string) => Subject>> = {
  address: (value) => bothWays("address", value, `dst = ${value}`, `src = ${value}`),
  prefix: (value) => bothWays("prefix", value, `dst in ${value}`, `src in ${value}`),
  interface(value) {
    const [, exporter = "", index = ""] = /^([\da-f.:]+)@(\d{1,10})$/i.exec(value) ?? [];
    if (index === "") throw fault("value", "an interface is the address of an exporter, @ and an ifIndex: 192.0.2.1@5");
    const of = (field: string): string => `exporter = ${exporter} and ${field} = ${index}`;
    return bothWays("interface", value, of("in.if"), of("out.if"));
  },
};

/** Prefixes of the fields of one end. The query covers the value at either end. */
const endBeginning = /^(?:flow\.)?(?:src|dst)\./;

/**
 * Returns the flows of a value: of `address`, `prefix`, `interface`, of a field of records, or of a field at either end of a flow, such as `tag`, `as`
 * or `site.name`.
 *
 * @throws ExploreError that names the fault.
 */
export function subjectOf(field: string, value: string): Subject {
  if (value === "") throw fault("value", "value must not be empty");
  if (!plainName.test(field)) throw fault("field", `there is no field ${quote(field)}`);
  const own = named[field];
  if (own !== undefined) {
    const isOne = field === "interface" || (plainValue.test(value) && (field !== "address" || isIP(value) > 0));
    if (!isOne) throw fault("value", `${quote(value)} is no ${field}`);
    return own(value);
  }
  const short = field.replace(endBeginning, "");
  const [source, destination] = [`src.${short}`, `dst.${short}`].map((name) => recordVocabulary.find(name));
  const whole = short === field ? recordVocabulary.find(field) : undefined;
  const isOfFlow = whole !== undefined && whole.fields.length === 1;
  if (source !== undefined && destination !== undefined && !isOfFlow) {
    const term = (end: string): string => `${nameOf(`${end}.${short}`)} = ${literal(value, source)}`;
    return bothWays(field, value, term("dst"), term("src"));
  }
  if (whole === undefined) throw fault("field", `there is no field ${quote(field)}`);
  const filter = `${nameOf(field)} = ${literal(value, whole)}`;
  return { field, value, filter, ways: [{ way: "all", filter }] };
}

const endOf = (end: "src" | "dst"): readonly string[] => [`flow.${end}.ip.addr`, `flow.${end}.ip.subnet.name`];

/** The rankings of the flows of a subject. The list applies to addresses and to all other values. */
const rankings: readonly { readonly name: string; readonly by: Readonly<Partial<Record<Way, readonly string[]>>> }[] = [
  { name: "peers", by: { in: endOf("src"), out: endOf("dst") } },
  { name: "sources", by: { all: endOf("src") } },
  { name: "destinations", by: { all: endOf("dst") } },
  ...[
    { name: "services", fields: ["flow.server.l4.port.id", "flow.server.l4.port.name", "l4.proto.name"] },
    { name: "applications", fields: ["app.name"] },
    {
      name: "exporters",
      fields: ["flow.export.ip.addr", "flow.export.ip.subnet.name", "flow.in.netif.name", "flow.out.netif.name"],
    },
  ].map(({ name, fields }) => ({ name, by: { in: fields, out: fields, all: fields } })),
];

const rankedFields = [...new Set(rankings.flatMap(({ by }) => Object.values(by).flat()))];

/** The parts of a profile, which can be requested individually. */
export const profileParts = ["traffic", "rankings", "seen"] as const;
type ProfilePart = (typeof profileParts)[number];

/** The queries from which a profile is made. */
export interface ProfileQuestions {
  status(signal: AbortSignal): Promise<{ readonly from?: string | undefined }>;
  query(query: ExploreQuery, signal: AbortSignal): Promise<ExploreAnswer>;
  flows(query: FlowsQuery, signal: AbortSignal): Promise<FlowsAnswer>;
}

/** Traffic of one direction over time, in bits per second. */
interface WayOfTraffic {
  readonly way: Way;
  readonly filter: string;
  readonly value: number;
  readonly series: readonly number[];
  /** Traffic of the range before, which has the same length; absent where none of it is kept. */
  readonly previous?: { readonly value: number; readonly series: readonly number[] };
}

export interface Profile {
  readonly field: string;
  readonly value: string;
  readonly filter: string;
  readonly traffic?: {
    readonly from: string;
    readonly to: string;
    readonly granularitySeconds: number;
    readonly times: readonly string[];
    readonly ways: readonly WayOfTraffic[];
    readonly sampling: number;
    readonly missing?: ExploreAnswer["missing"];
  };
  readonly rankings?: readonly ({ readonly name: string; readonly way: Way } & Pick<
    ExploreAnswer,
    "dimensions" | "rows" | "others" | "total"
  >)[];
  readonly seen?: { readonly first?: string; readonly last?: string; readonly keptSince?: string };
  readonly elapsedMs: number;
}

/** Number of profiles answered at a time, each with one query after another. They occupy few places in the store's own queue. */
const mostRunning = 2;
const mostWaiting = 64;

/** Answers profiles of values. All profiles together run few queries at a time, so that other callers get their turn. */
export class Profiles {
  readonly #questions: ProfileQuestions;
  readonly #now: () => number;
  readonly #gate = new QueryGate(mostRunning, mostWaiting);

  /** @param now returns milliseconds since the epoch. */
  constructor(questions: ProfileQuestions, now: () => number) {
    this.#questions = questions;
    this.#now = now;
  }

  /**
   * Returns the profile of a value: its traffic in both directions with that of the range before, its rankings, and when it was seen.
   *
   * @param body JSON: `field`, `value`, `from`, `to`, `parts`, `limit`.
   * @param scopes the metadata scopes to which the caller is limited; undefined: no limit.
   * @throws ExploreError; `resource_exhausted` when too many wait.
   */
  async answer(body: unknown, signal: AbortSignal, scopes?: readonly string[]): Promise<Profile> {
    const at = this.#now();
    const {
      field,
      value,
      parts = profileParts,
      limit = 8,
      ...range
    } = objectOf(body, ["field", "value", "from", "to", "parts", "limit"]);
    if (typeof field !== "string") throw fault("field", "field must be a text");
    if (typeof value !== "string") throw fault("value", "value must be a text");
    const known: readonly unknown[] = profileParts;
    if (!Array.isArray(parts) || parts.some((part) => !known.includes(part)))
      throw fault("parts", `parts must be a list of ${profileParts.join(", ")}`);
    const subject = subjectOf(field, value);
    // This checks the values even for parts that do not use them, so that a wrong value always gets the same message.
    readQuery({ ...range, limit, filter: subject.filter }, at);
    const questions = this.#questions;
    const running = new RunningProfile(
      subject,
      { ...range, limit },
      scopes === undefined
        ? questions
        : {
            status: (until) => questions.status(until),
            query: (query, until) => questions.query(inScopes(query, scopes), until),
            flows: (query, until) => questions.flows(inScopes(query, scopes), until),
          },
      at,
      signal,
    );
    const has = (part: ProfilePart): boolean => parts.includes(part);
    return this.#gate.run(signal, async () => {
      const traffic = has("traffic") ? await running.traffic() : undefined;
      const ranked = has("rankings") ? await running.rankings() : undefined;
      const seen = has("seen") ? await running.seen() : undefined;
      return {
        field,
        value,
        filter: subject.filter,
        ...(traffic !== undefined && { traffic }),
        ...(ranked !== undefined && { rankings: ranked }),
        ...(seen !== undefined && { seen }),
        elapsedMs: this.#now() - at,
      };
    });
  }
}

type Body = Readonly<Record<string, unknown>>;

/** A profile in progress. Its queries run one after another, so that other queries can run in between. */
class RunningProfile {
  readonly #subject: Subject;
  readonly #asked: Body;
  readonly #questions: ProfileQuestions;
  readonly #now: number;
  readonly #signal: AbortSignal;
  /** All records that it needs: those of the range, and of the one before. */
  readonly #within: Within | undefined;

  constructor(subject: Subject, asked: Body, questions: ProfileQuestions, now: number, signal: AbortSignal) {
    this.#subject = subject;
    this.#asked = asked;
    this.#questions = questions;
    this.#now = now;
    this.#signal = signal;
    const { filter, from, to, granularitySeconds } = readQuery({ ...asked, filter: subject.filter }, now);
    const step = Math.max(1, 1000 * granularitySeconds);
    const earlier = from - Math.ceil((to - from) / step) * step;
    this.#within = filter && { filter, fields: rankedFields, from: Math.max(0, earlier), to };
  }

  async traffic(): Promise<Profile["traffic"]> {
    const answers = [];
    for (const { way, filter } of this.#subject.ways) {
      const answer = await this.#query({ filter, measure: "bits_per_second" });
      answers.push({ way, filter, answer, before: await this.#before(filter, answer) });
    }
    const answer = answers[0]?.answer;
    if (answer === undefined) return undefined;
    const { from, to, granularitySeconds, times = [], missing } = answer;
    return {
      from,
      to,
      granularitySeconds,
      times,
      ways: answers.map(({ way, filter, answer: { total }, before }) => ({
        way,
        filter,
        value: total.value,
        series: total.series ?? [],
        ...(before !== undefined && { previous: { value: before.total.value, series: before.total.series ?? [] } }),
      })),
      sampling: Math.max(...answers.map((each) => each.answer.sampling)),
      ...(missing !== undefined && { missing }),
    };
  }

  async rankings(): Promise<NonNullable<Profile["rankings"]>> {
    const answers = [];
    for (const { name, by } of rankings) {
      for (const { way, filter } of this.#subject.ways) {
        const fields = by[way];
        if (fields === undefined) continue;
        const { limit } = this.#asked;
        const answer = await this.#query({ filter, dimensions: fields, limit, measure: "bytes", granularity: "none" });
        const { dimensions, rows, others, total } = answer;
        answers.push({ name, way, dimensions, rows, others, total });
      }
    }
    return answers;
  }

  /** Returns the first and the last record of all that is kept. The first is exact to ten seconds, or to a minute where records of years are kept. */
  async seen(): Promise<NonNullable<Profile["seen"]>> {
    const { from: keptSince } = await this.#questions.status(this.#signal);
    if (keptSince === undefined || Date.parse(keptSince) >= this.#now) return {};
    const { filter } = this.#subject;
    let range: Body = { from: keptSince, to: "now" };
    let first: string | undefined;
    for (const granularity of ["auto", "fine"]) {
      const step = granularity === "auto" ? granularity : spanOf(range) > 86_400_000 / 24 ? "1m" : "10s";
      const query = readQuery({ ...range, filter, measure: "flows", granularity: step }, this.#now);
      const answer = await this.#questions.query(query, this.#signal);
      const { times = [], granularitySeconds, total } = answer;
      first = times[(total.series ?? []).findIndex((flows) => flows > 0)];
      if (first === undefined || granularitySeconds <= 10) break;
      range = { from: first, to: new Date(Date.parse(first) + 1000 * granularitySeconds).toISOString() };
    }
    if (first === undefined) return { keptSince };
    const newest = readFlowsQuery({ from: first, to: "now", filter, limit: 1, fields: ["@timestamp"] }, this.#now);
    const last = (await this.#questions.flows(newest, this.#signal)).records[0]?.["@timestamp"];
    // The first bucket begins before the kept records.
    const shown = first < keptSince ? keptSince : first;
    return { first: shown, ...(typeof last === "string" && { last }), keptSince };
  }

  #query(body: Body): Promise<ExploreAnswer> {
    const { from, to } = this.#asked;
    return this.#ask(readQuery({ from, to, ...body }, this.#now));
  }

  #ask(query: ExploreQuery): Promise<ExploreAnswer> {
    return this.#questions.query({ ...query, ...(this.#within && { within: this.#within }) }, this.#signal);
  }

  /** Returns the answer for the range before, in buckets at the same positions. */
  async #before(
    filter: string,
    { from, to, granularitySeconds, times = [] }: ExploreAnswer,
  ): Promise<ExploreAnswer | undefined> {
    const shift = times.length * granularitySeconds * 1000;
    const earlier = (time: string): string => new Date(Date.parse(time) - shift).toISOString();
    if (shift === 0 || Date.parse(from) < shift) return undefined;
    const query = readQuery({ from: earlier(from), to: earlier(to), filter, measure: "bits_per_second" }, this.#now);
    const answer = await this.#ask({ ...query, granularitySeconds });
    // An incomplete earlier range is no basis for a comparison.
    return answer.missing === undefined ? answer : undefined;
  }
}

const spanOf = ({ from, to }: Body): number => Date.parse(String(to)) - Date.parse(String(from));

import type { Clock, Component, Log } from "../../base/report/index.ts";
import { quote } from "../../base/text/index.ts";
import { ExploreError, readQuery } from "../../explore/index.ts";
import type { ChangeHead, UdmHistory } from "../../metadata/index.ts";
import {
  annotationKinds,
  apiError,
  suffices,
  type Annotation,
  type AnnotationsAnswer,
  type FindAnnotations,
  type Mark,
  type ViewUser,
} from "../../server/index.ts";
import type { FoundAlerts } from "../../watch/index.ts";
import { BrokenState, type KeptState, type StateForm } from "./kept-state.ts";
import { wrong } from "./saved-items.ts";

type Kind = Annotation["kind"];

/** A start of a collector. */
export interface Start {
  /** The time, milliseconds since the epoch. */
  readonly at: number;
  readonly version: string;
  /** The name of the collector in its fleet; empty: it is in none. */
  readonly member: string;
}

const mostStarts = 500;
const startVersion = 1;

/** The text form of the last starts. */
export const startsForm: StateForm<readonly Start[]> = {
  empty: [],
  format: (starts) => `${JSON.stringify({ version: startVersion, starts })}\n`,
  parse(text) {
    try {
      const { version, starts } = JSON.parse(text) as { version?: number; starts?: readonly Start[] };
      const isStart = ({ at, version: of, member }: Start): boolean =>
        Number.isFinite(at) && typeof of === "string" && typeof member === "string";
      if (version === startVersion && Array.isArray(starts) && starts.every(isStart)) return starts;
    } catch {
      // Treat it like a file of another form.
    }
    throw new BrokenState(`it is no file of starts of version ${startVersion}`);
  },
};

/** The sources of annotations. A source that is undefined is not in this collector. */
export interface AnnotationSources {
  readonly starts: KeptState<readonly Start[]>;
  readonly marks: () => Iterable<Mark>;
  readonly history: Pick<UdmHistory, "headsBetween"> | undefined;
  /** Finds alerts that were active between two times. @returns undefined while they are unavailable. */
  readonly alerts: ((from: number, to: number) => Promise<FoundAlerts["alerts"] | undefined>) | undefined;
}

interface Question {
  readonly from: number;
  readonly to: number;
  readonly kinds: readonly Kind[];
  readonly limit: number;
}

const longestMs = 400 * 86_400_000;
const usualLimit = 200;
const mostLimit = 1000;
/** The most changes of metadata that are examined. */
const mostChanges = 10_000;
/** The number of parts of a range; the changes of each part share a mark. */
const parts = 120;
const leastPartMs = 60_000;
const retryMs = 30_000;

/** Finds the events of a time range for the marks on charts. It also notes the start of this collector. */
export class Annotations implements Component {
  readonly name = "annotations";
  readonly #sources: AnnotationSources;
  readonly #start: Omit<Start, "at">;
  readonly #clock: Clock;
  readonly #log: Log;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    sources: AnnotationSources,
    start: Omit<Start, "at">,
    { clock, log }: { readonly clock: Clock; readonly log: Log },
  ) {
    this.#sources = sources;
    this.#start = start;
    this.#clock = clock;
    this.#log = log;
  }

  async start(): Promise<void> {
    await this.#note({ ...this.#start, at: this.#clock.now() });
  }

  async stop(): Promise<void> {
    clearTimeout(this.#timer);
  }

  readonly find: FindAnnotations = async (given, who, mayRead) => {
    const question = this.#read(given);
    const { kinds, from, to, limit } = question;
    const lacking: Kind[] = [];
    const of = async (kind: Kind, find: () => Promise<readonly Annotation[] | undefined>): Promise<Annotation[]> => {
      if (!kinds.includes(kind)) return [];
      const found = await find().catch(() => undefined);
      if (found === undefined) lacking.push(kind);
      return [...(found ?? [])];
    };
    const found = [
      ...(mayRead("metadata") ? await of("metadata", () => this.#metadata(question)) : []),
      ...(mayRead("collector") ? await of("restart", async () => this.#restarts(question)) : []),
      ...(await of("alert", () => this.#alerts(question))),
      ...(await of("mark", async () => this.#marks(question, who))),
    ].toSorted((a, b) => (a.time < b.time ? -1 : a.time > b.time ? 1 : 0));
    return {
      from: textOf(from),
      to: textOf(to),
      annotations: found.slice(-limit),
      left: Math.max(0, found.length - limit),
      lacking,
    } satisfies AnnotationsAnswer;
  };

  /** Notes a start, and retries until it is written. The start may exist already if an answer was lost. */
  async #note(start: Start, isAgain = false): Promise<void> {
    const isThis = ({ at, member }: Start): boolean => at === start.at && member === start.member;
    try {
      await this.#sources.starts.change((starts) =>
        isAgain && starts.some(isThis) ? starts : [...starts, start].slice(-mostStarts),
      );
    } catch (error) {
      this.#log.debug({ error }, "the start of the collector could not be noted");
      this.#timer = setTimeout(() => void this.#note(start, true), retryMs);
      this.#timer.unref();
    }
  }

  /** Reads the question. @throws ConnectError */
  #read({ from = "-1h", to = "now", kinds = annotationKinds.join(), limit = String(usualLimit), ...other }: Given) {
    const [unknown] = Object.keys(other);
    if (unknown !== undefined) throw wrong(unknown, `there is no parameter ${quote(unknown)}`);
    const wanted = kinds.split(",").map((word) => {
      const kind = annotationKinds.find((each) => each === word.trim());
      if (kind === undefined) throw wrong("kinds", `kinds must be some of ${annotationKinds.join(", ")}`);
      return kind;
    });
    const most = /^\d{1,4}$/.test(limit) ? Number(limit) : 0;
    if (most < 1 || most > mostLimit) throw wrong("limit", `limit must be a whole number from 1 to ${mostLimit}`);
    try {
      const range = readQuery({ from, to, granularity: "none" }, this.#clock.now());
      if (range.to - range.from > longestMs) throw wrong("from", "from must be 400 days before to at most");
      return { from: range.from, to: range.to, kinds: wanted, limit: most };
    } catch (error) {
      if (!(error instanceof ExploreError)) throw error;
      throw apiError("invalid_argument", "INVALID_FIELD", error.message, {
        violations: [{ field: error.field ?? "", description: error.message }],
      });
    }
  }

  /** Returns marks of metadata changes. Those within one part of the range, or a minute, share a mark. */
  async #metadata({ from, to }: Question): Promise<readonly Annotation[]> {
    const heads = (await this.#sources.history?.headsBetween(from, to, mostChanges)) ?? [];
    const partMs = Math.max(leastPartMs, Math.ceil((to - from) / parts));
    const groups = new Map<number, ChangeHead[]>();
    for (const head of heads) {
      const part = Math.floor(head.time / partMs);
      const group = groups.get(part);
      if (group === undefined) groups.set(part, [head]);
      else group.push(head);
    }
    return Array.from(groups.values(), (group) => changesMark(group));
  }

  #restarts({ from, to }: Question): readonly Annotation[] {
    return this.#sources.starts
      .now()
      .filter(({ at }) => at >= from && at < to)
      .map(({ at, version, member }) => ({
        kind: "restart",
        time: textOf(at),
        text: `${member === "" ? "the collector" : member} started, version ${version}`,
        count: 1,
      }));
  }

  async #alerts({ from, to }: Question): Promise<readonly Annotation[] | undefined> {
    if (this.#sources.alerts === undefined) return [];
    const alerts = await this.#sources.alerts(from, to);
    return alerts?.flatMap(({ id, text, firedAt, clearedAt }): Annotation[] => {
      if (firedAt === undefined || firedAt >= to || (clearedAt ?? to) < from) return [];
      const until = clearedAt === undefined ? {} : { until: textOf(clearedAt) };
      return [{ kind: "alert", time: textOf(firedAt), ...until, text, count: 1, id }];
    });
  }

  #marks({ from, to }: Question, { role }: ViewUser): readonly Annotation[] {
    return [...this.#sources.marks()]
      .filter(({ role: needed, time, until }) => {
        const began = Date.parse(time);
        const ended = until === "" ? began : Date.parse(until);
        return suffices(role, needed) && began < to && ended >= from;
      })
      .map(({ id, name, description, time, until, changedBy }) => ({
        kind: "mark",
        time,
        until: until === "" ? undefined : until,
        text: description === "" ? name : `${name}: ${description}`,
        count: 1,
        id,
        user: changedBy,
      }));
  }
}

type Given = Readonly<Record<string, string>>;

const textOf = (at: number): string => new Date(at).toISOString();

/** The most authors named in a mark. */
const mostAuthors = 3;

/** @param group the newest first. */
function changesMark(group: readonly ChangeHead[]): Annotation {
  const entries = group.reduce((sum, head) => sum + head.entries, 0);
  const authors = [...new Set(group.map(({ author, layer }) => layer ?? author).filter((name) => name !== ""))];
  const by = authors.slice(0, mostAuthors).join(", ") + (authors.length > mostAuthors ? " and others" : "");
  const changes = group.length === 1 ? "metadata changed" : `${group.length} changes of metadata`;
  return {
    kind: "metadata",
    time: textOf(Math.min(...group.map(({ time }) => time))),
    text: `${changes}: ${entries} ${entries === 1 ? "entry" : "entries"}${by === "" ? "" : `, by ${by}`}`,
    count: group.length,
    ...(by !== "" && { user: by }),
  };
}

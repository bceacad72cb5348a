import { createHash } from "node:crypto";
import { join } from "node:path";
import type { Clock, Log } from "../base/report/index.ts";
import { isMissing, replaceContent, type FileIo } from "../base/file/index.ts";

/** The knowledge of a rule about earlier times, kept over restarts. */
export interface History {
  /** The number of keys refused for lack of room. */
  readonly refused: number;
  /** Advances to a wall-clock time in milliseconds since the epoch. Called once a second. */
  advance(now: number): void;
  /** Returns a description of how much history there is. */
  text(now: number): string;
  /** Returns lines of JSON; the first is about all keys. */
  lines(): Iterable<string>;
  /** Adds the lines of another run to what it has. @throws Error for lines of another form. */
  restore(lines: readonly string[]): void;
}

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** A key is new when it was not seen for this many days. */
const newDays = 30;

/** Returns a length of time such as `3 days`. */
function spanText(ms: number): string {
  const [count, unit] = ms < 2 * dayMs ? [Math.floor(ms / hourMs), "hours"] : [Math.floor(ms / dayMs), "days"];
  return `${Math.max(0, count)} ${unit}`;
}

/** Keys seen recently, each with the day when it was last seen. */
export class SeenKeys implements History {
  readonly #max: number;
  readonly #afterMs: number;
  readonly #days = new Map<string, number>();
  #since: number;
  #now: number;
  #today: number;
  refused = 0;

  /** @param max maximum number of keys. @param afterMs learning time, during which no key is new. */
  constructor(max: number, afterMs: number, now: number) {
    this.#max = max;
    this.#afterMs = afterMs;
    this.#since = now;
    this.#now = now;
    this.#today = Math.floor(now / dayMs);
  }

  advance(now: number): void {
    this.#now = now;
    const today = Math.floor(now / dayMs);
    if (today <= this.#today) return;
    this.#today = today;
    for (const [key, day] of this.#days) if (day < today - newDays) this.#days.delete(key);
  }

  /** Records that a key was seen. @returns true where it is new. A key for which there is no room counts as refused and is not new. */
  see(key: string, now: number): boolean {
    const day = this.#days.get(key);
    // A future day comes from a run whose clock was right; the clock of this run is not set yet.
    if (day !== undefined && day >= this.#today) return false;
    if (day === undefined && this.#days.size >= this.#max) {
      this.refused++;
      return false;
    }
    this.#days.set(key, this.#today);
    return day === undefined && now - this.#since >= this.#afterMs;
  }

  text(now: number): string {
    const knows = `${this.#days.size} keys in ${spanText(now - this.#since)}`;
    const left = this.#since + this.#afterMs - now;
    return left > 0 ? `${knows}; nothing is new for ${spanText(left)} yet` : knows;
  }

  *lines(): Generator<string> {
    yield JSON.stringify({ since: this.#since, until: this.#now });
    for (const [key, day] of this.#days) yield JSON.stringify([key, day]);
  }

  restore([head = "{}", ...lines]: readonly string[]): void {
    const { since, until } = JSON.parse(head) as { readonly since?: number; readonly until?: number };
    if (typeof since !== "number" || typeof until !== "number") throw new Error("no time of the first record");
    const given = lines.map((line) => JSON.parse(line) as readonly [string, number]);
    // It restores the running time, not the start: a jump of a clock that was not set yet is no learning time.
    this.#since -= Math.max(0, until - since);
    for (const [key, day] of given) {
      if (this.#days.size < this.#max && day >= this.#today - newDays)
        this.#days.set(key, Math.max(day, this.#days.get(key) ?? 0));
    }
  }
}

/** The number of hours kept: those of four weeks before the present hour. */
const keptHours = 5 * 168;
const weekHours = 168;
/** Fewer values cannot show what is usual. */
const fewest = 3;
/** An hour counts when the rule ran for this many seconds of it. */
const wholeHour = 1800;
/** A rate is kept when it reaches at least this share of the lowest alert value. */
const keptPart = 1 / 8;
/** 99.7 % of normally distributed values lie within this many MADs of the median. */
const madWidth = 3 * 1.4826;
const codesPerDoubling = 1024;

function encode(value: number): number {
  return value <= 0 ? 0 : Math.min(65_535, 1 + Math.round(codesPerDoubling * Math.log2(1 + value)));
}

function decode(code: number): number {
  return code === 0 ? 0 : 2 ** ((code - 1) / codesPerDoubling) - 1;
}

function medianOf(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? 0)) / 2;
}

/** The usual value of a key at an hour: the median of the maxima of comparable hours, and how far these deviate from it. */
export interface Usual {
  readonly median: number;
  readonly deviation: number;
}

/** The maximum of each key in each hour of the last weeks. */
export class UsualValues implements History {
  readonly #max: number;
  readonly #from: number;
  /** A code for each hour, by key. */
  readonly #hours = new Map<string, Uint16Array>();
  /** Seconds of each hour for which the rule ran. */
  readonly #covered = new Uint16Array(keptHours);
  #hour: number;
  #refusedAt = -Infinity;
  refused = 0;

  /** @param max maximum number of keys. @param least value below which there is no alert. */
  constructor(max: number, least: number, now: number) {
    this.#max = max;
    this.#from = least * keptPart;
    this.#hour = Math.floor(now / hourMs);
  }

  advance(now: number): void {
    const hour = Math.floor(now / hourMs);
    if (hour > this.#hour) this.#goOn(hour);
    const at = this.#hour % keptHours;
    this.#covered[at] = Math.min(3600, (this.#covered[at] as number) + 1);
  }

  /** Records a value of the present hour. */
  note(key: string, value: number): void {
    if (value <= this.#from) return;
    let hours = this.#hours.get(key);
    if (hours === undefined) {
      if (this.#hours.size >= this.#max) {
        this.refused++;
        this.#refusedAt = this.#hour;
        return;
      }
      this.#hours.set(key, (hours = new Uint16Array(keptHours)));
    }
    const at = this.#hour % keptHours;
    hours[at] = Math.max(hours[at] as number, encode(value));
  }

  /** Returns what is usual at this hour, from the same hour of the last four weeks, else from the last seven days. Undefined where that is unknown. */
  usual(key: string): Usual | undefined {
    const hours = this.#hours.get(key);
    if (hours === undefined && this.#hour - this.#refusedAt < keptHours) return undefined;
    const past = this.#pastHours();
    if (past === undefined) return undefined;
    // Neighbouring hours count as well: daily events vary by some minutes, and some clocks change in summer.
    const values = past.map((hour) =>
      hours === undefined ? 0 : Math.max(...[hour - 1, hour, hour + 1].map((each) => this.#value(hours, each))),
    );
    const median = medianOf(values);
    return { median, deviation: medianOf(values.map((value) => Math.abs(value - median))) };
  }

  text(): string {
    const covered = this.#covered.reduce((sum, seconds) => sum + (seconds >= wholeHour ? 1 : 0), 0);
    const past = this.#pastHours();
    const says =
      past === undefined
        ? "no verdict at this hour"
        : `${past.length} ${this.#isWeekly() ? "weeks" : "days"} at this hour`;
    return `${this.#hours.size} keys, ${spanText(covered * hourMs)}; ${says}`;
  }

  *lines(): Generator<string> {
    yield JSON.stringify({ hour: this.#hour, covered: textOf(this.#covered) });
    for (const [key, hours] of this.#hours) yield JSON.stringify([key, textOf(hours)]);
  }

  restore([head = "{}", ...lines]: readonly string[]): void {
    const { hour, covered } = JSON.parse(head) as { readonly hour?: number; readonly covered?: string };
    if (typeof hour !== "number" || typeof covered !== "string") throw new Error("no hours");
    const all = codesOf(covered);
    const given = lines.map((line) => {
      const [key, codes] = JSON.parse(line) as readonly [string, string];
      return [key, codesOf(codes)] as const;
    });
    // After the clock was set back, it waits until the time is reached again.
    const present = Math.max(this.#hour, hour);
    const now = [...this.#hours].map(([key, hours]) => [key, this.#value(hours, this.#hour)] as const);
    this.#hour = hour;
    this.#covered.set(all);
    for (const [key, codes] of given)
      if (this.#hours.size < this.#max || this.#hours.has(key)) this.#hours.set(key, codes);
    if (present > hour) this.#goOn(present);
    for (const [key, value] of now) this.note(key, value);
  }

  #value(hours: Uint16Array, hour: number): number {
    return decode(hours[hour % keptHours] as number);
  }

  #isWeekly(): boolean {
    return this.#coveredOf(4, weekHours).length >= fewest;
  }

  #pastHours(): readonly number[] | undefined {
    const weeks = this.#coveredOf(4, weekHours);
    const past = weeks.length >= fewest ? weeks : this.#coveredOf(7, 24);
    return past.length >= fewest ? past : undefined;
  }

  #coveredOf(count: number, apart: number): readonly number[] {
    const hours = Array.from({ length: count }, (_, i) => this.#hour - apart * (i + 1));
    return hours.filter((hour) => (this.#covered[hour % keptHours] as number) >= wholeHour);
  }

  #goOn(hour: number): void {
    for (let each = Math.max(this.#hour + 1, hour - keptHours + 1); each <= hour; each++) {
      const at = each % keptHours;
      this.#covered[at] = 0;
      for (const hours of this.#hours.values()) hours[at] = 0;
    }
    this.#hour = hour;
    for (const [key, hours] of this.#hours) if (hours.every((code) => code === 0)) this.#hours.delete(key);
  }
}

/** Returns the bound above which a value exceeds the usual one by this factor, and by more than a usual deviation. */
export function boundOf({ median, deviation }: Usual, times: number): number {
  return Math.max(times * median, median + madWidth * deviation);
}

function textOf(codes: Uint16Array): string {
  return Buffer.from(codes.buffer, codes.byteOffset, codes.byteLength).toString("base64");
}

/** Decodes the codes of all hours. @throws Error for a text of another length. */
function codesOf(text: string): Uint16Array {
  const bytes = Buffer.from(text, "base64");
  if (bytes.length !== 2 * keptHours) throw new Error("other hours than expected");
  const codes = new Uint16Array(keptHours);
  new Uint8Array(codes.buffer).set(bytes);
  return codes;
}

const version = 1;
const nameLength = 32;
const ending = ".ndjson";
/** A rule that has been missing for this long does not come back. */
const orphanMs = 30 * dayMs;

/** Files in which the history of each rule survives a restart. */
export class HistoryFiles {
  readonly #folder: string;
  readonly #io: FileIo;
  readonly #run: string;
  #number = 0;
  /** Files that could not be read. They are not overwritten. */
  readonly #unread = new Set<string>();
  /** The number of files that were set aside. */
  setAside = 0;

  /** @param run letters and digits that are unique to this run. */
  constructor(directory: string, io: FileIo, run: string) {
    this.#folder = join(directory, "history");
    this.#io = io;
    this.#run = run;
  }

  /**
   * Reads the history of a rule. It ignores the history of another definition of the rule.
   *
   * @param identity what the history is about.
   * @throws Error that names a file of another form; the errors of {@link FileIo}.
   */
  async read(rule: string, identity: string, history: History): Promise<void> {
    const path = this.#pathOf(rule);
    try {
      const text = Buffer.from(await this.#io.read(path)).toString("utf8");
      const [head = "{}", ...lines] = text.trimEnd().split("\n");
      const given = JSON.parse(head) as { readonly version?: number; readonly identity?: string } | null;
      if (given?.version !== version) throw new Error(`expected version ${version}`);
      if (given.identity === identity) history.restore(lines);
    } catch (error) {
      if (isMissing(error)) return;
      this.#unread.add(path);
      throw new Error(`${path}: ${(error as Error).message}`, { cause: error });
    }
  }

  /** Writes the history of a rule. It renames a file that could not be read before. @throws SaveError; the file is then unchanged. */
  async write(rule: string, identity: string, history: History): Promise<void> {
    const target = this.#pathOf(rule);
    if (this.#unread.has(target)) {
      await this.#io.rename(target, `${target}.broken-${this.#run}`);
      this.setAside++;
      this.#unread.delete(target);
    }
    await this.#io.makeFolder(this.#folder);
    const head = JSON.stringify({ version, identity, rule });
    const content = Buffer.from(`${[head, ...history.lines()].join("\n")}\n`);
    const temporary = join(this.#folder, `${this.#run}-${++this.#number}.tmp`);
    await replaceContent(this.#io, { target, temporary, mode: 0o600 }, content);
  }

  /** Removes the files of rules that have been missing for a month. */
  async tidy(rules: readonly string[], now: number): Promise<void> {
    const kept = new Set(rules.map((rule) => this.#pathOf(rule)));
    const names = await this.#io.list(this.#folder).catch((error: unknown) => {
      if (isMissing(error)) return [];
      throw error;
    });
    for (const path of names.filter((name) => name.endsWith(ending)).map((name) => join(this.#folder, name))) {
      if (kept.has(path)) continue;
      const { modified } = await this.#io.state(path);
      if (now - Number(modified / 1_000_000n) > orphanMs) await this.#io.unlink(path);
    }
  }

  #pathOf(rule: string): string {
    return join(this.#folder, createHash("sha256").update(rule).digest("hex").slice(0, nameLength) + ending);
  }
}

/** Interval for writing usual values and seen keys. */
const historyMs = 600_000;

/** The owner of a history: a rule. */
interface HistoryOwner {
  readonly rule: { readonly name: string };
  readonly identity: string;
  readonly history: History | undefined;
}

/** Gives rules the history of their predecessors or of files, and writes it periodically. */
export class HistoryKeeper {
  readonly #files: HistoryFiles | undefined;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #onFault: (fault: string | undefined) => void;
  #owners: readonly HistoryOwner[] = [];
  /** Time of the next write, by the monotonic clock. */
  #from: number;
  #saving: Promise<void> | undefined;
  /** Pending while rules take their history; nothing is written until then. */
  #taking: Promise<void> = Promise.resolve();

  /** @param files undefined: histories do not survive the run. @param onFault receives what is wrong, and undefined when that is over. */
  constructor(
    files: HistoryFiles | undefined,
    { clock, log }: { readonly clock: Clock; readonly log: Log },
    onFault: (fault: string | undefined) => void,
  ) {
    this.#files = files;
    this.#clock = clock;
    this.#log = log;
    this.#onFault = onFault;
    this.#from = clock.monotonic() + historyMs;
  }

  /** Gives rules the history of the rules before them, or of their files. */
  use(owners: readonly HistoryOwner[]): void {
    const before = this.#owners;
    this.#owners = owners;
    this.#taking = this.#taking.then(() => this.#take(owners, before));
  }

  /** Waits until all rules have their history. */
  async ready(): Promise<void> {
    await this.#taking;
  }

  /** Writes what is due. */
  tick(): void {
    if (this.#clock.monotonic() >= this.#from) void this.save();
  }

  async stop(): Promise<void> {
    await this.#saving;
    await this.save();
  }

  /** Writes the history of all rules, one after another. */
  async save(): Promise<void> {
    const files = this.#files;
    if (files === undefined || this.#saving !== undefined) return;
    this.#from = Infinity;
    const save = async (): Promise<void> => {
      await this.#taking;
      for (const { rule, identity, history } of this.#owners)
        if (history !== undefined) await files.write(rule.name, identity, history);
      await files.tidy(
        this.#owners.map(({ rule }) => rule.name),
        this.#clock.now(),
      );
    };
    this.#saving = save()
      .then(() => this.#onFault(undefined))
      .catch((error: unknown) => {
        this.#onFault(`what is usual cannot be kept: ${(error as Error).message}`);
        this.#log.error({ error }, "the history of rules cannot be kept");
      })
      .finally(() => {
        this.#saving = undefined;
        this.#from = this.#clock.monotonic() + historyMs;
      });
    await this.#saving;
  }

  async #take(owners: readonly HistoryOwner[], before: readonly HistoryOwner[]): Promise<void> {
    let fault: string | undefined;
    for (const { rule, identity, history } of owners) {
      if (history === undefined) continue;
      const last = before.find((each) => each.rule.name === rule.name && each.identity === identity)?.history;
      if (last === history) continue;
      try {
        if (last !== undefined) history.restore([...last.lines()]);
        else await this.#files?.read(rule.name, identity, history);
      } catch (error) {
        fault ??= `the history of ${rule.name} cannot be read: ${(error as Error).message}`;
        this.#log.error({ error }, "the history of a rule cannot be read, a new one begins");
      }
    }
    this.#onFault(fault);
  }
}

import { createHash } from "node:crypto";
import { basename, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import {
  isMissing,
  nodeFileIo,
  readSettled,
  replaceContent,
  replaceFile,
  resolveTarget,
  temporaryPath,
  type FileIo,
  type FileStamp,
} from "../../base/file/index.ts";
import { within, type Reporting } from "../../base/report/index.ts";
import { nearName, quote } from "../../base/text/index.ts";
import { decodeUtf8, ListText, YamlFault, type EditedList, type ListItem } from "../../base/yaml/index.ts";
import {
  apiError,
  suffices,
  type RuleChange,
  type RuleFindings,
  type RuleOperations,
  type RulePut,
  type RuleQuestion,
  type RulesWritten,
  type RuleText,
  type RuleWriter,
} from "../../server/index.ts";

/** A fault of a text, with its place; lines and columns start at 1. */
export type TextFault = {
  readonly line: number;
  readonly column: number;
  readonly message: string;
};

/** The result of checking a text of rules. */
export type CheckedRules = {
  readonly faults: readonly TextFault[];
  /** The reasons why only operators may change some rules, by the rules' names. */
  readonly guarded: ReadonlyMap<string, string>;
};

/** The options of a kind of rules. */
export interface RuleFileOptions extends Omit<Reporting, "health"> {
  readonly kind: "enrich" | "watch";
  readonly path: string;
  /** The directory for data that outlive a restart; undefined: changes are not kept, and cannot be undone. */
  readonly stateDirectory: string | undefined;
  /** The key of the list in the file; undefined: the file is the list. */
  readonly key: string | undefined;
  readonly check: (text: string) => CheckedRules;
  /** Makes the collector reread the file. */
  readonly apply: () => Promise<void>;
  /** Tries a rule of a text that has no faults. */
  readonly test: (text: string, name: string, range: RuleQuestion, signal: AbortSignal) => Promise<RuleFindings>;
  readonly io?: FileIo;
  /** The time limit of `apply`. */
  readonly applyMs?: number;
}

/** The current file. */
type FoundFile = {
  readonly text: string;
  readonly revision: string;
  /** The state of the file; undefined: there is none. */
  readonly stamp: FileStamp | undefined;
};

/** An edit of the file: the names of the rule before and after it, where there is one. */
type PlannedEdit = EditedList & { readonly name: string | undefined; readonly nextName: string | undefined };

/** The change log as in its file: the oldest change first, and a pending one that the rule file may or may not have. */
type ChangeLog = {
  readonly changes: readonly RuleChange[];
  readonly pending?: { readonly change: RuleChange; readonly revision: string };
};

const version = 1;
const keptChanges = 1000;
/** The most characters of rules in the change log, which is read and written as a whole. */
const keptText = 4 * 1024 * 1024;
/** The most bytes of a file that the API changes: the main thread has no time to read larger ones, which are edited by hand. */
const maxFileBytes = 1024 * 1024;
const maxRuleBytes = 64 * 1024;
const maxFaults = 100;
const revisionDigits = 16;
/** The default time limit: reading a file of a thousand rules takes up to a second. */
const usualApplyMs = 30_000;
/** Limits of trials, which read texts on the main thread: the pause after each as a multiple of its time, and the most that may wait. */
const restOfTrial = 9;
const mostTrials = 8;

/** A text of rules, which is parsed only once, on demand. */
class ReadRules {
  readonly text: string;
  readonly #options: Pick<RuleFileOptions, "key" | "check">;
  #list: ListText | undefined;
  #checked: CheckedRules | undefined;

  constructor(text: string, options: Pick<RuleFileOptions, "key" | "check">) {
    this.text = text;
    this.#options = options;
  }

  /** Returns the list. @throws YamlFault */
  get list(): ListText {
    return (this.#list ??= new ListText(this.text, this.#options.key));
  }

  get checked(): CheckedRules {
    return (this.#checked ??= this.#options.check(this.text));
  }
}

/**
 * A file of rules that the API changes. Other rules keep their text and comments. A change is logged before the file
 * is replaced; the file itself then shows whether it has the change. Edits by hand meanwhile are detected, and kept.
 */
export class RuleFile implements RuleOperations {
  readonly #options: RuleFileOptions;
  readonly #io: FileIo;
  readonly #run: string;
  #last: Promise<unknown> = Promise.resolve();
  /** The last known content. */
  #known: ReadRules | undefined;
  #lastTrial: Promise<unknown> = Promise.resolve();
  #trials = 0;
  /** The earliest time of the next trial, by the monotonic clock. */
  #trialFrom = 0;
  #temporaries = 0;
  #changes = 0;
  #failures = 0;

  constructor(options: RuleFileOptions) {
    this.#options = options;
    this.#io = options.io ?? nodeFileIo;
    this.#run = Math.floor(options.clock.now()).toString(36);
  }

  /** Changes by the API, and failed writes. */
  get counts(): { readonly changes: number; readonly failures: number } {
    return { changes: this.#changes, failures: this.#failures };
  }

  get kind(): RuleFileOptions["kind"] {
    return this.#options.kind;
  }

  async list(): Promise<{ readonly rules: readonly RuleText[]; readonly revision: string; readonly fault: string }> {
    const { text, revision } = await this.#find();
    try {
      const read = this.#ofFile(text);
      const { items } = read.list;
      const [fault] = text === "" ? [] : read.checked.faults;
      return { rules: items, revision, fault: fault === undefined ? "" : this.#placed(fault) };
    } catch (error) {
      if (!(error instanceof YamlFault)) throw error;
      return { rules: [], revision, fault: this.#placed(faultOf(error)) };
    }
  }

  set(put: RulePut, writer: RuleWriter): Promise<RulesWritten> {
    return this.#edit(writer, (list) => this.#put(list, put));
  }

  move(name: string, before: string, writer: RuleWriter): Promise<RulesWritten> {
    return this.#edit(writer, (list) => {
      const { text } = this.#item(list, name, "name");
      if (before === name) throw wrong("before", "a rule cannot come before itself");
      if (before !== "") this.#item(list, before, "before");
      if (list.nextOf(name) === (before === "" ? undefined : before))
        return { ...list.put(text, name, undefined), name, nextName: name };
      const without = new ListText(list.remove(name).text, this.#options.key);
      return { ...without.put(text, undefined, before === "" ? undefined : before), name, nextName: name };
    });
  }

  remove(name: string, writer: RuleWriter): Promise<RulesWritten> {
    return this.#edit(writer, (list) => {
      this.#item(list, name, "name");
      return { ...list.remove(name), name, nextName: undefined };
    });
  }

  async undo(number: number, writer: RuleWriter): Promise<RulesWritten> {
    return this.#edit(writer, (list, changes) => {
      const change = changes.find((each) => each.number === number);
      if (change === undefined) throw apiError("not_found", "NO_CHANGE", `change ${number} is not kept`);
      const { before, after, nextBefore, nextAfter } = change;
      const now = list.items.find(({ name }) => name === after?.name);
      const isFree = after !== undefined || list.items.every(({ name }) => name !== before?.name);
      if (now?.text !== after?.text || !isFree)
        throw apiError(
          "failed_precondition",
          "CHANGED_MEANWHILE",
          `rule ${quote((after ?? before)?.name ?? "")} was changed since`,
        );
      if (before === undefined) return { ...list.remove(after?.name ?? ""), name: after?.name, nextName: undefined };
      const edit = { name: after?.name, nextName: before.name };
      if (after !== undefined && nextBefore === nextAfter)
        return { ...list.put(before.text, after.name, undefined), ...edit };
      const rest = after === undefined ? list : new ListText(list.remove(after.name).text, this.#options.key);
      const isThere = rest.items.some(({ name }) => name === nextBefore);
      return { ...rest.put(before.text, undefined, isThere ? nextBefore : undefined), ...edit };
    });
  }

  async test(question: RuleQuestion, signal: AbortSignal): Promise<RuleFindings> {
    if (this.#trials >= mostTrials)
      throw apiError("resource_exhausted", "TOO_MANY_TRIALS", "too many rules are being tried: try again later");
    this.#trials++;
    const { clock } = this.#options;
    const trial = this.#lastTrial.then(async () => {
      const rest = this.#trialFrom - clock.monotonic();
      if (rest > 0) await sleep(rest, undefined, { signal });
      const { text } = await this.#find();
      signal.throwIfAborted();
      const began = clock.monotonic();
      try {
        const list = this.#read(this.#ofFile(text));
        const known = question.text === "" ? this.#item(list, question.name, "name") : undefined;
        const own = known?.text ?? question.text;
        const put = this.#put(list, { text: own, name: question.name, before: "" });
        // A watch rule does not depend on the others, so do not read them.
        const planned = this.kind === "watch" ? { ...put, ...list.putAlone(own) } : put;
        const read = this.#judge(planned, text);
        return { answer: this.#options.test(read.text, put.nextName ?? "", question, signal) };
      } finally {
        const ended = clock.monotonic();
        this.#trialFrom = ended + restOfTrial * (ended - began);
      }
    });
    this.#lastTrial = trial.catch(() => {});
    try {
      const { answer } = await trial;
      return await answer;
    } finally {
      this.#trials--;
    }
  }

  async changes(before: number, name: string, limit: number): Promise<readonly RuleChange[]> {
    const { changes } = await this.#log((await this.#find()).revision);
    const isMeant = (change: RuleChange): boolean =>
      (before === 0 || change.number < before) &&
      (name === "" || change.before?.name === name || change.after?.name === name);
    return changes.filter(isMeant).toReversed().slice(0, limit);
  }

  #put(list: ListText, { text, name, before }: RulePut): PlannedEdit {
    if (Buffer.byteLength(text) > maxRuleBytes) throw wrong("text", `a rule has at most ${maxRuleBytes} bytes`);
    const own = nameOf(text);
    if (name !== "") this.#item(list, name, "name");
    const replaced = name === "" && list.items.some((item) => item.name === own) ? own : name;
    if (before !== "") this.#item(list, before, "before");
    if (before !== "" && before === replaced) throw wrong("before", "a rule cannot come before itself");
    const known = replaced === "" ? undefined : replaced;
    return { ...list.put(text, known, before === "" ? undefined : before), name: known, nextName: own };
  }

  /** Finds a rule. @throws ConnectError `not_found`; `invalid_argument` for a field with the place of a rule. */
  #item(list: ListText, name: string, field: "name" | "before"): ListItem {
    const found = list.items.find((item) => item.name === name);
    if (found !== undefined) return found;
    const near = nearName(
      name,
      list.items.map((item) => item.name),
    );
    const description = `there is no rule ${quote(name)}${near === undefined ? "" : `, did you mean ${quote(near)}?`}`;
    const violations = [{ field, description }];
    throw apiError(field === "name" ? "not_found" : "invalid_argument", "NO_RULE", description, { violations });
  }

  /** Runs edits in turn, each on the current file. */
  #edit(
    writer: RuleWriter,
    plan: (list: ListText, changes: readonly RuleChange[]) => PlannedEdit,
  ): Promise<RulesWritten> {
    const work = this.#last.then(async () => {
      const found = await this.#find();
      if (writer.revision !== "" && writer.revision !== found.revision)
        throw apiError(
          "failed_precondition",
          "REVISION_CHANGED",
          `somebody else has changed the file: its revision is ${found.revision}`,
        );
      const log = await this.#log(found.revision);
      const was = this.#ofFile(found.text);
      const list = this.#read(was);
      const planned = plan(list, log.changes);
      const will = this.#judge(planned, found.text);
      const after = this.#read(will, planned.at);
      this.#guard(was, will, planned, writer);
      if (!list.isSameBut(after, planned.name, planned.nextName))
        throw apiError(
          "failed_precondition",
          "FILE_FORM",
          "other rules would be changed by that: the file is to be changed by hand",
        );
      const rule = after.items.find(({ name }) => name === planned.nextName);
      const before = list.items.find(({ name }) => name === planned.name);
      if (writer.isTrial || planned.text === found.text)
        return { revision: found.revision, change: 0, rule: shown(rule ?? before) };
      const change = {
        number: (log.changes.at(-1)?.number ?? 0) + 1,
        time: this.#options.clock.now(),
        author: writer.user ?? writer.author ?? "",
        method: writer.method ?? "",
        before: shown(before),
        after: shown(rule),
        nextBefore: before && list.nextOf(before.name),
        nextAfter: rule && after.nextOf(rule.name),
      };
      const revision = revisionOf(Buffer.from(planned.text));
      await this.#save(found, planned.text, { changes: log.changes, pending: { change, revision } });
      this.#known = will;
      this.#changes++;
      const { method, user, peer } = writer;
      this.#options.log.info(
        { method, rule: (rule ?? before)?.name, user, peer, path: this.#options.path },
        "rules are changed",
      );
      await this.#apply();
      return {
        revision,
        change: this.#options.stateDirectory === undefined ? 0 : change.number,
        rule: shown(rule ?? before),
      };
    });
    this.#last = work.catch(() => {});
    return work;
  }

  /** Checks the edited file. @throws ConnectError with all of its faults. */
  #judge({ text, at }: PlannedEdit, before: string): ReadRules {
    const read = text === before ? this.#ofFile(text) : new ReadRules(text, this.#options);
    const { faults } = read.checked;
    if (faults.length > 0) throw this.#refused(faults, at);
    return read;
  }

  /** Makes the collector reread the file. @throws ConnectError `deadline_exceeded` where that takes too long: no other change waits for it. */
  async #apply(): Promise<void> {
    const { apply, applyMs = usualApplyMs, log, path } = this.#options;
    const isLate = await within(apply(), applyMs, true);
    if (isLate !== true) return;
    log.warn({ path }, "rules are changed, but who uses them does not read them");
    const message = `the file is changed, but its rules were not read within ${applyMs / 1000} s: those of before are in force until they are`;
    throw apiError("deadline_exceeded", "NOT_APPLIED", message);
  }

  /** Returns the parsed text of the file. */
  #ofFile(text: string): ReadRules {
    if (this.#known?.text !== text) this.#known = new ReadRules(text, this.#options);
    return this.#known;
  }

  /** Checks permission. @throws ConnectError `permission_denied` where the rule, before or after the change, is for operators. */
  #guard(file: ReadRules, will: ReadRules, { name, nextName }: PlannedEdit, { role }: RuleWriter): void {
    if (suffices(role, "operator")) return;
    const was = file.list.items.length === 0 ? undefined : file.checked;
    const isUnknown = was !== undefined && was.faults.length > 0 && this.#options.kind === "watch";
    const why =
      (name !== undefined ? was?.guarded.get(name) : undefined) ??
      (nextName !== undefined ? will.checked.guarded.get(nextName) : undefined) ??
      (isUnknown && name !== undefined ? "the file has faults: nobody knows what its rules do" : undefined);
    if (why !== undefined) throw apiError("permission_denied", "ROLE_TOO_LOW", `${why}: this needs the role operator`);
  }

  #read(rules: ReadRules, at?: EditedList["at"]): ListText {
    try {
      return rules.list;
    } catch (error) {
      if (!(error instanceof YamlFault)) throw error;
      if (at !== undefined) throw this.#refused([faultOf(error)], at);
      const place = this.#placed(faultOf(error));
      throw apiError("failed_precondition", "FILE_FORM", `the file cannot be changed as it is: ${place}`);
    }
  }

  #refused(faults: readonly TextFault[], at: EditedList["at"]): Error {
    const violations = faults.slice(0, maxFaults).map((fault) => {
      const { line, column, message } = fault;
      const isOwn = at !== undefined && line >= at.line && line < at.line + at.count;
      if (!isOwn) return { field: "file", description: this.#placed(fault) };
      return { field: "text", description: `${line - at.line + 1}:${Math.max(1, column - at.indent)}: ${message}` };
    });
    const [{ field, description } = { field: "", description: "" }] = violations;
    const more = violations.length > 1 ? ` (and ${violations.length - 1} more)` : "";
    return apiError("invalid_argument", "RULE_REFUSED", `${field}: ${description}${more}`, { violations });
  }

  #placed({ line, column, message }: TextFault): string {
    return `${basename(this.#options.path)}:${line}:${column}: ${message}`;
  }

  async #find(): Promise<FoundFile> {
    const { path } = this.#options;
    try {
      const { bytes, state } = await readSettled(this.#io, path, await this.#io.state(path));
      if (bytes.length > maxFileBytes)
        throw apiError(
          "failed_precondition",
          "FILE_FORM",
          `the file has more than ${maxFileBytes} bytes: it is to be changed by hand`,
        );
      // Remove a byte order mark, which some editors write: it is not part of the rules, and a change drops it.
      return { text: decodeUtf8(bytes).replace(/^\uFEFF/, ""), revision: revisionOf(bytes), stamp: state };
    } catch (error) {
      if (isMissing(error)) return { text: "", revision: revisionOf(Buffer.from("")), stamp: undefined };
      if (error instanceof YamlFault)
        throw apiError(
          "failed_precondition",
          "FILE_FORM",
          `the file cannot be changed as it is: ${this.#placed(faultOf(error))}`,
        );
      throw unavailable(error, "the file of rules cannot be read");
    }
  }

  /** Returns the changes that this revision of the file has. */
  async #log(revision: string): Promise<ChangeLog> {
    const path = this.#logPath();
    if (path === undefined) return { changes: [] };
    try {
      const { changes, pending } = readLog(Buffer.from(await this.#io.read(path)).toString("utf8"));
      return { changes: pending?.revision === revision ? [...changes, pending.change] : changes };
    } catch (error) {
      if (isMissing(error)) return { changes: [] };
      throw unavailable(error, `the change log ${path} cannot be read; once it is moved away, a new one begins`);
    }
  }

  /** Writes the file. @throws ConnectError `unavailable`; the file is unchanged. */
  async #save({ stamp }: FoundFile, text: string, { changes, pending }: Required<ChangeLog>): Promise<void> {
    try {
      await this.#writeLog({ changes, pending });
      const target = await resolveTarget(this.#io, this.#options.path);
      const now = new Date(this.#options.clock.now()).toISOString().replaceAll(/[-:]/g, "");
      const plan = {
        target,
        temporary: this.#temporary(target),
        asidePath: this.#temporary(target),
        expected: stamp,
        originalPath: undefined,
        editedPath: `${target}.edited-${now}`,
        imagePath: undefined,
        isInPlace: false,
      };
      const { kept } = await replaceFile(this.#io, plan, () => [Buffer.from(text)]);
      for (const { path } of kept)
        this.#options.log.warn({ path }, "kept the file of rules as it was changed by hand meanwhile");
    } catch (error) {
      this.#failures++;
      throw unavailable(error, "the change cannot be written, and nothing has changed");
    }
    // Until the log is written, the file itself shows that it has the change.
    await this.#writeLog({ changes: [...changes, pending.change] }).catch((error: unknown) => {
      this.#failures++;
      this.#options.log.warn(
        { error },
        "the change log of rules cannot be written: the last change stays pending in it",
      );
    });
  }

  async #writeLog({ changes, ...rest }: ChangeLog): Promise<void> {
    const target = this.#logPath();
    if (target === undefined) return;
    await this.#io.makeFolder(join(target, ".."));
    const content = Buffer.from(`${JSON.stringify({ version, changes: newest(changes), ...rest })}\n`);
    await replaceContent(this.#io, { target, temporary: this.#temporary(target), mode: 0o600 }, content);
  }

  #logPath(): string | undefined {
    const { stateDirectory, kind } = this.#options;
    return stateDirectory === undefined ? undefined : join(stateDirectory, "rules", `${kind}.json`);
  }

  #temporary(target: string): string {
    return temporaryPath(target, this.#run, this.#temporaries++);
  }
}

/** Returns the changes that are kept. */
function newest(changes: readonly RuleChange[]): readonly RuleChange[] {
  let length = 0;
  const dropped = changes.findLastIndex(({ before, after }) => {
    length += (before?.text.length ?? 0) + (after?.text.length ?? 0);
    return length > keptText;
  });
  return changes.slice(Math.max(dropped + 1, changes.length - keptChanges));
}

function shown(item: RuleText | undefined): RuleText | undefined {
  return item && { name: item.name, text: item.text };
}

function revisionOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex").slice(0, revisionDigits);
}

function faultOf({ message, position }: YamlFault): TextFault {
  return { ...position, message };
}

/** Returns the name in a rule. @throws ConnectError `invalid_argument` where it has none, or the text is not a rule. */
function nameOf(text: string): string {
  const given = text.replaceAll(/\r?\n/g, "\n");
  let items: readonly ListItem[];
  try {
    const { text: alone } = new ListText("", undefined).put(given, undefined, undefined);
    ({ items } = new ListText(alone, undefined));
  } catch (error) {
    if (!(error instanceof YamlFault)) throw error;
    const { line, column } = error.position;
    throw wrong("text", `${line}:${Math.max(1, column - 2)}: ${error.message}`);
  }
  const [item, ...others] = items;
  if (item?.isNamed !== true || others.length > 0)
    throw wrong("text", "text must be one rule with a name: a mapping, without a dash before it");
  return item.name;
}

function wrong(field: string, description: string): Error {
  return apiError("invalid_argument", "INVALID_FIELD", description, { violations: [{ field, description }] });
}

function unavailable(error: unknown, what: string): Error {
  return apiError("unavailable", "NOT_SAVED", `${what}: ${error instanceof Error ? error.message : String(error)}`);
}

/** Parses a change log. @throws Error for another text. */
function readLog(text: string): ChangeLog {
  const log = JSON.parse(text) as (ChangeLog & { readonly version?: number }) | null;
  if (log?.version !== version || !Array.isArray(log.changes)) throw new Error(`expected version ${version}`);
  return log;
}

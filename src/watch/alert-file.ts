import { join } from "node:path";
import { isMissing, replaceContent, type FileIo } from "../base/file/index.ts";
import type { Alert, Notice } from "./alerts.ts";
import type { Silence } from "./silences.ts";

/** A notice that its receiver refuses though it takes others. */
export interface RefusedNotice {
  readonly notice: Notice;
  readonly because: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** What outlives a restart; lists of notices are by action. */
export interface KeptAlerts {
  readonly alerts: readonly Alert[];
  /** Notices that nobody has taken yet. */
  readonly waiting: Readonly<Record<string, readonly Notice[]>>;
  /** Notices that were set aside. */
  readonly refused?: Readonly<Record<string, readonly RefusedNotice[]>>;
  readonly silences?: readonly Silence[];
}

function hasLists(given: unknown): boolean {
  return typeof given === "object" && given !== null && Object.values(given).every(Array.isArray);
}

const version = 1;
const nothing: KeptAlerts = { alerts: [], waiting: {} };

/** Thrown for a file that is none of alerts. */
class BrokenFile extends Error {}

/**
 * Keeps alerts in a file, so that a restart forgets none and tells of none twice. A file that cannot be understood is renamed, and never
 * overwritten.
 */
export class AlertFile {
  readonly #path: string;
  readonly #io: FileIo;
  readonly #run: string;
  #number = 0;
  /** Undefined: what is there may be replaced. */
  #unread: string | undefined;
  /** Files that were set aside. */
  setAside = 0;

  /** @param run letters and digits that no other run has. */
  constructor(directory: string, io: FileIo, run: string) {
    this.#path = join(directory, "alerts.json");
    this.#io = io;
    this.#run = run;
  }

  /**
   * Reads what was kept. A broken file is set aside.
   *
   * @returns what was kept, and what is wrong with the file, in a sentence.
   */
  async read(): Promise<KeptAlerts & { readonly fault?: string }> {
    try {
      return parse(Buffer.from(await this.#io.read(this.#path)).toString());
    } catch (error) {
      if (isMissing(error)) return nothing;
      const what = `the alerts of the last run cannot be read: ${(error as Error).message}`;
      const aside = `${this.#path}.broken-${this.#run}`;
      if (!(error instanceof BrokenFile)) this.#unread = what;
      else if (await this.#moveTo(aside)) return { ...nothing, fault: `${what}; the file is ${aside} now` };
      return { ...nothing, fault: `${what}; the file stays as it is, and no alerts are kept` };
    }
  }

  /** @throws SaveError, or Error while a file that could not be read is in the way; the file is as it was. */
  async write(kept: KeptAlerts): Promise<void> {
    if (this.#unread !== undefined && !(await this.#moveTo(`${this.#path}.broken-${this.#run}`)))
      throw new Error(`${this.#unread}; it is in the way`);
    await this.#io.makeFolder(join(this.#path, ".."));
    const temporary = `${this.#path}.${this.#run}-${++this.#number}.tmp`;
    const content = Buffer.from(`${JSON.stringify({ version, ...kept })}\n`);
    await replaceContent(this.#io, { target: this.#path, temporary, mode: 0o600 }, content);
  }

  /** @returns whether the file has gone from its place. */
  async #moveTo(aside: string): Promise<boolean> {
    try {
      await this.#io.rename(this.#path, aside);
      this.setAside++;
    } catch (error) {
      this.#unread ??= `the broken file of alerts cannot be set aside: ${(error as Error).message}`;
      return isMissing(error);
    }
    this.#unread = undefined;
    return true;
  }
}

/** @throws BrokenFile */
function parse(text: string): KeptAlerts {
  let kept: (Partial<KeptAlerts> & { readonly version?: number }) | null;
  try {
    kept = JSON.parse(text) as typeof kept;
  } catch (error) {
    throw new BrokenFile((error as Error).message);
  }
  if (kept?.version !== version) throw new BrokenFile(`it is no file of alerts of version ${version}`);
  const { alerts, waiting, refused = {}, silences = [] } = kept;
  if (!Array.isArray(alerts) || !Array.isArray(silences) || !hasLists(waiting) || !hasLists(refused))
    throw new BrokenFile("it lacks lists of alerts and notices");
  return kept as KeptAlerts;
}

import { join } from "node:path";
import { isMissing, replaceContent, type FileIo } from "../base/file/index.ts";
import type { Alert, Notice } from "./alerts.ts";
import type { Silence } from "./silences.ts";

/** A notice that its receiver refuses although it takes others. */
export interface RefusedNotice {
  readonly notice: Notice;
  readonly because: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** State that is kept over a restart. The lists of notices are by action. */
export interface KeptAlerts {
  readonly alerts: readonly Alert[];
  /** Notices that no receiver has taken yet. */
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

/** Thrown for a file that does not contain alerts. */
class BrokenFile extends Error {}

/** Keeps alerts in a file, so that a restart neither forgets nor repeats any. It renames a file that it cannot read, and never overwrites it. */
export class AlertFile {
  readonly #path: string;
  readonly #io: FileIo;
  readonly #run: string;
  #number = 0;
  /** Why the file could not be read. Undefined where it may be replaced. */
  #unread: string | undefined;
  /** The number of files that were set aside. */
  setAside = 0;

  /** @param run letters and digits that are unique to this run. */
  constructor(directory: string, io: FileIo, run: string) {
    this.#path = join(directory, "alerts.json");
    this.#io = io;
    this.#run = run;
  }

  /**
   * Reads the kept alerts. It sets a broken file aside.
   *
   * @returns the alerts, and a sentence that says what is wrong with the file.
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

  /** Writes the alerts. @throws SaveError, or Error while an unreadable file is in the way; the file is then unchanged. */
  async write(kept: KeptAlerts): Promise<void> {
    if (this.#unread !== undefined && !(await this.#moveTo(`${this.#path}.broken-${this.#run}`)))
      throw new Error(`${this.#unread}; it is in the way`);
    await this.#io.makeFolder(join(this.#path, ".."));
    const temporary = `${this.#path}.${this.#run}-${++this.#number}.tmp`;
    const content = Buffer.from(`${JSON.stringify({ version, ...kept })}\n`);
    await replaceContent(this.#io, { target: this.#path, temporary, mode: 0o600 }, content);
  }

  /** @returns true where the file is no longer in its place. */
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

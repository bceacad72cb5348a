import { join } from "node:path";
import { isMissing, replaceContent, type FileIo } from "../../base/file/index.ts";
import type { Proposal } from "./choose-match.ts";
import type { Route } from "./route.ts";
import type { SpeakerConfig } from "./speaker.ts";

/**
 * The state of an answer. Proposed: nothing was announced. Announcing: it is in the journal and may be announced already. Withdrawing: it may still be
 * announced. Refused: it is never announced.
 */
export type AnswerState = "proposed" | "announcing" | "announced" | "withdrawing" | "ended" | "refused";

/** An answer to one alert by one action; plain data, as shown and kept. */
export interface Answer {
  readonly id: string;
  /** The id of the alert. */
  readonly alert: string;
  readonly rule: string;
  readonly action: string;
  /** The reason: the text of the alert. */
  readonly reason: string;
  readonly routes: readonly Route[];
  /** A description of what the routes do. */
  readonly text: string;
  /** Figures of how well the routes separate the attack from other traffic. */
  readonly evidence?: NonNullable<Proposal["evidence"]>;
  readonly state: AnswerState;
  /** Why it is refused, waits, or has ended. */
  readonly because?: string;
  readonly proposedAt: number;
  /** Who allowed it; `automatic` where SVC_WATCH_ANSWERS allows all. */
  readonly allowed: readonly { readonly by: string; readonly at: number }[];
  readonly announcedAt?: number;
  /** When it is withdrawn unless renewed. */
  readonly endsAt?: number;
  readonly endedAt?: number;
  /** Who withdrew it, where a person did. */
  readonly endedBy?: string;
  /** Why the last call to the speaker failed. */
  readonly fault?: string;
  /** The speaker, for a withdrawal after a restart with a different rules file. */
  readonly speaker: { readonly name: string; readonly config: SpeakerConfig };
}

/** Reports whether the routes of an answer may be announced at present. */
export function isLive({ state }: Answer): boolean {
  return state === "announcing" || state === "announced" || state === "withdrawing";
}

export const answerStates: readonly AnswerState[] = [
  "proposed",
  "announcing",
  "announced",
  "withdrawing",
  "ended",
  "refused",
];

const version = 1;

/** Reports whether a parsed value has all that a withdrawal needs, so that a gap is found at the start. */
function isAnswer(given: unknown): given is Answer {
  if (typeof given !== "object" || given === null) return false;
  const { id, alert, state, routes, allowed, endsAt = 0, speaker } = given as Partial<Answer>;
  return (
    typeof id === "string" &&
    typeof alert === "string" &&
    answerStates.some((each) => each === state) &&
    Array.isArray(routes) &&
    routes.every((route: Partial<Route> | null) => typeof route?.prefix === "string") &&
    Array.isArray(allowed) &&
    Number.isFinite(endsAt) &&
    typeof speaker?.name === "string" &&
    typeof speaker.config === "object"
  );
}

/** The file of answers. Each answer is written before it is announced. */
export class AnswerJournal {
  readonly #path: string;
  readonly #io: FileIo;
  readonly #run: string;
  #number = 0;

  /** @param run letters and digits that are unique to this run. */
  constructor(directory: string, io: FileIo, run: string) {
    this.#path = join(directory, "answers.json");
    this.#io = io;
    this.#run = run;
  }

  /** Reads all answers. @throws Error for a file that is not of this form; the errors of {@link FileIo}. */
  async read(): Promise<readonly Answer[]> {
    let text: string;
    try {
      text = Buffer.from(await this.#io.read(this.#path)).toString();
    } catch (error) {
      if (isMissing(error)) return [];
      throw error;
    }
    const kept = JSON.parse(text) as { readonly version?: number; readonly answers?: unknown } | null;
    if (kept?.version !== version || !Array.isArray(kept.answers) || !kept.answers.every(isAnswer))
      throw new Error(`${this.#path} is no file of answers of version ${version}`);
    return kept.answers;
  }

  /** Writes all answers and flushes them to disk. @throws SaveError; the file is then unchanged. */
  async write(answers: readonly Answer[]): Promise<void> {
    await this.#io.makeFolder(join(this.#path, ".."));
    const temporary = `${this.#path}.${this.#run}-${++this.#number}.tmp`;
    const content = Buffer.from(`${JSON.stringify({ version, answers })}\n`);
    await replaceContent(this.#io, { target: this.#path, temporary, mode: 0o600 }, content);
  }
}

import { join } from "node:path";
import { isMissing, replaceContent, type FileIo } from "../../base/file/index.ts";
import type { Proposal } from "./choose-match.ts";
import type { Route } from "./route.ts";
import type { SpeakerConfig } from "./speaker.ts";

/**
 * How far an answer is. Proposed: nothing was announced. Announcing: it is written down, and may be announced already. Withdrawing: it may
 * be announced still. Refused: it is never announced.
 */
export type AnswerState = "proposed" | "announcing" | "announced" | "withdrawing" | "ended" | "refused";

/** An answer to one alert by one action; plain data, as it is shown and kept. */
export interface Answer {
  readonly id: string;
  /** The id of the alert. */
  readonly alert: string;
  readonly rule: string;
  readonly action: string;
  /** Why: the text of the alert. */
  readonly reason: string;
  readonly routes: readonly Route[];
  /** What the routes do, in words. */
  readonly text: string;
  /** How well the routes tell the attack from the rest. */
  readonly evidence?: NonNullable<Proposal["evidence"]>;
  readonly state: AnswerState;
  /** Why it is refused, waits, or has ended. */
  readonly because?: string;
  readonly proposedAt: number;
  /** Who allowed it; `automatic` by SVC_WATCH_ANSWERS. */
  readonly allowed: readonly { readonly by: string; readonly at: number }[];
  readonly announcedAt?: number;
  /** When it is withdrawn if it is not renewed. */
  readonly endsAt?: number;
  readonly endedAt?: number;
  /** Who had it withdrawn, where somebody did. */
  readonly endedBy?: string;
  /** Why the speaker did not do what it was asked for, the last time. */
  readonly fault?: string;
  /** The speaker, for the withdrawal after a restart with another file of rules. */
  readonly speaker: { readonly name: string; readonly config: SpeakerConfig };
}

/** Answers of which routes may be announced. */
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

/** Tells whether something read has what a withdrawal needs, so that what it has not is known at the start. */
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

/** The file of answers: each is written down before it is announced. */
export class AnswerJournal {
  readonly #path: string;
  readonly #io: FileIo;
  readonly #run: string;
  #number = 0;

  /** @param run letters and digits that no other run has. */
  constructor(directory: string, io: FileIo, run: string) {
    this.#path = join(directory, "answers.json");
    this.#io = io;
    this.#run = run;
  }

  /** @throws Error for a file that is not of this form; the errors of {@link FileIo}. */
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

  /** Writes all answers, and has them reach the disk. @throws SaveError; the file is as it was. */
  async write(answers: readonly Answer[]): Promise<void> {
    await this.#io.makeFolder(join(this.#path, ".."));
    const temporary = `${this.#path}.${this.#run}-${++this.#number}.tmp`;
    const content = Buffer.from(`${JSON.stringify({ version, answers })}\n`);
    await replaceContent(this.#io, { target: this.#path, temporary, mode: 0o600 }, content);
  }
}

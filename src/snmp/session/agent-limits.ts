import { createRepetitions, type Repetitions } from "./repetitions.ts";

/** What most agents that drop long requests still answer. */
const fewOids = 8;

/** Counts answers until it is time to try again what has failed; each time in vain it takes twice as many. */
class Patience {
  readonly #first: number;
  #answers = 0;
  #wanted: number;

  constructor(answers: number) {
    this.#first = answers;
    this.#wanted = answers;
  }

  /** @returns whether it is time. */
  onAnswer(): boolean {
    if (++this.#answers < this.#wanted) return false;
    this.#answers = 0;
    this.#wanted = Math.min(65_536, 2 * this.#wanted);
    return true;
  }

  restart(): void {
    this.#answers = 0;
  }

  /** It was not in vain. */
  reward(): void {
    this.#wanted = this.#first;
  }
}

/**
 * What an agent can take, learnt from how it answers. It is kept for as long as a session of the agent is open, so that
 * one discovery or poll learns for the next.
 */
export class AgentLimits {
  /** How many values to ask for in one GetBulk. */
  readonly repetitions: Repetitions = createRepetitions();
  #width = Infinity;
  /** The most OIDs that one request had when it was answered. */
  #proven = 0;
  #bulk: "unknown" | "works" | "missing" = "unknown";
  readonly #untilWider = new Patience(500);
  readonly #untilBulk = new Patience(1000);

  /** Returns how many OIDs to put into one request, at most `most`. */
  oids(most: number): number {
    return Math.max(1, Math.min(most, this.#width));
  }

  /** A request with this many OIDs was answered for all of them. */
  onAnswer(asked: number): void {
    if (asked > this.#proven) {
      this.#proven = asked;
      this.#untilWider.reward();
    }
    // The network may have changed, or only lost something.
    if (asked >= this.#width && this.#untilWider.onAnswer()) this.#width *= 2;
  }

  /** The agent cannot take as many as this: it said so, or its answer was none to them. */
  onTooMany(asked: number): void {
    this.narrow(asked >> 1);
  }

  /** The agent answers this many, after more were in vain. */
  narrow(oids: number): void {
    this.#width = Math.max(1, Math.min(this.#width, oids));
    this.#proven = Math.min(this.#proven, this.#width);
    this.#untilWider.restart();
  }

  /**
   * No answer came to this many OIDs. An agent that has answered as many before, or nothing yet, is silent; any other may
   * drop what is long.
   *
   * @returns how many to try; undefined: the agent is silent. Call {@link narrow} if that many are answered.
   */
  onSilence(asked: number): number | undefined {
    if (asked === 1 || this.#proven === 0) return undefined;
    if (asked <= this.#proven) {
      // Another agent may answer at this address some day.
      this.#proven = 1;
      return undefined;
    }
    return Math.max(this.#proven, asked > fewOids ? fewOids : 1);
  }

  /** Whether GetBulk is to be used. */
  get hasBulk(): boolean {
    return this.#bulk !== "missing";
  }

  /** Whether the agent has answered a GetBulk before. */
  get isBulkProven(): boolean {
    return this.#bulk === "works";
  }

  /** A GetBulk was answered with a whole row at least. */
  onBulk(): void {
    this.#bulk = "works";
    this.#untilBulk.reward();
  }

  /** The agent has answered GetBulk before, and now it does not. Another agent may answer at this address. */
  onBulkSilent(): void {
    if (this.#bulk === "works") this.#bulk = "unknown";
  }

  /** The agent does not answer GetBulk as it should, but GetNext. */
  onBulkMissing(): void {
    this.#bulk = "missing";
    this.#untilBulk.restart();
  }

  /** A GetNext in place of a GetBulk was answered. */
  onNext(): void {
    if (this.#bulk === "missing" && this.#untilBulk.onAnswer()) this.#bulk = "unknown";
  }
}

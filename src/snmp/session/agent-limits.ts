import { createRepetitions, type Repetitions } from "./repetitions.ts";

/** What most agents that drop long requests still answer. */
const fewOids = 8;
/** Answers in a row after which more OIDs than failed are tried again: the network may have changed. */
const answersToWiden = 2000;
/** Answers to GetNext after which GetBulk is tried again. */
const answersToRetryBulk = 10_000;

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
  #answers = 0;
  #bulk: "unknown" | "works" | "missing" = "unknown";
  #answersWithoutBulk = 0;

  /** Returns how many OIDs to put into one request, at most `most`. */
  oids(most: number): number {
    return Math.max(1, Math.min(most, this.#width));
  }

  /** A request with this many OIDs was answered for all of them. */
  onAnswer(asked: number): void {
    this.#proven = Math.max(this.#proven, asked);
    if (asked < this.#width || ++this.#answers < answersToWiden) return;
    this.#answers = 0;
    this.#width = 2 * this.#width;
  }

  /** The agent cannot take this many OIDs: it said so, or its answer was no answer to them. */
  onTooMany(asked: number): void {
    this.#width = Math.max(1, asked >> 1);
    this.#proven = Math.min(this.#proven, this.#width);
    this.#answers = 0;
  }

  /**
   * No answer came to this many OIDs. An agent that has answered as many before, or nothing yet, is silent; any other may
   * drop what is long.
   *
   * @returns whether to ask for fewer.
   */
  onSilence(asked: number): boolean {
    if (asked === 1 || this.#proven === 0) return false;
    if (asked <= this.#proven) {
      // Another agent may answer at this address some day.
      this.#proven = 1;
      return false;
    }
    this.#width = Math.max(this.#proven, asked > fewOids ? fewOids : 1);
    this.#answers = 0;
    return true;
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
  }

  /** The agent does not answer GetBulk as it should, but GetNext. */
  onBulkMissing(): void {
    this.#bulk = "missing";
    this.#answersWithoutBulk = 0;
  }

  /** A GetNext in place of a GetBulk was answered. */
  onNext(): void {
    if (this.#bulk === "missing" && ++this.#answersWithoutBulk >= answersToRetryBulk) this.#bulk = "unknown";
  }
}

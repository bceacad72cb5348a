/** Full answers in a row before more is tried: twice as much until a size has failed, then a quarter more. */
const answersToDouble = 2;
const answersToGrow = 8;
/** Answers in a row, each full, after which a size that failed is tried again: the network may have changed. */
const answersToForget = 512;

/**
 * Learns how many values to ask an agent for in one GetBulk from how it answers. It is kept for as long as the agent
 * is polled, so that one walk learns for the next.
 *
 * Doubles after some full answers, up to `most`. It halves at a failure, and grows by a quarter from then on; a size that
 * failed is approached to three quarters only, until many answers went well.
 */
export class Repetitions {
  readonly #most: number;
  #values: number;
  #failedAt = Infinity;
  #full = 0;
  #sinceFailure = 0;
  #hasFailed = false;

  constructor(first = 60, most = 240) {
    this.#most = most;
    this.#values = Math.min(first, most);
  }

  /** Values to ask for in one request, rows times columns. */
  values(): number {
    return this.#values;
  }

  /** An answer held all the values that were asked for, about as many as {@link values} says. */
  onFull(): void {
    this.#full++;
    this.#sinceFailure++;
    if (this.#sinceFailure >= answersToForget) this.#failedAt = Infinity;
    if (this.#full < (this.#hasFailed ? answersToGrow : answersToDouble)) return;
    this.#full = 0;
    const ceiling = Math.min(this.#most, Math.floor(this.#failedAt * 0.75));
    this.#values = Math.max(
      this.#values,
      Math.min(ceiling, this.#hasFailed ? this.#values + Math.ceil(this.#values / 4) : 2 * this.#values),
    );
  }

  /** The agent said tooBig, or did not answer, when asked for this many values. */
  onFailure(asked: number): void {
    this.#hasFailed = true;
    this.#failedAt = asked;
    this.#values = Math.max(1, Math.floor(asked / 2));
    this.#full = 0;
    this.#sinceFailure = 0;
  }
}

/** The number of OIDs that most agents that drop long requests still answer. */
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
 * Limits of an agent, learnt from how it answers. They are kept for as long as a session of the agent is open, so that
 * one discovery or poll learns for the next.
 */
export class AgentLimits {
  /** The number of values to ask for in one GetBulk. */
  readonly repetitions: Repetitions = new Repetitions();
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

  /** True if GetBulk is to be used. */
  get hasBulk(): boolean {
    return this.#bulk !== "missing";
  }

  /** True if the agent has answered a GetBulk before. */
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

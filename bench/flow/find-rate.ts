/** What one trial at a rate came to, in records. */
export interface Trial {
  readonly rate: number;
  readonly sent: number;
  readonly received: number;
  /** Those lost, by the place where they were; what nobody counted is "unaccounted". */
  readonly lost: Readonly<Record<string, number>>;
  /** CPU time of the receiving side by thread, in nanoseconds for each record sent. */
  readonly cpu: Readonly<Record<string, number>>;
  /** How long the last of it took to come out once all was sent. */
  readonly drainSeconds: number;
  /** CPU time of the generator for each second of the trial. */
  readonly generatorCpu: number;
}

export interface FoundRate {
  /** The one with the highest rate of those that lost nothing. */
  readonly best: Trial;
  /** The one with the lowest rate of those that lost something; undefined when the generator could not send faster. */
  readonly worst: Trial | undefined;
}

const maxTrials = 7;
const step = 1.4;

/**
 * The highest rate at which nothing was lost: from `start` up in steps of 1.4 until something is, or down until nothing is,
 * then halfway between twice. What is found lies within a tenth of it.
 *
 * @param maxDrain how long, as a part of the time of a trial, the last of it may take to come out.
 * @throws Error when nothing is received without loss.
 */
export async function findRate(
  start: number,
  seconds: number,
  maxDrain: number,
  run: (rate: number) => Promise<Trial>,
): Promise<FoundRate> {
  let best: Trial | undefined;
  let worst: Trial | undefined;
  let halved = 0;
  for (let i = 0, rate = start; i < maxTrials && halved <= 2; i++) {
    const trial = await run(rate);
    const isWhole = trial.received === trial.sent;
    const isKept = trial.sent >= 0.95 * rate * seconds;
    // What only fills queues could not go on for long.
    const isSustained = trial.drainSeconds < maxDrain * seconds;
    if (!isWhole || !isSustained) worst = trial;
    else if (best === undefined || trial.sent > best.sent) best = trial;
    // A generator that cannot keep the rate measures itself; it may have been held up.
    if (isWhole && isSustained && !isKept) continue;
    if (best !== undefined && worst !== undefined) {
      rate = (best.rate + worst.rate) / 2;
      halved++;
    } else rate = isWhole && isSustained ? rate * step : rate / step ** 2;
  }
  if (best === undefined) throw new Error(`even ${worst?.rate ?? 0} records a second are not all received`);
  return { best: { ...best, rate: Math.min(best.rate, best.sent / seconds) }, worst };
}

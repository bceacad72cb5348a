/** What one trial at a rate came to, in records. */
export interface Trial {
  readonly rate: number;
  readonly sent: number;
  readonly received: number;
  /** Seconds of CPU time for each second of the trial. */
  readonly cpu: number;
}

export interface FoundRate {
  /** The one with the highest rate of those that lost nothing. */
  readonly best: Trial;
  /** The one at the rate to start with. */
  readonly first: Trial;
}

/**
 * The highest rate at which nothing was lost: from `start` up in steps of half as much again until something is, then
 * halfway between twice; from `start` down by half if the first trial loses.
 */
export async function findRate(start: number, run: (rate: number) => Promise<Trial>): Promise<FoundRate> {
  let first: Trial | undefined;
  let good: Trial | undefined;
  let bad: number | undefined;
  let rate = start;
  while (bad === undefined || good === undefined) {
    const trial = await run(rate);
    first ??= trial;
    // A generator that cannot keep the rate measures itself.
    const isKept = trial.sent >= 0.97 * trial.rate * trialSeconds;
    if (trial.received === trial.sent && isKept) good = trial;
    else if (trial.received === trial.sent) return { best: trial, first };
    else bad = rate;
    if (good === undefined && rate < 1000) throw new Error(`even ${rate} records a second are not all received`);
    rate = good === undefined ? rate / 2 : rate * 1.5;
  }
  for (let i = 0; i < 2; i++) {
    const trial = await run((good.rate + bad) / 2);
    if (trial.received === trial.sent) good = trial;
    else bad = trial.rate;
  }
  return { best: good, first: first ?? good };
}

export const trialSeconds = 3;

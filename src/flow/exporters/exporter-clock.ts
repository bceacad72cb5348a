/** Samples are at least so far apart: a queue that stood for a moment makes many datagrams late, and one sample. */
const samplePauseMs = 1000;
/** The number of samples: half of them must agree before a jump of the clock counts. */
const maxSamples = 31;
/** A correction needs so many samples, and one of less than a second so many. */
const fewSamples = 3;
const manySamples = 15;
/** A difference that is no fault of the clock: the way of a datagram, whole seconds of a header. */
const toleratedMs = 250;
const toleratedOfFewMs = 1000;
const stepMs = 100;
/** A header of whole seconds is behind by half of one on average. */
const halfSecondMs = 500;
/** The memory that the samples take. */
export const exporterClockCost = 8 * maxSamples + 200;

/**
 * Measures how far the clock of an exporter is ahead of ours: by the median of export time less time of receipt over its last samples. Late datagrams
 * do not move it, and a jump of the clock does when half of the samples are from after it.
 */
export class ExporterClock {
  readonly #samples = new Float64Array(maxSamples);
  #count = 0;
  #sampledAt = Number.NEGATIVE_INFINITY;
  #offset: number | undefined;
  #correction = 0;

  /** Milliseconds; undefined before the first datagram. */
  get offset(): number | undefined {
    return this.#offset;
  }

  /** Returns the correction of its times, milliseconds: the offset in tenths of a second, 0 while it is small or not sure. */
  get correction(): number {
    return this.#correction;
  }

  /**
   * Takes the times of a datagram, milliseconds since the epoch.
   *
   * @param isWholeSeconds true if the header's time has no fraction.
   */
  note(exportTime: number, receivedAt: number, isWholeSeconds: boolean): void {
    if (Math.abs(receivedAt - this.#sampledAt) < samplePauseMs) return;
    this.#sampledAt = receivedAt;
    this.#samples[this.#count++ % maxSamples] = exportTime - receivedAt + (isWholeSeconds ? halfSecondMs : 0);
    const sorted = this.#samples.slice(0, Math.min(this.#count, maxSamples)).sort();
    this.#offset = sorted[sorted.length >> 1] as number;
    this.#correct(this.#offset);
  }

  /** A correction stays until the offset has clearly left it, so that it does not change with each sample. */
  #correct(offset: number): void {
    if (this.#count < fewSamples) return;
    const tolerated = this.#count < manySamples ? toleratedOfFewMs : toleratedMs;
    if (Math.abs(offset - this.#correction) < tolerated) return;
    this.#correction = Math.abs(offset) < tolerated ? 0 : Math.round(offset / stepMs) * stepMs;
  }
}

import type { Exporter } from "./exporter.ts";

/** An exporter that was silent for longer may have been at another collector. */
const awayMs = 30_000;
/** A second start so soon is none. */
const restartsMs = 15_000;
/** Nobody is waited for longer. */
const holdMs = 1000;
/** In place of the end of that time: its first data set has not come yet. */
const untilData = Number.POSITIVE_INFINITY;
/** Another collector may be about to write what it has just learnt. */
const firstDelayMs = 250;
const mostDelayMs = 60_000;
const maxOpen = 10_000;
const maxDue = 500;

/** About which exporters other collectors are to be asked: those of which data sets wait. Times in milliseconds since the epoch. */
export class OpenQuestions {
  readonly #find: (address: string) => Exporter | undefined;
  readonly #open = new Map<string, { tries: number; nextAt: number }>();
  readonly #restarts = new WeakMap<Exporter, number>();
  /** Those not taken because there were too many. */
  refused = 0;

  constructor(find: (address: string) => Exporter | undefined) {
    this.#find = find;
  }

  /**
   * An exporter has sent a datagram. To be called before its `lastSeen` is set. Of one that is new, or was away, the data sets are held, from
   * the first on: templates alone are no reason to ask, and data may come much later.
   */
  heard(exporter: Exporter, now: number): void {
    if (exporter.datagrams === 0 || now - exporter.lastSeen > awayMs) hold(exporter, now);
  }

  /** A data set of an exporter has come: if its data sets are to be held, the time runs from here. */
  data(exporter: Exporter, now: number): void {
    if (exporter.heldUntil === untilData) exporter.heldUntil = now + holdMs;
  }

  /**
   * An exporter has started again, maybe after it sent other templates elsewhere: its data sets are held, from the first on.
   *
   * @returns false so soon after the last time: several devices behind one address look as if one started again and again.
   */
  restarted(exporter: Exporter, now: number): boolean {
    if (now - (this.#restarts.get(exporter) ?? Number.NEGATIVE_INFINITY) < restartsMs) return false;
    this.#restarts.set(exporter, now);
    hold(exporter, now);
    return true;
  }

  /** A data set of an exporter waits. Returns whether it will be asked about. */
  need({ address, heldUntil }: Exporter, now: number): boolean {
    const known = this.#open.get(address);
    if (known !== undefined) {
      // It was away: what was asked before is of another time.
      if (now < heldUntil && known.nextAt > heldUntil) this.#open.set(address, { tries: 0, nextAt: now });
      return true;
    }
    if (this.#open.size >= maxOpen) {
      this.refused++;
      return false;
    }
    this.#open.set(address, { tries: 0, nextAt: now });
    return true;
  }

  /** The addresses that are to be asked about now. They come again, at growing intervals, while sets wait. */
  due(now: number): readonly string[] {
    const asked: string[] = [];
    for (const [address, question] of this.#open) {
      if (this.#find(address)?.isWaiting() !== true) {
        this.#open.delete(address);
        continue;
      }
      if (now < question.nextAt || asked.length >= maxDue) continue;
      asked.push(address);
      question.nextAt = now + Math.min(firstDelayMs * 2 ** question.tries, mostDelayMs);
      question.tries++;
    }
    return asked;
  }

  /** Exporters that nobody answered about in time: what is held of them is to be decoded with what is known. */
  late(now: number): readonly Exporter[] {
    const exporters = Array.from(this.#open.keys(), this.#find).filter((exporter) => exporter !== undefined);
    return exporters.filter(({ heldUntil }) => heldUntil > 0 && heldUntil <= now);
  }
}

function hold(exporter: Exporter, now: number): void {
  exporter.heldUntil = exporter.isWaiting() ? now + holdMs : untilData;
}

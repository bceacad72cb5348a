import type { Exporter } from "./exporter.ts";

/** About which exporters other collectors are to be asked: those of which data sets wait. Times in milliseconds since the epoch. */
export interface OpenQuestions {
  /**
   * An exporter has sent a datagram. To be called before its `lastSeen` is set. Of one that is new, or was away, the data sets are held, from
   * the first on: templates alone are no reason to ask, and data may come much later.
   */
  heard(exporter: Exporter, now: number): void;
  /** A data set of an exporter has come: if its data sets are to be held, the time runs from here. */
  data(exporter: Exporter, now: number): void;
  /**
   * An exporter has started again, maybe after it sent other templates elsewhere: its data sets are held, from the first on.
   *
   * @returns false so soon after the last time: several devices behind one address look as if one started again and again.
   */
  restarted(exporter: Exporter, now: number): boolean;
  /** A data set of an exporter waits. Returns whether it will be asked about. */
  need(exporter: Exporter, now: number): boolean;
  /** The addresses that are to be asked about now. They come again, at growing intervals, while sets wait. */
  due(now: number): readonly string[];
  /** Exporters that nobody answered about in time: what is held of them is to be decoded with what is known. */
  late(now: number): readonly Exporter[];
  /** Those not taken because there were too many. */
  readonly refused: number;
}

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

interface Question {
  tries: number;
  nextAt: number;
}

export function createOpenQuestions(find: (address: string) => Exporter | undefined): OpenQuestions {
  const open = new Map<string, Question>();
  const restarts = new WeakMap<Exporter, number>();
  let refused = 0;

  const hold = (exporter: Exporter, now: number): void => {
    exporter.heldUntil = exporter.isWaiting() ? now + holdMs : untilData;
  };

  return {
    heard(exporter, now) {
      if (exporter.datagrams === 0 || now - exporter.lastSeen > awayMs) hold(exporter, now);
    },
    data(exporter, now) {
      if (exporter.heldUntil === untilData) exporter.heldUntil = now + holdMs;
    },
    restarted(exporter, now) {
      if (now - (restarts.get(exporter) ?? Number.NEGATIVE_INFINITY) < restartsMs) return false;
      restarts.set(exporter, now);
      hold(exporter, now);
      return true;
    },
    need({ address, heldUntil }, now) {
      const known = open.get(address);
      if (known !== undefined) {
        // It was away: what was asked before is of another time.
        if (now < heldUntil && known.nextAt > heldUntil) open.set(address, { tries: 0, nextAt: now });
        return true;
      }
      if (open.size >= maxOpen) {
        refused++;
        return false;
      }
      open.set(address, { tries: 0, nextAt: now });
      return true;
    },
    due(now) {
      const asked: string[] = [];
      for (const [address, question] of open) {
        if (find(address)?.isWaiting() !== true) {
          open.delete(address);
          continue;
        }
        if (now < question.nextAt || asked.length >= maxDue) continue;
        asked.push(address);
        question.nextAt = now + Math.min(firstDelayMs * 2 ** question.tries, mostDelayMs);
        question.tries++;
      }
      return asked;
    },
    late(now) {
      const exporters = Array.from(open.keys(), find).filter((exporter) => exporter !== undefined);
      return exporters.filter(({ heldUntil }) => heldUntil > 0 && heldUntil <= now);
    },
    get refused() {
      return refused;
    },
  };
}

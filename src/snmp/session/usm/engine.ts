import type { Clock } from "../../../base/report/index.ts";

/** How far apart the two notions of an engine's time may be, in seconds (RFC 3414 section 2.2.3). */
const timeWindow = 150;

/** At this value engine boots stay, and nothing is in the time window any more (RFC 3414 section 2.2.2). */
const maxBoots = 0x7fffffff;

/** What a manager knows of an agent's engine. */
export interface EngineView {
  readonly id: Uint8Array;
  /** How often the engine was started. */
  readonly boots: number;
  /** Seconds since it was started, as of the question. */
  readonly time: number;
}

/** An agent's engine and our notion of its time (RFC 3414 section 2.3). */
export interface Engine {
  readonly id: Uint8Array;
  /** The largest message that the agent says it takes. */
  readonly maxSize: number;
  view(): EngineView;
  /** Whether a time was taken from an authenticated message. Before that, boots and time are what a stranger said. */
  isSynchronized(): boolean;
  /** Takes over the time of a message that proves to be fresh by itself, or, as a first guess, of any message. */
  setTime(boots: number, time: number, isAuthenticated: boolean): void;
  /**
   * Checks the time of an authenticated message against our notion and moves the notion on (RFC 3414 section 3.2, step
   * 7 b): a message of an earlier start, or more than 150 seconds behind, is not timely.
   */
  accept(boots: number, time: number): boolean;
}

export function createEngine(id: Uint8Array, maxSize: number, clock: Clock): Engine {
  let boots = 0;
  let time = 0;
  let latest = 0;
  let at = clock.monotonic();
  let synchronized = false;

  const timeNow = (): number => Math.min(time + Math.floor((clock.monotonic() - at) / 1000), 0x7fffffff);
  const setTime = (newBoots: number, newTime: number, isAuthenticated: boolean): void => {
    boots = newBoots;
    time = newTime;
    latest = newTime;
    at = clock.monotonic();
    synchronized = isAuthenticated;
  };
  return {
    id,
    maxSize,
    view: () => ({ id, boots, time: timeNow() }),
    isSynchronized: () => synchronized,
    setTime,
    accept(newBoots, newTime) {
      const isNewer = !synchronized || newBoots > boots || (newBoots === boots && newTime > latest);
      const isTimely = isNewer || (newBoots === boots && newTime >= timeNow() - timeWindow);
      if (newBoots === maxBoots || !isTimely) return false;
      if (isNewer) setTime(newBoots, newTime, true);
      return true;
    },
  };
}

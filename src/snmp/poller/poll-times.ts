import type { Definitions, Device } from "../definitions/definitions.ts";
import type { DevicePlan } from "../discovery/device-plan.ts";
import { givesNames } from "./device-names.ts";
import { lastTurn } from "./place-of.ts";
import { createPollGrid, type PollGrid, type PollGridParts } from "./poll-grid.ts";
import type { CompilePollPlan, PolledType } from "./poll-plan.ts";

/** Turns that nobody took. */
export interface MissedTurns {
  /** Milliseconds since the epoch: the earlier run polled until then. */
  readonly since: number;
  /** When they are made up for. */
  readonly delayMs: number;
}

/** What of a device is polled, and when. */
export interface PollTimes extends Pick<PollGrid, "pollAll" | "clear" | "nextDue"> {
  /** The object types that are polled, by name; none without a plan. */
  types(): ReadonlyMap<string, PolledType>;
  /** The plan, the device or the definitions are others: what is polled is compiled when it is wanted next. */
  changed(): void;
  /** Brings the times in line with the types. A device that was not polled is polled now, or has its missed turns made up for. */
  plan(missed?: MissedTurns): void;
  /** Polls what gives interfaces their names now, in addition to its times: at most once in 10 s. */
  pollInterfaces(): void;
}

/** What the times depend on, as it is at that time. */
export interface TimedDevice {
  readonly device: Device;
  readonly definitions: Definitions;
  readonly plan: DevicePlan | undefined;
}

export interface PollTimesParts extends PollGridParts {
  readonly compile: CompilePollPlan;
  readonly now: () => TimedDevice;
}

/** A link that goes up and down all the time is no reason to poll all the time. */
const minInterfacePollMs = 10_000;

export function createPollTimes(parts: PollTimesParts): PollTimes {
  const { schedule, clock } = parts;
  const grid = createPollGrid(parts);
  let compiled: ReadonlyMap<string, PolledType> | undefined;
  let interfacesPolledAt = -Infinity;

  /** A device that shows no objects is asked all the same whether it is there, and whether it has some by now. */
  const compile = (): ReadonlyMap<string, PolledType> => {
    const { plan, definitions, device } = parts.now();
    const found = plan && parts.compile(plan, definitions, device);
    if (found?.size !== 0) return found ?? new Map<string, PolledType>();
    return new Map([["", { intervalMs: device.pollIntervalMs, objects: [] }]]);
  };
  const types = (): ReadonlyMap<string, PolledType> => (compiled ??= compile());

  return {
    types,
    changed: () => void (compiled = undefined),
    // Each device has a place of its own in the interval, the same after a restart.
    plan(missed) {
      const { id } = parts.now().device;
      const isPolled = grid.nextDue() !== undefined;
      const intervals = new Map(Array.from(types(), ([type, { intervalMs }]) => [type, intervalMs]));
      const now = clock.now();
      const shortest = Math.min(...intervals.values());
      const last = lastTurn(id, shortest, now);
      grid.plan(intervals, last + shortest - now);
      if (isPolled || intervals.size === 0) return;
      if (missed === undefined) grid.pollAll();
      else if (last >= missed.since) schedule.at(clock.monotonic() + missed.delayMs, () => grid.pollAll());
    },
    pollInterfaces() {
      const now = clock.monotonic();
      if (now < interfacesPolledAt + minInterfacePollMs) return;
      interfacesPolledAt = now;
      grid.pollAll((type) => types().get(type)?.objects.some(givesNames) === true);
    },
    pollAll: (isWanted) => grid.pollAll(isWanted),
    clear: () => grid.clear(),
    nextDue: () => grid.nextDue(),
  };
}

import { FileState, savedForm, SharedState, type KeptState, type StateForm } from "../../src/app/index.ts";
import { nodeFileIo } from "../../src/base/file/index.ts";
import { createHealth, silentLog, systemClock, type Health } from "../../src/base/report/index.ts";
import type { PostgresqlFleetStates } from "../../src/fleet/index.ts";
import { cleanUp, type Owner } from "./clean-up.ts";

type States = Pick<PostgresqlFleetStates, "read" | "write" | "watch">;

/** What a collector of a fleet keeps its states with. */
interface SharedOptions {
  readonly states: States;
  readonly session?: () => string | undefined;
  /** The folder of its files; without one it has none. */
  readonly directory?: string;
  readonly health?: Health;
}

/** The table of a fleet that is away while the switch says so. */
export function breakable(states: States): States & { isAway: boolean } {
  const whole = {
    isAway: false,
    read: async (name: string, known: string | undefined) => {
      if (whole.isAway) throw new Error("the database is away");
      return states.read(name, known);
    },
    write: async (...given: Parameters<States["write"]>) => {
      if (whole.isAway) throw new Error("the database is away");
      return states.write(...given);
    },
    watch: (name: string, listener: () => void) => states.watch(name, listener),
  };
  return whole;
}

/** A state of a fleet, as one of its collectors has it, started. Waits of seconds are some milliseconds. */
export async function openShared<T>(
  t: Owner,
  key: string,
  form: StateForm<T>,
  { states, session = () => undefined, directory, health = createHealth() }: SharedOptions,
): Promise<KeptState<T>> {
  const file = (name: string): FileState<T> => {
    const path = directory && `${directory}/${name}.json`;
    return new FileState(name, path, form, "a run", { io: nodeFileIo, clock: systemClock, log: silentLog });
  };
  const places = { states, key, session, own: file(key), copy: file(`fleet-${key}`) };
  const soon = (action: () => void, ms: number): (() => void) => {
    const timer = setTimeout(action, ms / 50);
    return () => clearTimeout(timer);
  };
  const shared = new SharedState(key, places, form, { clock: systemClock, log: silentLog, health }, soon);
  await shared.start();
  cleanUp(t, () => shared.stop());
  return shared;
}

/** What people save, of a fleet. */
export const openSaved = (t: Owner, options: SharedOptions) => openShared(t, "views", savedForm, options);

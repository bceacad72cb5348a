import type { Clock, Log } from "../../base/report/index.ts";
import type { Definitions, Device } from "../definitions/definitions.ts";
import type { PlanStore } from "../discovery/plan-store.ts";
import { createDevicePoller } from "../poller/device-poller.ts";
import type { DevicePoller } from "../poller/device-poller-contract.ts";
import type { PollerParts } from "../poller/poller-parts.ts";
import { createPlanCompiler } from "../poller/poll-plan.ts";
import type { RecordWriter } from "../poller/record-writer.ts";
import type { Schedule } from "../poller/schedule.ts";
import type { SnmpClient } from "../session/snmp-client.ts";
import type { InterfaceDirectory } from "./interface-directory.ts";

/** The devices that are polled, by `ip:port`, and all that is kept of each. */
export interface DeviceTable {
  readonly pollers: ReadonlyMap<string, DevicePoller>;
  add(device: Device, definitions: Definitions): void;
  /** Lets what is in flight end, then forgets the device and its plan. */
  remove(deviceId: string): void;
  /** Stops at once and forgets the device, but not its plan: another collector polls it. */
  letGo(deviceId: string): Promise<void>;
  /** Definitions that changed and wait for the next discovery of the device, sorted. */
  pendingOf(deviceId: string): readonly string[];
  addPending(deviceId: string, subjects: readonly string[]): void;
  /** Takes back what is pending, unless that is not this list any more. */
  settlePending(deviceId: string, subjects: readonly string[]): void;
  /** Begins to stop all; resolves when nothing runs any more. */
  stop(): Promise<void>;
}

export interface DeviceTableParts extends Pick<
  PollerParts,
  "seen" | "rediscover" | "answersAgain" | "memory" | "octets" | "rates" | "comparesAll" | "turn"
> {
  readonly client: SnmpClient;
  readonly schedule: Schedule;
  readonly writer: RecordWriter;
  readonly clock: Clock;
  readonly log: Log;
  readonly plans: PlanStore;
  readonly directory: InterfaceDirectory;
  /** A device is no more. */
  readonly removed: (deviceId: string) => void;
}

const nothing: readonly string[] = [];

export function createDeviceTable(parts: DeviceTableParts): DeviceTable {
  const { plans, directory } = parts;
  const compile = createPlanCompiler();
  const pollers = new Map<string, DevicePoller>();
  const pending = new Map<string, readonly string[]>();
  const stopping = new Set<Promise<void>>();
  const drop = (deviceId: string): DevicePoller | undefined => {
    const poller = pollers.get(deviceId);
    if (poller === undefined) return undefined;
    pollers.delete(deviceId);
    pending.delete(deviceId);
    directory.change({ deviceId });
    parts.removed(deviceId);
    return poller;
  };
  const whileStopping = (stopped: Promise<void>): void => {
    stopping.add(stopped);
    void stopped.finally(() => stopping.delete(stopped));
  };
  return {
    pollers,
    add(device, definitions) {
      const learnt = (poller: DevicePoller): void => {
        // A poll in flight may end after the device was removed.
        if (pollers.get(poller.id) !== poller) return;
        const { id, addresses, interfaces } = poller;
        directory.change({ deviceId: id, known: { ip: poller.device.ip, addresses, names: interfaces } });
      };
      pollers.set(device.id, createDevicePoller({ ...parts, compile, learnt }, device, definitions));
    },
    remove(deviceId) {
      const poller = drop(deviceId);
      // By the time it has stopped the device may be there again, with a plan of its own.
      if (poller !== undefined)
        whileStopping(poller.stop().then(() => (pollers.has(deviceId) ? undefined : plans.remove(deviceId))));
    },
    async letGo(deviceId) {
      const stopped = drop(deviceId)?.stop(true);
      if (stopped === undefined) return;
      whileStopping(stopped);
      await stopped;
    },
    pendingOf: (deviceId) => pending.get(deviceId) ?? nothing,
    addPending(deviceId, subjects) {
      if (subjects.length === 0) return;
      pending.set(deviceId, [...new Set([...(pending.get(deviceId) ?? []), ...subjects])].sort());
    },
    settlePending(deviceId, subjects) {
      if (pending.get(deviceId) === subjects) pending.delete(deviceId);
    },
    async stop() {
      await Promise.all([...Array.from(pollers.values(), (poller) => poller.stop()), ...stopping]);
      pollers.clear();
    },
  };
}

import type { Clock, Log } from "../../base/report/index.ts";
import type { MemoryBudget } from "../discovery/memory-budget.ts";
import type { SnmpClient } from "../session/snmp-client.ts";
import type { DevicePoller } from "./device-poller-contract.ts";
import type { LearntDeviceOptions } from "./learnt-device.ts";
import type { PolledRows } from "./poll-object.ts";
import type { CompilePollPlan, PolledObject } from "./poll-plan.ts";
import type { RecordWriter } from "./record-writer.ts";
import type { Schedule } from "./schedule.ts";

/** What all devices share. Of octets and rates the counters of all devices are within one budget each. */
export interface PollerParts extends LearntDeviceOptions {
  readonly client: SnmpClient;
  readonly schedule: Schedule;
  readonly writer: RecordWriter;
  readonly compile: CompilePollPlan;
  /** For the rows of all devices. */
  readonly memory: MemoryBudget;
  /** Resolves when a long table may go on. */
  readonly turn: () => Promise<void>;
  readonly clock: Clock;
  /** Limited in rate. */
  readonly log: Log;
  /** Asks for a discovery; the poller goes on with the plan it has. */
  readonly rediscover: (deviceId: string, reason: string) => void;
  /** A device that was silent answers; it is polled again unless it first has to be discovered. */
  readonly answersAgain: (deviceId: string) => void;
  /** What was read of an object, unless reading it was given up. */
  readonly seen?: ((deviceId: string, object: PolledObject, polled: PolledRows) => void) | undefined;
  /** The names and addresses of a device have changed. */
  readonly learnt: (device: DevicePoller) => void;
}

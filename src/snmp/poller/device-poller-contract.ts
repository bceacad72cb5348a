import type { MeasuredDevice, DeviceCounts } from "./device-counts.ts";
import type { Device, Definitions } from "../definitions/definitions.ts";
import type { DevicePlan } from "../discovery/device-plan.ts";
import type { InterfaceView } from "./interface-states.ts";
import type { OctetReading } from "./octet-counters.ts";
import type { MissedTurns } from "./poll-times.ts";

/** Polls one device: each object type at its interval, and while it does not answer with one request an interval. */
export interface DevicePoller extends MeasuredDevice {
  readonly device: Device;
  readonly plan: DevicePlan | undefined;
  readonly state: "undiscovered" | "up" | "down";
  readonly interfaces: ReadonlyMap<number, string>;
  readonly addresses: readonly string[];
  /** The name of a port by its lldpLocPortNum; undefined while it is not known. */
  lldpPort(port: number): string | undefined;
  /** The same with their states and rates. */
  interfaceViews(): readonly InterfaceView[];
  /** The last readings of the counters of bytes, by ifIndex. */
  octets(): ReadonlyMap<number, readonly OctetReading[]>;
  readonly lastPoll: number | undefined;
  readonly lastError: { readonly at: number; readonly message: string } | undefined;
  /** Milliseconds since the epoch. */
  nextPoll(): number | undefined;
  readonly counts: DeviceCounts;
  /** Puts a plan in the place of the one before and polls by it. */
  adopt(plan: DevicePlan): void;
  /** Goes on with the plan of an earlier run, which may have missed the last turn of the device. */
  resume(plan: DevicePlan, missed: MissedTurns): void;
  /** A discovery failed: the plan that there is stays. Without one the device is asked again each interval. */
  discoveryFailed(message: string): void;
  /** Uses other definitions from the next poll on. */
  update(device: Device, definitions: Definitions): void;
  /** Polls the tables of interfaces now, in addition to their times: at most once in 10 s. */
  pollInterfaces(): void;
  /** Polls no more. Lets what is in flight end, or gives it up at once. */
  stop(isAtOnce?: boolean): Promise<void>;
}

import type { Definitions, Device } from "../definitions/definitions.ts";
import { deviceCredentials } from "../definitions/device-credentials.ts";
import { deviceGroupsOf } from "../definitions/reach.ts";
import type { DevicePlan } from "../discovery/device-plan.ts";
import type { PlanStore } from "../discovery/plan-store.ts";
import type { DevicePoller } from "../poller/device-poller-contract.ts";
import type { DeviceTable } from "./device-table.ts";
import type { Discoveries } from "./discoveries.ts";

/** How a device is taken up. */
export interface TakenUp {
  /** A plan that came with it. */
  readonly plan: DevicePlan | undefined;
  /** Milliseconds since the epoch: it may not have been polled since. */
  readonly since: number;
}

/** Takes up a plan of an earlier run, and discovers what there is none for, or one for other definitions. */
export type TakeUp = (id: string, poller: DevicePoller, definitions: Definitions, given: TakenUp) => Promise<void>;

export interface TakeUpParts {
  readonly devices: Pick<DeviceTable, "pollers">;
  readonly discoveries: Pick<Discoveries, "require">;
  readonly plans: Pick<PlanStore, "load">;
  /** When the first work of one of this many devices begins, milliseconds from now. */
  readonly spread: (devices: number) => number;
}

/** Polls that were due while nobody ran are made up for within this time. */
const maxCatchUp = 10_000;

export function createTakeUp({ devices, discoveries, plans, spread }: TakeUpParts): TakeUp {
  const { pollers } = devices;
  return async (id, poller, definitions, given) => {
    const own = await plans.load(id);
    const plan = given.plan === undefined || (own?.discoveredAt ?? 0) > given.plan.discoveredAt ? own : given.plan;
    if (pollers.get(id) !== poller) return;
    const isUsable = plan !== undefined && fits(plan, poller.device, definitions);
    if (isUsable) poller.resume(plan, { since: given.since, delayMs: Math.min(maxCatchUp, spread(pollers.size)) });
    if (!isUsable || plan.revision !== definitions.revision) discoveries.require(id, spread(pollers.size));
  };
}

/** Whether a plan of an earlier run still says how this device is asked, and for what. */
function fits(plan: DevicePlan, device: Device, definitions: Definitions): boolean {
  return (
    plan.credential < deviceCredentials(device).length &&
    JSON.stringify([...deviceGroupsOf(definitions, device, plan.sysObjectId)].sort()) ===
      JSON.stringify(plan.deviceGroups)
  );
}

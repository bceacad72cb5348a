import type { Definitions } from "../definitions/definitions.ts";
import type { DeviceSharing } from "./device-sharing.ts";
import type { DeviceTable } from "./device-table.ts";
import { detailDevice, viewDevice, type DeviceDetail, type DeviceView } from "./device-view.ts";
import type { Discoveries } from "./discoveries.ts";
import { elsewhereDetail, elsewhereView } from "./shared-devices.ts";

/** The devices as they are shown, those that another collector polls included. */
export interface DeviceList {
  /** In the order of ids. A view is made when it is asked for: a device that went meanwhile is left out. */
  all(): Iterable<DeviceView>;
  detail(deviceId: string): DeviceDetail | undefined;
  /** What a request that was about the device answers. */
  stateOf(deviceId: string): Record<string, unknown>;
}

export interface DeviceListParts {
  readonly devices: Pick<DeviceTable, "pollers" | "pendingOf">;
  readonly discoveries: Pick<Discoveries, "state">;
  readonly definitions: () => Definitions | undefined;
  readonly sharing: DeviceSharing | undefined;
}

export function createDeviceList({ devices, discoveries, definitions, sharing }: DeviceListParts): DeviceList {
  const { pollers } = devices;
  const polledBy = sharing === undefined ? {} : { polledBy: sharing.member };
  const ownView = (id: string): DeviceView | undefined => {
    const poller = pollers.get(id);
    return poller && { ...viewDevice(poller, discoveries.state(id), devices.pendingOf(id)), ...polledBy };
  };
  const viewElsewhere = (id: string): DeviceView | undefined => {
    const device = sharing && definitions()?.devices.get(id);
    return device && elsewhereView(device, sharing.memberOf(id));
  };
  return {
    *all() {
      const others = sharing === undefined ? [] : (definitions()?.devices.keys() ?? []);
      for (const id of [...new Set([...pollers.keys(), ...others])].sort()) {
        const view = ownView(id) ?? viewElsewhere(id);
        if (view !== undefined) yield view;
      }
    },
    detail(id) {
      const poller = pollers.get(id);
      if (poller === undefined) return elsewhereDetail(viewElsewhere(id));
      return { ...detailDevice(poller, discoveries.state(id), devices.pendingOf(id), definitions()), ...polledBy };
    },
    stateOf: (id) => ({ ...(ownView(id) ?? { device: id, state: "removed" }) }),
  };
}

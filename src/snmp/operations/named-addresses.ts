import type { DevicePoller } from "../poller/device-poller-contract.ts";
import type { NamedAddress } from "./candidates.ts";
import type { Neighbour } from "./neighbours.ts";

/** Who names which address, in words. */
export function* namedAddresses(
  neighbours: Iterable<Neighbour>,
  exporters: readonly string[],
  pollers: ReadonlyMap<string, DevicePoller>,
): Generator<NamedAddress> {
  for (const { address, protocol, deviceId, port } of neighbours) {
    const poller = pollers.get(deviceId);
    if (poller === undefined) continue;
    const name = protocol === "lldp" ? poller.lldpPort(port) : poller.interfaces.get(port);
    const reason = `${protocol.toUpperCase()} neighbour of ${poller.device.name}, port ${name ?? port}`;
    yield { address, source: protocol, reason };
  }
  for (const address of exporters) yield { address, source: "flow", reason: "an exporter of flows" };
}

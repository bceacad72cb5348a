import type { Definitions } from "../definitions/definitions.ts";
import type { DevicePoller } from "../poller/device-poller.ts";
import { formatOid } from "../session/ber.ts";
import type { PolledIdentity } from "../sweep/found-devices.ts";
import { type NamedAddress, type Neighbour, type Neighbours, Candidates } from "./candidates.ts";
import { Progress, type Log } from "../../base/report/index.ts";
import type { DefinitionsInUse } from "./apply-definitions.ts";
import type { DeviceTable } from "./device-table.ts";
import type { InterfaceDirectory } from "./interface-directory.ts";
import { type DiscoverySettings, NetworkDiscovery } from "./network-discovery.ts";
import type { SnmpOptions } from "./snmp-options.ts";

/** Returns the known identities of the polled devices. Of a device that another collector polls, only the address is known. */
function polledIdentities(
  pollers: ReadonlyMap<string, DevicePoller>,
  definitions: Definitions | undefined,
): PolledIdentity[] {
  const others = [...(definitions?.devices.values() ?? [])].filter(({ id }) => !pollers.has(id));
  return [
    ...Array.from(pollers.values(), polledIdentity),
    ...others.map(({ id, ip }) => ({
      id,
      serial: undefined,
      sysObjectId: undefined,
      sysName: undefined,
      addresses: [ip],
    })),
  ];
}

function polledIdentity({ id, plan, addresses }: DevicePoller): PolledIdentity {
  return {
    id,
    serial: plan?.facts.get("serial"),
    sysObjectId: plan?.sysObjectId && formatOid(plan.sysObjectId),
    sysName: plan?.sysName,
    addresses,
  };
}

/** Yields the named addresses, with a description of their source. */
function* namedAddresses(
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

interface DeviceSearchParts {
  readonly inUse: Pick<DefinitionsInUse, "current" | "apply">;
  readonly pollers: DeviceTable["pollers"];
  readonly directory: Pick<InterfaceDirectory, "deviceAt">;
  readonly neighbours: Neighbours;
  readonly log: Log;
}

/** The interval between looks for addresses that neighbours and flows name. */
const usualLookMs = 5000;

/** Connects the search of networks, and of addresses from neighbours and flows, with the polled devices. */
export class DeviceSearch {
  readonly networks: NetworkDiscovery;
  readonly candidates: Candidates;

  constructor(settings: DiscoverySettings, options: SnmpOptions, parts: DeviceSearchParts) {
    const { sharing, clock, metrics, openSocket } = options;
    const { inUse, pollers, directory, neighbours, log } = parts;
    this.networks = new NetworkDiscovery({
      settings,
      definitions: () => inUse.current,
      polled: () => polledIdentities(pollers, inUse.current),
      leads: sharing && (() => sharing.leads()),
      async apply() {
        const applied = await inUse.apply(false);
        return applied.ok ? undefined : applied.findings.map(({ place, message }) => `${place}: ${message}`).join("; ");
      },
      clock,
      log,
      metrics,
      progress: options.progress ?? new Progress(clock),
      openSocket,
    });
    this.candidates = new Candidates({
      discovery: this.networks,
      async named() {
        const exporters = (await options.exporters?.()) ?? [];
        return namedAddresses(neighbours.list(), exporters, pollers);
      },
      devices() {
        const polled = new Set(Array.from(inUse.current?.devices.values() ?? [], ({ ip }) => ip));
        return (address) => polled.has(address) || directory.deviceAt(address) !== undefined;
      },
      sources: settings.candidates,
      lookMs: settings.lookMs ?? usualLookMs,
      clock,
      log,
      metrics,
    });
  }
}

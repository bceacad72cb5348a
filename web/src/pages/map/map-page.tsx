import type { JSX } from "preact";
import type { GetTopologyAnswer, ListDevicesAnswer } from "../../api/answers.gen.ts";
import { callApi, type ApiCall } from "../../api/call.ts";
import { topologyCall } from "../../api/topology.ts";
import { useLoad } from "../../api/use-call.ts";
import type { MapDevice } from "../../format/network-map.ts";
import { hrefOf } from "../../navigation/place.ts";
import { Page } from "../../ui/page.tsx";
import { Empty, Shown } from "../../ui/states.tsx";
import { AllLinks } from "./all-links.tsx";
import { MapCard } from "./map-card.tsx";
import "./map.css";

const devicesCall: ApiCall = { path: "api/v1/snmp/devices" };

const askForBoth = async (signal: AbortSignal): Promise<readonly [ListDevicesAnswer, GetTopologyAnswer]> =>
  Promise.all([
    callApi<ListDevicesAnswer>(devicesCall, { signal }),
    callApi<GetTopologyAnswer>(topologyCall, { signal }),
  ]);

/** The polled devices, their neighbors, and the links between them: drawn, and as a table. */
export default function MapPage(): JSX.Element {
  // Both or neither: a failure is told once, and tried again once.
  const both = useLoad(askForBoth, "map", { everyMs: 10_000 });
  return (
    <Page
      title="Map"
      lead="Polled devices and their neighbors, with the links that their tables tell of."
      calls={[topologyCall, devicesCall]}
    >
      <Shown of={both} what="Asking for the devices and their links">
        {([polled, topology]) => <Content polled={polled} topology={topology} />}
      </Shown>
    </Page>
  );
}

function Content({
  polled,
  topology: { enabled, devices, links },
}: {
  readonly polled: ListDevicesAnswer;
  readonly topology: GetTopologyAnswer;
}): JSX.Element {
  if (!polled.enabled) {
    return (
      <Empty title="SNMP is not enabled">
        Links come from tables of devices. Set <code>SVC_INPUT_SNMP_ENABLE</code> to true and start the collector again;{" "}
        <a href={hrefOf("devices")}>Devices</a> says how to define devices.
      </Empty>
    );
  }
  if (!enabled) {
    return (
      <Empty title="Links are not inferred">
        <code>SVC_INPUT_SNMP_TOPOLOGY_ENABLE</code> is false. Set it to true and start the collector again.
      </Empty>
    );
  }
  if (polled.devices.length === 0) {
    return (
      <Empty title="No device is polled">
        <a href={hrefOf("devices")}>Devices</a> says how to define devices, and searches networks for them.
      </Empty>
    );
  }
  return (
    <>
      {links.length === 0 && (
        <Empty title="No links are known yet">
          They come some ten seconds after devices have told of their neighbors, addresses and sessions for the first
          time: with the first poll after their discovery. {silence(polled.devices)}
        </Empty>
      )}
      <MapCard devices={withSilent(devices, polled.devices)} links={links} />
      {links.length > 0 && <AllLinks links={links} />}
    </>
  );
}

function silence(devices: ListDevicesAnswer["devices"]): string {
  const count = devices.filter(({ lastPoll }) => lastPoll !== undefined).length;
  return `${String(count)} of ${String(devices.length)} devices ${count === 1 ? "has" : "have"} been polled so far.`;
}

/** Devices that have said nothing of themselves are drawn as well, but for those that another collector polls. */
function withSilent(known: readonly MapDevice[], polled: ListDevicesAnswer["devices"]): readonly MapDevice[] {
  const ids = new Set(known.map(({ id }) => id));
  const others = polled.filter(({ device, state }) => !ids.has(device) && state !== "elsewhere");
  return [...known, ...others.map(({ device, ip, name }) => ({ id: device, ip, name, metadata: {} }))];
}

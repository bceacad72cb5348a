import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { ApiCall } from "../../api/call.ts";
import { neighborsCall } from "../../api/topology.ts";
import { useCall } from "../../api/use-call.ts";
import { formatWhole } from "../../format/numbers.ts";
import { useQueryState } from "../../navigation/place.ts";
import { ActionButton } from "../../ui/action-button.tsx";
import { Page, Section } from "../../ui/page.tsx";
import { Empty, Shown } from "../../ui/states.tsx";
import { Tile } from "../../ui/tile.tsx";
import { ApplyDefinitions, definitionsCall } from "./apply-definitions.tsx";
import { candidatesCall } from "./candidates.tsx";
import type { Device } from "./device.ts";
import { DeviceDetails, deviceCall } from "./device-details.tsx";
import { DeviceTable } from "./device-table.tsx";
import { SearchNetworks, searchCall } from "./search-networks.tsx";
import "./devices.css";

const devicesCall: ApiCall = { path: "api/v1/snmp/devices" };

/** The devices that are polled by SNMP, their interfaces, their definitions. */
export default function DevicesPage(): JSX.Element {
  const [query] = useQueryState();
  const chosen = query.get("device");
  const [isApplying, setApplying] = useState(false);
  const devices = useCall<{ enabled: boolean; devices: readonly Device[] }>(devicesCall, { everyMs: 5000 });
  const isOn = devices.answer?.enabled === true;
  return (
    <Page
      title="Devices"
      lead="What is polled by SNMP: state, plan, interfaces with rates."
      calls={[
        devicesCall,
        ...(chosen === null ? [] : [deviceCall(chosen), neighborsCall(chosen)]),
        definitionsCall,
        searchCall,
        candidatesCall,
      ]}
      actions={
        isOn && (
          <ActionButton needs="viewer" area="snmp" onAction={() => setApplying(true)}>
            Apply definitions …
          </ActionButton>
        )
      }
    >
      <Shown of={devices}>
        {(answer) => (
          <>
            {!answer.enabled && (
              <Empty title="SNMP is not enabled">
                Set <code>SVC_INPUT_SNMP_ENABLE</code> to true, define devices in{" "}
                <code>SVC_INPUT_SNMP_DEVICE_DEFINITIONS_DIRECTORY_PATH</code>, and start the collector again.
              </Empty>
            )}
            {answer.enabled && answer.devices.length === 0 && (
              <Empty title="No device is defined">
                Write a file with devices into the directory of definitions, then apply definitions: no restart is
                needed. Or let networks be searched for devices, below.
              </Empty>
            )}
            {answer.devices.length > 0 && <Totals devices={answer.devices} />}
            {chosen !== null && <DeviceDetails key={chosen} id={chosen} changed={devices.reload} />}
            {answer.devices.length > 0 && (
              <Section title="Devices">
                <DeviceTable devices={answer.devices} />
              </Section>
            )}
            {answer.enabled && <SearchNetworks changed={devices.reload} />}
          </>
        )}
      </Shown>
      {isApplying && <ApplyDefinitions onClose={() => setApplying(false)} changed={devices.reload} />}
    </Page>
  );
}

function Totals({ devices }: { readonly devices: readonly Device[] }): JSX.Element {
  const count = (state: Device["state"]): number => devices.filter((device) => device.state === state).length;
  const [down, undiscovered] = [count("down"), count("undiscovered")];
  const elsewhere = count("elsewhere");
  const waiting = devices.filter(({ pending }) => pending.length > 0).length;
  return (
    <div class="tiles">
      <Tile
        label="Answering"
        value={formatWhole(count("up"))}
        detail={`of ${formatWhole(devices.length)} ${devices.length === 1 ? "device" : "devices"}`}
        state={count("up") > 0 ? "good" : undefined}
      />
      <Tile
        label="Silent"
        value={formatWhole(down)}
        detail={down > 0 ? "asked once an interval" : "none stopped answering"}
        state={down > 0 ? "bad" : "good"}
      />
      <Tile
        label="Not discovered"
        value={formatWhole(undiscovered)}
        detail={undiscovered > 0 ? "never answered" : "all have answered"}
        state={undiscovered > 0 ? "warn" : "good"}
      />
      {elsewhere > 0 && (
        <Tile label="Polled elsewhere" value={formatWhole(elsewhere)} detail="by other collectors of the fleet" />
      )}
      {waiting > 0 && (
        <Tile
          label="Wait for a discovery"
          value={formatWhole(waiting)}
          detail="definitions have changed"
          state="warn"
        />
      )}
    </div>
  );
}

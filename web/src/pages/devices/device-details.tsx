import type { GetDeviceAnswer } from "../../api/answers.gen.ts";
import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import { callApi, type ApiCall } from "../../api/call.ts";
import { useCall } from "../../api/use-call.ts";
import { formatWhole } from "../../format/numbers.ts";
import { formatAge } from "../../format/times.ts";
import { hrefOf } from "../../navigation/place.ts";
import { AddressLink } from "../../ui/address-link.tsx";
import { ActionButton } from "../../ui/action-button.tsx";
import { OpenAlerts } from "../../ui/alert-parts.tsx";
import { Section } from "../../ui/page.tsx";
import { Empty, Failure, Shown } from "../../ui/states.tsx";
import { useAction } from "../../ui/use-action.ts";
import { DeviceState } from "./device-table.tsx";
import { Interfaces } from "./interfaces.tsx";
import { Neighbors } from "./neighbors.tsx";

export const deviceCall = (id: string): ApiCall => ({ path: `api/v1/snmp/devices/${encodeURIComponent(id)}` });

/** A discovery may have to wait for a device with all its retries. */
const discoverySeconds = 60;

/** One device: what is known of it, its interfaces, a new discovery that can be watched. */
export function DeviceDetails({ id, changed }: { readonly id: string; readonly changed: () => void }): JSX.Element {
  const [isWatching, setWatching] = useState(false);
  const [outcome, setOutcome] = useState("");
  const device = useCall<GetDeviceAnswer>(deviceCall(id), { everyMs: isWatching ? 1000 : 5000 });
  const action = useAction();
  const rediscover = async ({ ip, port }: GetDeviceAnswer): Promise<void> => {
    setWatching(true);
    setOutcome("The device is being discovered …");
    const call: ApiCall = { path: `api/v1/snmp/rediscover-device?wait=${discoverySeconds}`, body: { ip, port } };
    const isDone = await action.run(async () => {
      const answer = await callApi<{ result?: string; error?: string }>(call, {
        timeoutMs: (discoverySeconds + 10) * 1000,
      });
      setOutcome(sentenceOf(answer));
    });
    if (!isDone) setOutcome("");
    setWatching(false);
    device.reload();
    changed();
  };
  return (
    <>
      {device.answer !== undefined && <OpenAlerts names={device.answer.ip} />}
      <Section
        title={device.answer?.name ?? id}
        note={device.answer && <DeviceState device={device.answer} />}
        actions={
          <>
            <ActionButton
              needs="editor"
              area="snmp"
              lack={device.answer === undefined ? "The device is not known yet." : undefined}
              onAction={() => device.answer && rediscover(device.answer)}
            >
              Rediscover
            </ActionButton>
            <a class="button quiet" href={hrefOf("devices")}>
              Close
            </a>
          </>
        }
      >
        <div role="status" aria-live="polite">
          {outcome !== "" && <p class="state">{outcome}</p>}
        </div>
        {action.failure !== undefined && <Failure failure={action.failure} />}
        {device.failure?.status === 404 ? (
          <Empty title="This device is not polled">
            The definitions do not have it, or no longer. Close shows the others.
          </Empty>
        ) : (
          <Shown of={device}>
            {(answer) => (
              <>
                <Facts device={answer} />
                <h3 class="sub">Interfaces</h3>
                <Interfaces states={answer.interfaceStates} name={answer.name} ip={answer.ip} />
                <Neighbors id={id} name={answer.name} />
                <Plan device={answer} />
              </>
            )}
          </Shown>
        )}
      </Section>
    </>
  );
}

function sentenceOf({ result, error }: { readonly result?: string; readonly error?: string }): string {
  if (result === "discovered") return "Discovered: what the device has now is polled.";
  if (result === "failed") return `The discovery failed: ${error ?? "the device does not answer"}.`;
  return "The discovery goes on.";
}

function Facts({ device }: { readonly device: GetDeviceAnswer }): JSX.Element {
  const now = Date.now();
  const { plan, lastError, pending, sysDescr, sysName, sysObjectId, lastPoll, nextPoll } = device;
  const rows: readonly (readonly [label: string, value: ComponentChildren])[] = [
    [
      "Address",
      <>
        <AddressLink text={device.device} />, SNMP {device.version === "3" ? "v3" : `v${device.version}`}
      </>,
    ],
    ["System", [sysName, sysDescr].filter((text) => text !== undefined).join(": ") || undefined],
    ["sysObjectID", sysObjectId],
    ["Groups", device.groups.join(", ") || "none"],
    [
      "Plan",
      plan === undefined
        ? "none before the first discovery"
        : `${plan.objects} objects, ${plan.attributes} attributes, discovered ${formatAge(Date.parse(plan.discoveredAt), now)}`,
    ],
    ["Last poll", lastPoll === undefined ? "never" : formatAge(Date.parse(lastPoll), now)],
    ["Next poll", nextPoll === undefined ? undefined : nextText(Date.parse(nextPoll) - now)],
    ["Last error", lastError && `${lastError.message} (${formatAge(Date.parse(lastError.time), now)})`],
    ["Waits for a discovery", pending.length === 0 ? undefined : pending.join(", ")],
    [
      "Own addresses",
      device.addresses.length === 0
        ? undefined
        : device.addresses.map((address) => (
            <>
              <AddressLink text={address} />{" "}
            </>
          )),
    ],
  ];
  return (
    <dl class="facts">
      {rows.map(
        ([label, value]) =>
          value !== undefined && (
            <>
              <dt>{label}</dt>
              <dd>{value}</dd>
            </>
          ),
      )}
    </dl>
  );
}

const nextText = (ms: number): string => (ms <= 1000 ? "now" : `in ${Math.round(ms / 1000)} s`);

function Plan({ device: { objects, counts } }: { readonly device: GetDeviceAnswer }): JSX.Element {
  return (
    <>
      <details class="more">
        <summary>What is polled ({Object.keys(objects).length} objects)</summary>
        <dl class="facts">
          {Object.entries(objects).map(([object, attributes]) => (
            <>
              <dt class="mono">{object}</dt>
              <dd>{attributes.join(", ")}</dd>
            </>
          ))}
        </dl>
      </details>
      <details class="more">
        <summary>Counts of this run</summary>
        <dl class="facts">
          {Object.entries(counts).map(([name, count]) => (
            <>
              <dt>{name.replaceAll(/([A-Z])/g, " $1").toLowerCase()}</dt>
              <dd>{formatWhole(Math.round(count * 1000) / 1000)}</dd>
            </>
          ))}
        </dl>
      </details>
    </>
  );
}

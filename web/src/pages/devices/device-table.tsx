import type { JSX } from "preact";
import { formatAge } from "../../format/times.ts";
import { hrefOf, useQueryState } from "../../navigation/place.ts";
import { AddressLink } from "../../ui/address-link.tsx";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import { Empty } from "../../ui/states.tsx";
import { Badge } from "../../ui/tile.tsx";
import type { Device } from "./device.ts";

/** Rows that are drawn; more are found by words. */
const maxShown = 500;
const badges = { up: "good", down: "bad", undiscovered: "warn", elsewhere: "plain" } as const;
const words = { up: "up", down: "silent", undiscovered: "not discovered", elsewhere: "polled elsewhere" } as const;

/** The state of a device, with the discovery that is under way. */
export function DeviceState({ device }: { readonly device: Device }): JSX.Element {
  return (
    <>
      <Badge state={badges[device.state]}>{words[device.state]}</Badge>
      {device.polledBy !== undefined && <span class="note"> by {device.polledBy}</span>}
      {device.discovery !== undefined && (
        <span class="note"> {device.discovery === "running" ? "is being discovered" : "waits for its discovery"}</span>
      )}
    </>
  );
}

/** All devices, found by words of their names, addresses, groups and errors. */
export function DeviceTable({ devices }: { readonly devices: readonly Device[] }): JSX.Element {
  const [query, setQuery] = useQueryState();
  const now = Date.now();
  const wanted = (query.get("find") ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  const state = query.get("state") ?? "";
  const found = devices.filter((device) => {
    if (state !== "" && device.state !== state) return false;
    const text =
      `${device.name} ${device.device} ${device.groups.join(" ")} ${device.lastError?.message ?? ""}`.toLowerCase();
    return wanted.every((word) => text.includes(word));
  });
  return (
    <>
      <div class="bar">
        <label class="field grow">
          Find
          <input
            type="search"
            value={query.get("find") ?? ""}
            placeholder="a name, an address, a group, an error"
            onInput={(event) => setQuery({ find: event.currentTarget.value }, { replace: true })}
          />
        </label>
        <label class="field">
          State
          <select value={state} onChange={(event) => setQuery({ state: event.currentTarget.value })}>
            <option value="">all</option>
            {Object.entries(words).map(([value, word]) => (
              <option key={value} value={value}>
                {word}
              </option>
            ))}
          </select>
        </label>
      </div>
      {found.length === 0 ? (
        <Empty title="No device is like this">Try other words, or all states.</Empty>
      ) : (
        <DataTable
          caption="Devices"
          rows={found.slice(0, maxShown)}
          keyOf={({ device }) => device}
          columns={columnsOf(now)}
        />
      )}
      {found.length > maxShown && (
        <p class="note">
          The first {maxShown} of {found.length} devices are shown: find fewer of them by words.
        </p>
      )}
    </>
  );
}

function columnsOf(now: number): readonly Column<Device>[] {
  return [
    {
      name: "Device",
      cell: ({ name, device }) => (
        <>
          <a href={hrefOf("devices", { device })}>
            <strong>{name}</strong>
          </a>{" "}
          <AddressLink text={device} />
        </>
      ),
      sortBy: ({ name }) => name,
    },
    { name: "State", cell: (device) => <DeviceState device={device} />, sortBy: ({ state }) => state },
    { name: "Groups", cell: ({ groups }) => groups.join(", "), isMinor: true },
    {
      name: "Plan",
      cell: ({ plan }) => (plan === undefined ? "none" : `${plan.objects} objects, ${plan.attributes} attributes`),
      sortBy: ({ plan }) => plan?.attributes ?? 0,
      isNumber: true,
      isMinor: true,
    },
    {
      name: "Last poll",
      cell: ({ lastPoll }) => (lastPoll === undefined ? "never" : formatAge(Date.parse(lastPoll), now)),
      sortBy: ({ lastPoll }) => (lastPoll === undefined ? Infinity : now - Date.parse(lastPoll)),
      isNumber: true,
      isMinor: true,
    },
    {
      name: "Last error",
      cell: ({ lastError }) =>
        lastError === undefined ? (
          <span class="note">none</span>
        ) : (
          <>
            {lastError.message} <span class="note">{formatAge(Date.parse(lastError.time), now)}</span>
          </>
        ),
      className: "wrap",
    },
  ];
}

import type { JSX } from "preact";
import { useEffect, useId, useState } from "preact/hooks";
import { formatDuration } from "../format/numbers.ts";
import { addressOf, boundsOf } from "../format/time-choice.ts";
import { moved, presets, zoomedOut } from "../format/time-ranges.ts";
import { readTime, timeText } from "../format/time-text.ts";
import { formatRange } from "../format/times.ts";
import { ownZone, zoneNamed } from "../format/zone.ts";
import { DropDown } from "./drop-down.tsx";
import { chooseZone, useZone } from "./time-zone.ts";
import { refreshSeconds, type PageTime } from "./use-time.ts";

export interface TimeBoxProps {
  readonly time: PageTime;
  /** Asks again at once. */
  readonly onReload: () => void;
}

/** Which time is shown: typed as people say it, or chosen; the zone; how often it is asked again. */
export function TimeBox({ time, onReload }: TimeBoxProps): JSX.Element {
  const zone = useZone();
  const written = timeText(time.choice, zone);
  const [typed, setTyped] = useState<string | undefined>(undefined);
  const id = useId();
  const { from, to } = addressOf(time.choice);
  useEffect(() => setTyped(undefined), [from, to]);
  const read = typed === undefined ? time.choice : readTime(typed, Date.now(), zone);
  const fault = "fault" in read ? read : undefined;
  const bounds = "fault" in read ? undefined : boundsOf(read, Date.now(), zone);
  return (
    <div class="time-box" role="group" aria-label="Time">
      <div class="bar">
        <form
          onSubmit={(event) => {
            event.preventDefault();
            if ("fault" in read) return;
            time.choose(read);
            setTyped(undefined);
          }}
        >
          <label class="field">
            Time
            <input
              value={typed ?? written}
              aria-invalid={fault !== undefined}
              aria-describedby={id}
              autocomplete="off"
              autocapitalize="off"
              spellcheck={false}
              onFocus={(event) => event.currentTarget.select()}
              onInput={(event) => setTyped(event.currentTarget.value)}
              onKeyDown={(event) => event.key === "Escape" && setTyped(undefined)}
            />
          </label>
        </form>
        <Menu time={time} zone={zone} />
        <Steps time={time} zone={zone} />
        <button type="button" class="button" onClick={onReload} aria-label="Ask again now" title="Ask again now">
          ↻
        </button>
      </div>
      <p id={id} class={fault === undefined ? "note" : "fault"} role={fault === undefined ? undefined : "status"}>
        {fault !== undefined ? (
          fault.fault
        ) : (
          <>
            {bounds === undefined ? written : formatRange(bounds.from, bounds.to)}, {zone}
            {typed !== undefined && " – Enter takes it"}
          </>
        )}
      </p>
    </div>
  );
}

function Menu({ time, zone }: { readonly time: PageTime; readonly zone: string }): JSX.Element {
  const chosen = timeText(time.choice, zone);
  return (
    <DropDown className="menu" summaryClass="button" label="Choose">
      <div class="menu-body time-menu">
        <ul class="plain" aria-label="Times to choose from">
          {presets.map((preset) => {
            const label = timeText(preset, zone);
            return (
              <li key={label}>
                <button
                  type="button"
                  class="button"
                  aria-pressed={label === chosen}
                  onClick={(event) => {
                    time.choose(preset);
                    event.currentTarget.closest("details")?.removeAttribute("open");
                  }}
                >
                  {label}
                </button>
              </li>
            );
          })}
        </ul>
        <p class="note">
          Or type it: <code>yesterday 14:00</code>, <code>2026-11-20 8–9</code>, <code>last monday</code>,{" "}
          <code>since 8:00</code>, <code>2 hours ago to now</code>, RFC 3339.
        </p>
        <ZoneChoice zone={zone} />
        <label class="field">
          What goes on until now is asked again
          <select
            value={String(time.refresh)}
            onChange={(event) => time.chooseRefresh(Number(event.currentTarget.value))}
          >
            {refreshSeconds.map((seconds) => (
              <option key={seconds} value={String(seconds)}>
                {seconds === 0 ? "never" : `every ${formatDuration(seconds)}`}
              </option>
            ))}
          </select>
        </label>
      </div>
    </DropDown>
  );
}

/** Times are shown in the zone of the browser, in UTC, or in any other. */
function ZoneChoice({ zone }: { readonly zone: string }): JSX.Element {
  const [text, setText] = useState(zone);
  const [fault, setFault] = useState<string | undefined>(undefined);
  const id = useId();
  useEffect(() => setText(zone), [zone]);
  const choose = (name: string): void => {
    const known = zoneNamed(name);
    setFault(known === undefined ? `"${name}" is no zone: write UTC, or a name such as Europe/Berlin` : undefined);
    if (known !== undefined) chooseZone(known === ownZone() ? undefined : known);
  };
  return (
    <div class="field">
      <label for={id}>Zone of all times on these pages</label>
      <div class="bar">
        <input
          id={id}
          list={`${id}-zones`}
          value={text}
          aria-invalid={fault !== undefined}
          aria-describedby={fault === undefined ? undefined : `${id}-fault`}
          autocomplete="off"
          spellcheck={false}
          onInput={(event) => setText(event.currentTarget.value)}
          onChange={(event) => choose(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key !== "Enter") return;
            event.preventDefault();
            choose(event.currentTarget.value);
          }}
        />
        <datalist id={`${id}-zones`}>
          {Intl.supportedValuesOf("timeZone").map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
        {[...new Set(["UTC", ownZone()])].map((name) => (
          <button key={name} type="button" class="button" aria-pressed={zone === name} onClick={() => choose(name)}>
            {name === "UTC" ? name : `here: ${name}`}
          </button>
        ))}
      </div>
      {fault !== undefined && (
        <p id={`${id}-fault`} class="fault" role="alert">
          {fault}
        </p>
      )}
    </div>
  );
}

function Steps({ time, zone }: { readonly time: PageTime; readonly zone: string }): JSX.Element {
  const bounds = boundsOf(time.choice, Date.now(), zone);
  const steps: readonly (readonly [string, string, (from: number, to: number, now: number) => void])[] = [
    ["Earlier", "◀", (from, to, now) => time.choose(moved(from, to, -1, now))],
    ["A longer time", "−", (from, to, now) => time.choose(zoomedOut(from, to, now))],
    ["Later", "▶", (from, to, now) => time.choose(moved(from, to, 1, now))],
  ];
  return (
    <div class="steps" role="group" aria-label="Move in time">
      {steps.map(([label, sign, step]) => (
        <button
          key={label}
          type="button"
          class="button"
          disabled={bounds === undefined}
          aria-label={label}
          title={label}
          onClick={() => bounds !== undefined && step(bounds.from, bounds.to, Date.now())}
        >
          {sign}
        </button>
      ))}
    </div>
  );
}

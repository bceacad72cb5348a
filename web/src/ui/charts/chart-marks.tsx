import type { JSX } from "preact";
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { annotationsCall, deleteMark, saveMark, type Annotation } from "../../api/annotations.ts";
import type { AnnotationsAnswer } from "../../api/answers.gen.ts";
import { useIsLimited } from "../../api/session.ts";
import { useCall, type LoadOptions } from "../../api/use-call.ts";
import { bandsOf, groupMarks } from "../../format/chart-marks.ts";
import type { AskedTime } from "../../format/time-choice.ts";
import { formatTime } from "../../format/times.ts";
import { ActionButton } from "../action-button.tsx";
import { Dialog } from "../dialog.tsx";
import { DropDown } from "../drop-down.tsx";
import { Failure } from "../states.tsx";
import { useAction } from "../use-action.ts";

const kinds: Readonly<Record<Annotation["kind"], { readonly label: string; readonly sign: string }>> = {
  alert: { label: "Alert", sign: "!" },
  mark: { label: "Mark", sign: "◆" },
  restart: { label: "Restart", sign: "↻" },
  metadata: { label: "Metadata", sign: "✎" },
};
/** What the sign of several is of: the first of these that is among them. */
const order = ["alert", "mark", "restart", "metadata"] as const;

const key = "netgloss.marks";
const listeners = new Set<() => void>();

/** Whether this browser shows marks, on all charts. */
function useShown(): readonly [isShown: boolean, show: (isShown: boolean) => void] {
  const read = (): boolean => localStorage.getItem(key) !== "off";
  const [isShown, setShown] = useState(read);
  useEffect(() => {
    const listener = (): void => setShown(read());
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }, []);
  const show = (wanted: boolean): void => {
    if (wanted) localStorage.removeItem(key);
    else localStorage.setItem(key, "off");
    for (const listener of listeners) listener();
  };
  return [isShown, show];
}

/** What happened in the time of a chart. */
export interface Marks {
  /** Undefined: they are not known, or may not be seen. */
  readonly answer: AnnotationsAnswer | undefined;
  readonly isShown: boolean;
  readonly show: (isShown: boolean) => void;
  readonly reload: () => void;
}

/** @param time undefined: there is no chart yet. @param options how often it is asked again. */
export function useMarks(time: AskedTime | undefined, options: LoadOptions = {}): Marks {
  const [isShown, show] = useShown();
  // They are of the whole collector.
  const isLimited = useIsLimited();
  const call = isLimited || time === undefined ? undefined : annotationsCall(time);
  const { answer, reload } = useCall<AnnotationsAnswer>(call, { keepsOld: true, ...options });
  return { answer, isShown, show, reload };
}

/** The time of a chart, with that of its last value. @param times seconds since the epoch. */
export function timeOf(times: readonly number[]): AskedTime | undefined {
  const [first, second] = times;
  const last = times.at(-1);
  if (first === undefined || second === undefined || last === undefined) return undefined;
  const textOf = (seconds: number): string => new Date(seconds * 1000).toISOString();
  return { from: textOf(first), to: textOf(last + second - first) };
}

/** Pixels of CSS between the middles of two signs: fingers reach each of them. */
const apart = 28;

export interface ChartMarksProps {
  readonly marks: readonly Annotation[];
  /** The ends of the chart, seconds since the epoch. */
  readonly from: number;
  readonly to: number;
}

/** Signs below a chart for what happened, with a line in it for each; their texts on focus, touch and hover. */
export function ChartMarks({ marks, from, to }: ChartMarksProps): JSX.Element {
  const place = useRef<HTMLUListElement>(null);
  const [width, setWidth] = useState(0);
  const [open, setOpen] = useState<number | undefined>(undefined);
  useLayoutEffect(() => {
    const holder = place.current;
    if (holder === null) return undefined;
    const measure = new ResizeObserver(() => setWidth(holder.clientWidth));
    measure.observe(holder);
    return () => measure.disconnect();
  }, []);
  const groups = width === 0 ? [] : groupMarks(marks, from, to, apart / width);
  const bands = bandsOf(marks, from, to);
  return (
    <>
      <div class="mark-lines" aria-hidden="true">
        {bands.map((band) => (
          <span
            key={`${String(band.from)} ${String(band.to)}`}
            class="mark-band"
            style={{ left: percent(band.from), width: percent(band.to - band.from) }}
          />
        ))}
        {groups.map(({ at, marks: [first] }, index) => (
          <span
            key={at}
            class={`mark-line of-${first?.kind ?? "mark"}${index === open ? " chosen" : ""}`}
            style={{ left: percent(at) }}
          />
        ))}
      </div>
      <ul ref={place} class="marks" aria-label="What happened in this time">
        {groups.map(({ at, marks: group }, index) => (
          <li key={at} style={{ left: percent(at) }}>
            <Sign
              group={group}
              isRight={at > 0.5}
              isOpen={index === open}
              setOpen={(isOpen) => setOpen((old) => (isOpen ? index : old === index ? undefined : old))}
            />
          </li>
        ))}
      </ul>
    </>
  );
}

const percent = (part: number): string => `${(100 * part).toFixed(3)}%`;

/** How many of a sign are named. */
const named = 6;

const lineOf = ({ kind, time, until, text }: Annotation): string => {
  const now = Date.now();
  const end = until === undefined ? "" : ` to ${formatTime(Date.parse(until), now)}`;
  return `${kinds[kind].label}, ${formatTime(Date.parse(time), now)}${end}: ${text}`;
};

function Sign({
  group,
  isRight,
  isOpen,
  setOpen,
}: {
  readonly group: readonly Annotation[];
  readonly isRight: boolean;
  readonly isOpen: boolean;
  readonly setOpen: (isOpen: boolean) => void;
}): JSX.Element {
  const id = useId();
  const kind = order.find((each) => group.some((one) => one.kind === each)) ?? "mark";
  const lines = group.slice(0, named).map(lineOf);
  if (group.length > named) lines.push(`and ${String(group.length - named)} more`);
  return (
    <span class="mark-place" onPointerEnter={() => setOpen(true)} onPointerLeave={() => setOpen(false)}>
      <button
        type="button"
        class={`mark of-${kind}`}
        aria-describedby={isOpen ? id : undefined}
        aria-label={group.length === 1 ? lines[0] : `${String(group.length)} marks from ${lines[0] ?? ""}`}
        onFocus={() => setOpen(true)}
        onBlur={() => setOpen(false)}
        onClick={() => setOpen(true)}
        onKeyDown={(event) => {
          if (event.key === "Escape") setOpen(false);
        }}
      >
        <span aria-hidden="true">{group.length === 1 ? kinds[kind].sign : group.length}</span>
      </button>
      {isOpen && (
        <span id={id} role="tooltip" class={isRight ? "mark-tip right" : "mark-tip"}>
          {lines.map((line) => (
            <span key={line}>{line}</span>
          ))}
        </span>
      )}
    </span>
  );
}

/** Marks are shown or not; all of them as a list; one is set. One for all charts of a page. */
export function MarksBar({ marks: { answer, isShown, show, reload } }: { readonly marks: Marks }): JSX.Element | null {
  const [isSetting, setSetting] = useState(false);
  const action = useAction();
  if (answer === undefined) return null;
  const { annotations, left, lacking } = answer;
  return (
    <div class="marks-bar on-screen">
      <label class="check">
        <input type="checkbox" checked={isShown} onChange={(event) => show(event.currentTarget.checked)} />
        Marks
      </label>
      <DropDown className="menu" summaryClass="button quiet" label={`List (${String(annotations.length)})`}>
        <div class="menu-body marks-list" tabIndex={0} role="region" aria-label="List of marks">
          {annotations.length === 0 && <p class="note">Nothing is known to have happened in this time.</p>}
          {left > 0 && <p class="note">{left} of before are left out: choose a shorter time.</p>}
          {lacking.length > 0 && <p class="note">Not known at present: {lacking.join(", ")}.</p>}
          {action.failure !== undefined && <Failure failure={action.failure} />}
          <ul class="plain">
            {annotations.map((one) => (
              <li key={`${one.kind} ${one.id ?? ""} ${one.time}`}>
                <span>{lineOf(one)}</span>
                {one.kind === "mark" && one.id !== undefined && (
                  <ActionButton
                    needs="editor"
                    area="flow"
                    onAction={async () => {
                      if (await action.run(async () => void (await deleteMark(one.id ?? "")))) reload();
                    }}
                  >
                    Delete<span class="hidden"> {one.text}</span>
                  </ActionButton>
                )}
              </li>
            ))}
          </ul>
        </div>
      </DropDown>
      <ActionButton needs="editor" area="flow" onAction={() => setSetting(true)}>
        Set a mark …
      </ActionButton>
      {isSetting && (
        <MarkDialog
          onClose={() => setSetting(false)}
          onSaved={() => {
            setSetting(false);
            reload();
          }}
        />
      )}
    </div>
  );
}

function MarkDialog({ onClose, onSaved }: { readonly onClose: () => void; readonly onSaved: () => void }): JSX.Element {
  const action = useAction();
  const [name, setName] = useState("");
  const [from, setFrom] = useState(localText(Date.now()));
  const [until, setUntil] = useState("");
  const lack = name.trim() === "" ? "It needs a text." : instantOf(from) === "" ? "It needs a time." : undefined;
  return (
    <Dialog title="Set a mark" onClose={onClose}>
      <form class="form">
        <label>
          Text
          <input value={name} maxLength={100} onInput={(event) => setName(event.currentTarget.value)} />
        </label>
        <label>
          Time, by the clock of this device
          <input type="datetime-local" value={from} onInput={(event) => setFrom(event.currentTarget.value)} />
        </label>
        <label>
          Until, where it went on
          <input type="datetime-local" value={until} onInput={(event) => setUntil(event.currentTarget.value)} />
        </label>
        {action.failure !== undefined && <Failure failure={action.failure} />}
        <div class="dialog-actions">
          <ActionButton
            needs="editor"
            area="flow"
            kind="primary"
            takesEnter
            lack={lack}
            onAction={async () => {
              const mark = { name: name.trim(), time: instantOf(from), until: instantOf(until) };
              if (await action.run(async () => void (await saveMark(mark)))) onSaved();
            }}
          >
            Save
          </ActionButton>
        </div>
      </form>
    </Dialog>
  );
}

const pad = (number: number): string => String(number).padStart(2, "0");

/** A time as the browser's field for times has it. */
function localText(ms: number): string {
  const at = new Date(ms);
  const day = `${String(at.getFullYear())}-${pad(at.getMonth() + 1)}-${pad(at.getDate())}`;
  return `${day}T${pad(at.getHours())}:${pad(at.getMinutes())}`;
}

/** The time of such a field, RFC 3339; empty where it has none. */
function instantOf(text: string): string {
  const ms = text === "" ? Number.NaN : Date.parse(text);
  return Number.isNaN(ms) ? "" : new Date(ms).toISOString();
}

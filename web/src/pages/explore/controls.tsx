import type { JSX } from "preact";
import type { ExploreField } from "../../api/explore.ts";
import { formatDate } from "../../format/times.ts";
import { FilterInput } from "../../ui/filter-input.tsx";
import { WhenSwitch } from "../../ui/when-switch.tsx";
import { ranges } from "../../format/time-ranges.ts";
import { measures, moved, zoomedOut, type ExploreState } from "./explore-state.ts";
import { fieldLabel } from "./field-label.ts";

export interface ControlsProps {
  readonly state: ExploreState;
  /** Of the last answer, RFC 3339. */
  readonly range: { readonly from: string; readonly to: string } | undefined;
  readonly fields: readonly ExploreField[];
  readonly filterFault: string | undefined;
  readonly onChange: (changes: Partial<ExploreState>) => void;
}

/** What is asked: filter, time, measure, dimensions. */
export function Controls({ state, range, fields, filterFault, onChange }: ControlsProps): JSX.Element {
  const isFixed = !ranges.some(([from]) => from === state.from && state.to === "now");
  return (
    <div class="card controls">
      <FilterInput value={state.filter} fault={filterFault} onChange={(filter) => onChange({ filter })} />
      <div class="bar">
        <label class="field">
          Time
          <select
            value={isFixed ? "fixed" : state.from}
            onChange={(event) => onChange({ from: event.currentTarget.value, to: "now" })}
          >
            {ranges.map(([from, label]) => (
              <option key={from} value={from}>
                {label}
              </option>
            ))}
            {isFixed && (
              <option value="fixed" disabled>
                {rangeText(range ?? state)}
              </option>
            )}
          </select>
        </label>
        <TimeSteps range={range} onChange={onChange} />
        <label class="field">
          Measure
          <select
            value={state.measure}
            onChange={(event) =>
              onChange({ measure: measures.find(([name]) => name === event.currentTarget.value)?.[0] ?? "bytes" })
            }
          >
            {measures.map(([name, label]) => (
              <option key={name} value={name}>
                {label}
              </option>
            ))}
          </select>
        </label>
        <WhenSwitch when={state.when} onChange={(when) => onChange({ when })} />
        <label class="field">
          Show
          <select
            value={String(state.limit)}
            onChange={(event) => onChange({ limit: Number(event.currentTarget.value) })}
          >
            {[5, 10, 20, 50].map((limit) => (
              <option key={limit} value={String(limit)}>
                the {limit} largest
              </option>
            ))}
          </select>
        </label>
        <label class="check">
          <input
            type="checkbox"
            checked={state.compare}
            onChange={(event) => onChange({ compare: event.currentTarget.checked })}
          />
          Compare with the time before
        </label>
      </div>
      <Dimensions fields={fields} names={state.dimensions} onChange={(dimensions) => onChange({ dimensions })} />
    </div>
  );
}

function TimeSteps({ range, onChange }: Pick<ControlsProps, "range" | "onChange">): JSX.Element {
  const step = (change: (from: string, to: string) => Partial<ExploreState>): void => {
    if (range !== undefined) onChange(change(range.from, range.to));
  };
  const isOff = range === undefined;
  return (
    <div class="steps" role="group" aria-label="Move in time">
      <button
        type="button"
        class="button"
        disabled={isOff}
        aria-label="Earlier"
        title="Earlier"
        onClick={() => step((from, to) => moved(from, to, -1, Date.now()))}
      >
        ◀
      </button>
      <button
        type="button"
        class="button"
        disabled={isOff}
        aria-label="A longer time"
        title="A longer time"
        onClick={() => step((from, to) => zoomedOut(from, to, Date.now()))}
      >
        −
      </button>
      <button
        type="button"
        class="button"
        disabled={isOff}
        aria-label="Later"
        title="Later"
        onClick={() => step((from, to) => moved(from, to, 1, Date.now()))}
      >
        ▶
      </button>
    </div>
  );
}

/** One choice for each dimension, and one more for the next. */
function Dimensions({
  fields,
  names,
  onChange,
}: {
  readonly fields: readonly ExploreField[];
  readonly names: readonly string[];
  readonly onChange: (names: readonly string[]) => void;
}): JSX.Element {
  const choices = fields.filter(({ dimension }) => dimension);
  const slots = names.length < 4 ? [...names, ""] : names;
  return (
    <div class="bar" role="group" aria-label="Dimensions">
      {slots.map((name, index) => (
        <label class="field dimension" key={String(index)}>
          {index === 0 ? "By" : "and"}
          <select
            value={name}
            onChange={(event) => {
              const chosen = event.currentTarget.value;
              const next = slots.map((each, at) => (at === index ? chosen : each));
              onChange(next.filter((each, at) => each !== "" && next.indexOf(each) === at));
            }}
          >
            <option value="">{name === "" ? (names.length === 0 ? "nothing" : "add …") : "remove"}</option>
            {name !== "" && !choices.some((field) => field.name === name) && <option value={name}>{name}</option>}
            {choices.map((field) => (
              <option key={field.name} value={field.name}>
                {fieldLabel(fields, field.name)}
              </option>
            ))}
          </select>
        </label>
      ))}
    </div>
  );
}

function rangeText({ from, to }: { readonly from: string; readonly to: string }): string {
  const [start, end] = [Date.parse(from), Date.parse(to)];
  if (Number.isNaN(start) || Number.isNaN(end)) return `${from} to ${to}`;
  const time = (ms: number): string => new Date(ms).toTimeString().slice(0, 8);
  const isOneDay = formatDate(start) === formatDate(end);
  return `${formatDate(start)} ${time(start)} to ${isOneDay ? "" : `${formatDate(end)} `}${time(end)}`;
}

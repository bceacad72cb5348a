import type { JSX } from "preact";
import type { ExploreField } from "../../api/explore.ts";
import { FilterInput } from "../../ui/filter-input.tsx";
import { WhenSwitch } from "../../ui/when-switch.tsx";
import { TimeBox } from "../../ui/time-box.tsx";
import type { PageTime } from "../../ui/use-time.ts";
import { measures, type ExploreState } from "../../api/explore-state.ts";
import { fieldLabel } from "./field-label.ts";
import { shapes, type Look } from "../../api/look.ts";

export interface ControlsProps {
  readonly state: ExploreState;
  readonly time: PageTime;
  readonly onReload: () => void;
  readonly fields: readonly ExploreField[];
  readonly filterFault: string | undefined;
  readonly onChange: (changes: Partial<ExploreState>) => void;
  readonly look: Look;
  readonly onLook: (changes: Partial<Look>) => void;
}

/** What is asked: filter, time, measure, dimensions. */
export function Controls({
  state,
  time,
  onReload,
  fields,
  filterFault,
  onChange,
  look,
  onLook,
}: ControlsProps): JSX.Element {
  return (
    <div class="card controls">
      <FilterInput value={state.filter} fault={filterFault} onChange={(filter) => onChange({ filter })} />
      <TimeBox time={time} onReload={onReload} />
      <div class="bar">
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
      <div class="bar">
        <label class="field">
          Chart
          <select
            value={look.shape}
            onChange={(event) =>
              onLook({ shape: shapes.find(([name]) => name === event.currentTarget.value)?.[0] ?? "stacked" })
            }
          >
            {shapes.map(([name, label]) => (
              <option key={name} value={name}>
                {label}
              </option>
            ))}
          </select>
        </label>
        <label class="check" title="The flows of the other way, source and destination exchanged, below zero">
          <input
            type="checkbox"
            checked={look.isBothWays}
            onChange={(event) => onLook({ isBothWays: event.currentTarget.checked })}
          />
          Both ways
        </label>
        <label class="check">
          <input
            type="checkbox"
            checked={look.hasPeaks}
            onChange={(event) => onLook({ hasPeaks: event.currentTarget.checked })}
          />
          p95 and maximum
        </label>
      </div>
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

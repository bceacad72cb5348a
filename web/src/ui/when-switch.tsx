import type { JSX } from "preact";
import type { When } from "../api/explore.ts";

/** Chooses when bytes and packets count: over the time in which they flowed, or when the record of their flow came. */
export function WhenSwitch({
  when,
  onChange,
}: {
  readonly when: When;
  readonly onChange: (when: When) => void;
}): JSX.Element {
  return (
    <label class="field" title="Records come after their flows: the last minutes of what flowed still fill.">
      Traffic counts
      <select
        value={when}
        onChange={(event) => onChange(event.currentTarget.value === "received" ? "received" : "flowed")}
      >
        <option value="flowed">when it flowed</option>
        <option value="received">when it was reported</option>
      </select>
    </label>
  );
}

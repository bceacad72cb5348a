import assert from "node:assert/strict";
import { test } from "node:test";
import { readState, writeState, type ExploreState } from "../../web/src/pages/explore/explore-state.ts";

/** The state that the address of another one stands for. */
function again(state: Partial<ExploreState>): ExploreState {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(writeState(state))) {
    // As the address bar has it: what is empty is left out.
    if (value !== undefined && value !== "") query.set(name, String(value));
  }
  return readState(query);
}

test("an address stands for the state that it was made of, also for one without fields", () => {
  const states: readonly ExploreState[] = [
    readState(new URLSearchParams()),
    {
      from: "-6h",
      to: "2026-11-22T04:00:00Z",
      filter: "src.port = 53",
      dimensions: ["flow.src.ip.addr"],
      measure: "flows",
      limit: 20,
      granularity: "auto",
      compare: true,
    },
    { ...readState(new URLSearchParams()), dimensions: [] },
  ];
  for (const state of states) assert.deepEqual(again(state), state);
});

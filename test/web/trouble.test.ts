import assert from "node:assert/strict";
import { test } from "node:test";
import { refusedNow } from "../../web/src/api/refusals.ts";
import { findTrouble, isBehind } from "../../web/src/pages/overview/trouble.ts";

const now = Date.parse("2026-11-22T04:00:00Z");
const nothing = { diagnosis: undefined, ready: undefined, outputs: undefined };
const refusals = [
  { reason: "422: field bytes is no keyword", records: 3, at: now - 90_000 },
  { reason: "422: too long", records: 1, at: now - 59_000 },
];

test("records are refused now when a store refused some within the last minute", () => {
  assert.equal(refusedNow(refusals, now)?.reason, "422: too long");
  assert.equal(refusedNow(refusals, now + 1000), undefined);
  assert.equal(refusedNow(undefined, now), undefined);
});

test("an output is behind when it fails, or when a record waits for more than a minute", () => {
  assert.equal(isBehind({ name: "http", state: "working", oldestAt: now - 60_000 }, now), false);
  assert.equal(isBehind({ name: "http", state: "working", oldestAt: now - 60_001 }, now), true);
  assert.equal(isBehind({ name: "http", state: "connecting" }, now), false);
  assert.equal(isBehind({ name: "http", state: "failing" }, now), true);
});

test("trouble: the worst first, each thing once, with the page that explains it", () => {
  const found = findTrouble(
    {
      diagnosis: {
        exporters: 2,
        diagnoses: [
          {
            id: "gaps",
            severity: "warning",
            exporter: "192.0.2.7",
            sentence: "Lost some.",
            evidence: {},
            advice: "Look.",
          },
          {
            id: "sampling-unknown",
            severity: "note",
            exporter: "192.0.2.7",
            sentence: "Unsaid.",
            evidence: {},
            advice: "",
          },
        ],
      },
      ready: {
        ready: true,
        checks: [
          { name: "output http", ready: true, degraded: true, detail: "connection refused" },
          { name: "metadata file", ready: false, detail: "not read" },
          { name: "api", ready: true },
        ],
      },
      outputs: {
        outputs: [
          {
            name: "http",
            state: "failing",
            fault: "connection refused",
            waitingRecords: 12_000,
            oldestAt: now - 90_000,
          },
          { name: "board", state: "working", refusals },
          { name: "file", state: "working" },
        ],
      },
    },
    now,
  );
  assert.deepEqual(
    found.map(({ state, sentence, page, query }) => [state, sentence.replaceAll(/[\u00a0\u202f]/g, " "), page, query]),
    [
      ["bad", "metadata file: not read", "metadata", undefined],
      [
        "bad",
        "The output http is failing: connection refused; 12 k records wait, the oldest came 1 min 30 s ago.",
        "outputs",
        undefined,
      ],
      ["bad", "The store of the output board refuses records: 422: too long.", "outputs", undefined],
      ["warn", "Lost some.", "exporters", { exporter: "192.0.2.7" }],
    ],
  );
  assert.deepEqual(findTrouble(nothing, now), []);
});

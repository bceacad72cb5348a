import assert from "node:assert/strict";
import { test } from "node:test";
import { traceTrips, trips, type Trip } from "../support/trace-trips.ts";
import { risenNumbers, tripsTable } from "../support/figures-table.ts";

test("trips through the collector pass fewer files than before, never more", async () => {
  const passed = await traceTrips();
  const counts = Object.fromEntries(trips.map((trip) => [trip, passed[trip].length])) as Record<Trip, number>;
  assert.deepEqual(risenNumbers(tripsTable, counts), []);
});

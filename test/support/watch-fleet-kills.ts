import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { WatchedFleet, type FleetDatabase } from "../watch/watch-fleet.ts";
import { startReceiver } from "../watch/watch-rig.ts";

interface Told {
  readonly id: string;
  readonly kind: string;
  readonly alert: { readonly id: string };
}

/**
 * Three collectors see an alert begin and end; one is killed at the n-th exchange with the database. Receivers get one begin and one end, the
 * same ones again at most.
 */
export async function watchFleetByKills(
  t: TestContext,
  database: () => FleetDatabase,
  kills: readonly number[],
): Promise<void> {
  for (const at of kills)
    for (const is of ["before", "after"] as const) {
      const receiver = await startReceiver(t);
      const rules = `actions:
  noc: {webhook: {url: "${receiver.url}"}}
rules:
  - {name: flood, by: [dst], measure: bits_per_second, over: 5s, when: '> 100k', clear: '< 50k for 3s', act: [noc]}
`;
      const fleet = new WatchedFleet(t, rules, database());
      for (const name of ["a", "b", "c"]) await fleet.start(name);
      fleet.kill = { at, is };
      const flood = [{ dst: "192.0.2.1", bytes: 100_000 }];
      await fleet.pass(1);
      // All see it: whoever is killed, it is over when the others say so.
      await fleet.pass(4, { a: flood, b: flood, c: flood });
      await fleet.pass(16);
      const notices = receiver.received.flatMap(
        ({ body }) => (JSON.parse(body) as { readonly notices: readonly Told[] }).notices,
      );
      const what = `killed ${is} exchange ${at}: ${JSON.stringify(notices.map(({ id, kind }) => [id, kind]))}`;
      assert.deepEqual([...new Set(notices.map(({ kind }) => kind))], ["firing", "cleared"], what);
      assert.equal(new Set(notices.map(({ id }) => id)).size, 2, what);
      assert.ok(notices.length <= 3, what);
    }
}

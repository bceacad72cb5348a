import assert from "node:assert/strict";
import { test } from "node:test";
import { AlertStream } from "../../src/app/index.ts";
import { createMetrics } from "../../src/base/report/index.ts";
import type { AlertEvent } from "../../src/watch/index.ts";

interface Line {
  readonly id: string;
  readonly change: string;
  readonly alert?: { readonly id: string };
  readonly alerts?: readonly { readonly id: string }[];
}

const eventOf = (id: string): AlertEvent => ({
  at: 1,
  change: "firing",
  alert: { id, rule: "r", key: {}, state: "firing", since: 1, value: 1, peak: 1, unit: "", text: id },
});

/** A stream of alerts whose Watch has these. */
function rig() {
  const metrics = createMetrics();
  const tell: (events: readonly AlertEvent[] | undefined) => void = () => {};
  const state = { ids: ["a"], isAway: false, tell };
  const stream = new AlertStream(
    {
      listen: (listener) => void (state.tell = listener),
      async find() {
        if (state.isAway) return undefined;
        const alerts = state.ids.map((id) => eventOf(id).alert);
        return { firing: alerts.length, pending: 0, cleared: 0, matched: alerts.length, alerts };
      },
    },
    metrics,
  );
  const page = stream.page();
  const follow = (after?: string) => {
    const gone = new AbortController();
    const lines = page.open(new URLSearchParams(after === undefined ? {} : { after }), gone.signal, "lines", undefined);
    const reader = lines[Symbol.asyncIterator]();
    let waiting: Line[] = [];
    const next = async (): Promise<Line> => {
      while (waiting.length === 0) {
        const { value } = (await reader.next()) as { value?: Uint8Array };
        const texts = Buffer.from(value ?? [])
          .toString("utf8")
          .split("\n");
        waiting = texts.filter((text) => text !== "").map((text) => JSON.parse(text) as Line);
      }
      return waiting.shift() as Line;
    };
    const stop = async (): Promise<void> => {
      gone.abort();
      await reader.return?.();
    };
    return { next, stop };
  };
  const metric = async (name: string): Promise<number> => {
    const family = (await metrics.everything()).find((one) => one.name === name);
    return [...(family?.samples ?? [])][0]?.[1] ?? Number.NaN;
  };
  return { state, page, follow, metric };
}

test("who follows gets all alerts first, then what happens; who comes back gets what was missed", async () => {
  const { state, page, follow, metric } = rig();
  const one = follow();
  const all = await one.next();
  assert.deepEqual([all.change, all.alerts?.map(({ id }) => id)], ["list", ["a"]]);
  assert.equal(await metric("netgloss_watch_stream_followers"), 1);
  state.tell([eventOf("b"), eventOf("c")]);
  const b = await one.next();
  const c = await one.next();
  assert.deepEqual([b.alert?.id, c.alert?.id], ["b", "c"]);
  assert.equal(page.idOf?.(JSON.stringify(b)), b.id);
  await one.stop();
  assert.equal(await metric("netgloss_watch_stream_followers"), 0);

  const again = follow(b.id);
  assert.deepEqual((await again.next()).id, c.id);
  state.tell([eventOf("d")]);
  assert.equal((await again.next()).alert?.id, "d");
  await again.stop();
  for (const strange of ["other-1", `${b.id}9`, "x", "-", `${b.id.split("-")[0]}-1e3`]) {
    const other = follow(strange);
    assert.equal((await other.next()).change, "list", strange);
    await other.stop();
  }
});

test("a slow client gets a list of all in place of what piled up, which is counted", async () => {
  const { state, follow, metric } = rig();
  const slow = follow();
  await slow.next();
  const pending = slow.next();
  state.tell([eventOf("first")]);
  await pending;
  for (let i = 0; i < 3; i++) state.tell(Array.from({ length: 400 }, (_, n) => eventOf(`e${i}.${n}`)));
  state.ids = ["z"];
  const next = await slow.next();
  assert.deepEqual([next.change, next.alerts?.map(({ id }) => id)], ["list", ["z"]]);
  assert.equal(await metric("netgloss_watch_stream_dropped_events_total"), 1200);
  state.tell([eventOf("after")]);
  assert.equal((await slow.next()).alert?.id, "after");
  await slow.stop();
  const late = follow("x-1");
  assert.equal((await late.next()).change, "list");
  await late.stop();
});

test("when the thread of Watch starts again, followers get a list once it answers", async () => {
  const { state, follow } = rig();
  const one = follow();
  const first = await one.next();
  state.isAway = true;
  const next = one.next();
  state.tell(undefined);
  state.isAway = false;
  state.ids = ["new"];
  const list = await next;
  assert.deepEqual([list.change, list.alerts?.map(({ id }) => id)], ["list", ["new"]]);
  assert.notEqual(list.id, first.id);
  await one.stop();
});

test("there are no more clients than may be, and none without rules", async () => {
  const { page } = rig();
  const gone = new AbortController();
  const open = (): AsyncIterable<Uint8Array> => page.open(new URLSearchParams(), gone.signal, "lines", undefined);
  const readers = Array.from({ length: 64 }, () => open()[Symbol.asyncIterator]());
  await Promise.all(readers.map((reader) => reader.next()));
  assert.throws(open, /no more than 64/);
  gone.abort();
  for (const reader of readers) await reader.return?.();
  assert.throws(
    () =>
      new AlertStream(undefined, createMetrics()).page().open(new URLSearchParams(), gone.signal, "lines", undefined),
    /SVC_WATCH_RULES_PATH/,
  );
});

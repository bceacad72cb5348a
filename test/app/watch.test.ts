import assert from "node:assert/strict";
import { createSocket } from "node:dgram";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { startReceiver } from "../watch/watch-rig.ts";
import { cleanUp } from "../support/clean-up.ts";
import { startCollectorProcess } from "../support/collector-process.ts";
import { netflowV5Datagram } from "../support/netflow-v5.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { until } from "../support/until.ts";

interface Alerts {
  readonly enabled: boolean;
  readonly alerts: readonly { readonly id: string; readonly state: string; readonly key: Record<string, string> }[];
}

interface AlertDetails {
  readonly alert: { readonly id: string; readonly limit?: number; readonly top?: unknown };
  readonly notices: readonly { readonly action: string; readonly state: string }[];
}

interface SentEvent {
  readonly id: string;
  readonly data: {
    readonly id: string;
    readonly change: string;
    readonly alert?: { readonly id: string };
    readonly alerts?: Alerts["alerts"];
  };
}

/** Follows server-sent events. @param after the id of the last one that is known. */
async function followEvents(t: TestContext, url: string, after?: string): Promise<{ next(): Promise<SentEvent> }> {
  const gone = new AbortController();
  cleanUp(t, () => gone.abort());
  const headers = { accept: "text/event-stream", ...(after !== undefined && { "last-event-id": after }) };
  const response = await fetch(url, { headers, signal: gone.signal });
  assert.equal(response.headers.get("content-type"), "text/event-stream");
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  let text = "";
  return {
    async next() {
      for (;;) {
        const found = /^id: (.*)\ndata: (.*)\n\n/m.exec(text);
        if (found !== null) {
          text = text.slice(found.index + found[0].length);
          return { id: found[1] ?? "", data: JSON.parse(found[2] ?? "") as SentEvent["data"] };
        }
        const { value, done } = await reader.read();
        assert.equal(done, false);
        text += Buffer.from(value ?? []).toString("utf8");
      }
    },
  };
}

for (const pool of ["main", "1"]) {
  test(`flows that pass a limit are an alert: seen by API, told, kept over kill -9 (decoded in ${pool})`, async (t) => {
    const receiver = await startReceiver(t);
    const directory = tempDirectory(t);
    mkdirSync(join(directory, "state"));
    const rules = join(directory, "watch.yml");
    writeFileSync(
      rules,
      `actions:\n  noc: {webhook: {url: '${receiver.url}', format: text}}\n` +
        "rules:\n  - {name: many, by: [exporter], measure: flows_per_second, when: '>= 1', over: 5s, say: '{{key}} sends', act: [noc]}\n",
    );
    const settings = {
      SVC_FLOW_SERVER_UDP_ENABLE: "true",
      SVC_STATE_DIRECTORY_PATH: join(directory, "state"),
      SVC_WATCH_RULES_PATH: rules,
      SVC_PROCESSOR_POOL_SIZE: pool,
      SVC_OUTPUT_FILE_ENABLE: "true",
      SVC_OUTPUT_FILE_PATH: join(directory, "records.ndjson"),
    };
    const first = await startCollectorProcess({ settings });
    cleanUp(t, () => first.end("SIGKILL"));
    const socket = createSocket("udp4");
    cleanUp(t, () => void socket.close());
    const alertsOf = async (api: string): Promise<Alerts> =>
      (await (await fetch(`${api}/api/v1/watch/alerts`)).json()) as Alerts;
    const [alert] = await until("the alert", async () => {
      socket.send(netflowV5Datagram([{ source: "10.0.0.1", destination: "192.0.2.1" }]), first.flowPort, "127.0.0.1");
      const { alerts } = await alertsOf(first.api);
      return alerts.some(({ state }) => state === "firing") ? alerts : undefined;
    });
    assert.deepEqual(alert?.key, { "flow.export.ip.addr": "127.0.0.1" });
    await until("the notice", () => receiver.received.length > 0);
    assert.deepEqual(JSON.parse(receiver.received[0]?.body ?? ""), { text: "ALERT: 127.0.0.1 sends" });
    await until("it is told and kept", async () => (await first.metric("netgloss_watch_notices_sent_total")) === 1);
    const stream = await followEvents(t, `${first.api}/api/v1/watch/alerts/stream`);
    const list = await stream.next();
    assert.deepEqual(
      [list.data.change, list.data.alerts?.map(({ id, state }) => [id, state])],
      ["list", [[alert?.id, "firing"]]],
    );
    const seen = await fetch(`${first.api}/api/v1/watch/alerts/${alert?.id}/acknowledge`, { method: "POST" });
    assert.equal(seen.status, 200);
    assert.equal((await fetch(`${first.api}/api/v1/watch/alerts/none/acknowledge`, { method: "POST" })).status, 404);
    const event = await stream.next();
    assert.deepEqual([event.data.change, event.data.alert?.id, event.id], ["acknowledged", alert?.id, event.data.id]);
    // A browser that comes back says where it was.
    const after = await followEvents(t, `${first.api}/api/v1/watch/alerts/stream`, list.id);
    assert.deepEqual(await after.next(), event);
    const get = async (query: string): Promise<[number, unknown]> => {
      const response = await fetch(`${first.api}/api/v1/watch/alerts${query}`);
      return [response.status, await response.json()];
    };
    const [, { alert: one, notices }] = (await get(`/${alert?.id}`)) as [number, AlertDetails];
    assert.deepEqual(
      [one.id, one.limit, one.top !== undefined, notices.map(({ action, state }) => [action, state])],
      [alert?.id, 1, true, [["noc", "sent"]]],
    );
    assert.equal((await get("/none"))[0], 404);
    const [, found] = (await get("?names=127.0.0.1&evidence=false&state=firing,pending&from=2020-01-01")) as [
      number,
      Alerts,
    ];
    assert.deepEqual(
      found.alerts.map(({ id, ...rest }) => [id, "series" in rest]),
      [[alert?.id, false]],
    );
    for (const [query, message] of [
      ["?sate=firing", /parameter "sate" .*expected state, rule/],
      ["?state=fire", /"state" .*expected pending/],
      ["?from=soon", /"from" .*expected a time/],
      ["?from=tomorrow%205", /"from" .*expected a time/],
      ["?limit=0", /"limit" .*from 1 to 1000/],
      ["?evidence=no", /"evidence" .*true or false/],
      ["?filter=flow.src.ip.addr%20%3D%2010.0.0.1", /no rule has alerts with flow.src.ip.addr/],
    ] as const) {
      const [status, error] = await get(query);
      assert.equal(status, 400, query);
      assert.match((error as { message: string }).message, message);
    }
    const post = (path: string, body: unknown): Promise<Response> =>
      fetch(`${first.api}/api/v1/watch/${path}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      });
    const refused = await post("silences/add", { filter: "exporter = 127.0.0.1", for: "soon" });
    assert.equal(refused.status, 400);
    assert.match(await refused.text(), /30m, 8h or 7d/);
    const silence = await post("silences/add", { filter: "exporter = 127.0.0.1", for: "1h" });
    assert.equal(silence.status, 200, await silence.clone().text());
    const made = (await silence.json()) as { id: string };
    assert.equal((await post(`alerts/${alert?.id}/snooze`, { for: "1h" })).status, 200);
    assert.equal((await post(`silences/${made.id}/end`, {})).status, 200);
    assert.equal((await post(`silences/${made.id}/end`, {})).status, 404);
    await until("it is written", () => {
      const kept = readFileSync(join(directory, "state", "watch", "alerts.json"), "utf8");
      return kept.includes('"acknowledged"') && kept.includes('"noc":[]');
    });
    await first.end("SIGKILL");

    const second = await startCollectorProcess({ settings });
    cleanUp(t, () => second.end("SIGKILL"));
    assert.deepEqual(
      (await alertsOf(second.api)).alerts.map(({ id, state }) => [id, state]),
      [[alert?.id, "firing"]],
    );
    assert.equal(receiver.received.length, 1);
  });
}

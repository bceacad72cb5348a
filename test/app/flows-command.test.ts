import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { tableFromIPC } from "apache-arrow";
import { cleanUp } from "../support/clean-up.ts";
import { netflowV5Datagram } from "../support/netflow-v5.ts";
import { sendDatagram } from "../support/send-datagram.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { startCommandWorld, type CommandWorld } from "../support/udm-commands.ts";
import { until } from "../support/until.ts";

/** A collector that gets two flows from 10.0.0.1 and one from 10.0.0.2, again and again. */
async function start(t: TestContext, settings: Readonly<Record<string, string>> = {}): Promise<CommandWorld> {
  const world = await startCommandWorld(t, {
    ...settings,
    SVC_FLOW_SERVER_UDP_ENABLE: "true",
    SVC_FLOW_SERVER_UDP_IP: "127.0.0.1",
    SVC_FLOW_SERVER_UDP_PORT: "0",
    SVC_PROCESSOR_POOL_SIZE: "main",
  });
  await world.run("udm", "set", "10.0.0.1", "--name", "web");
  const flows = ["10.0.0.1", "10.0.0.1", "10.0.0.2"].map((source) => ({ source, destination: "192.0.2.1" }));
  const [port = 0] = world.flowPorts;
  const timer = setInterval(() => void sendDatagram(port, netflowV5Datagram(flows)), 50);
  cleanUp(t, () => clearInterval(timer));
  return world;
}

test("flows tail shows flows as text or as they are, those of a filter, and ends after its limit", async (t) => {
  const { run } = await start(t);
  const text = await run("flows", "tail", "--limit", "3");
  assert.equal(text.code, 0, text.err);
  const lines = text.out.trimEnd().split("\n");
  assert.equal(lines.length, 3);
  assert.match(
    text.out,
    /^\d\d:\d\d:\d\d\.\d{3} 10\.0\.0\.1:\d+ \(web\) > 192\.0\.2\.1:\d+ \S+ \d+ B \d+ packets from 127\.0\.0\.1$/m,
  );
  const json = await run("flows", "tail", "--limit", "2", "-o", "json", "--filter", "src = 10.0.0.2");
  for (const line of json.out.trimEnd().split("\n")) {
    assert.equal((JSON.parse(line) as Record<string, unknown>)["flow.src.ip.addr"], "10.0.0.2");
  }
  const bad = await run("flows", "tail", "--filter", "scr = 10.0.0.2");
  assert.equal(bad.code, 5);
  assert.match(bad.err, /^error: invalid_argument: filter:1:1: /);
});

test("flows top sums up by fields, the largest first", async (t) => {
  const { run } = await start(t);
  const top = await run("flows", "top", "--by", "src", "--for", "1", "-o", "json");
  const rows = JSON.parse(top.out) as { by: object; flows: number; bytes: number }[];
  assert.deepEqual(
    rows.map(({ by }) => by),
    [{ src: "10.0.0.1" }, { src: "10.0.0.2" }],
  );
  assert.equal(rows[0]?.flows, 2 * (rows[1]?.flows ?? 0));
  assert.equal(rows[0]?.bytes, 2 * (rows[1]?.bytes ?? 0));
  const table = await run("flows", "top", "--by", "src.name", "--by", "dst", "--for", "1", "--limit", "1");
  assert.match(table.out, /^SRC\.NAME {2}DST .*BYTES .*\nweb .*192\.0\.2\.1/);
  const unknown = await run("flows", "top", "--by", "dst.nmae");
  assert.deepEqual([unknown.code, unknown.out], [2, ""]);
  assert.match(unknown.err, /there is no field dst\.nmae: is dst\.name meant\?/);
});

test("the stream is bounded: rate, listeners, and it ends with the collector; events for who asks for them", async (t) => {
  const { port, run } = await start(t);
  const url = `http://127.0.0.1:${port}/api/v1/flow/tail`;
  assert.equal((await fetch(`${url}?rate=0`)).status, 400);
  const ends = new AbortController();
  const open = await Promise.all(Array.from({ length: 16 }, () => fetch(url, { signal: ends.signal })));
  assert.ok(open.every(({ status }) => status === 200));
  assert.equal((await fetch(url)).status, 429);
  assert.match((await run("metrics", "tail_listeners")).out, /^netgloss_flow_tail_listeners 16$/m);
  ends.abort();
  const again = await until("a place is free", async () => {
    const answer = await fetch(url, { headers: { accept: "text/event-stream" } });
    return answer.status !== 429 && answer;
  });
  assert.equal(again.headers.get("content-type"), "text/event-stream");
  const reader = again.body?.getReader();
  const first = await reader?.read();
  assert.match(Buffer.from(first?.value ?? []).toString("utf8"), /^data: \{"@timestamp".*\}\n\n/);
  await reader?.cancel();
});

test("the stream as Arrow: declared columns, the rest as JSON, counts beside the batches, an end after so many records", async (t) => {
  const { port } = await start(t);
  const url = `http://127.0.0.1:${port}/api/v1/flow/tail?format=arrow`;
  const whole = await fetch(`${url}&limit=30&rate=10000&filter=${encodeURIComponent("src = 10.0.0.1")}`);
  assert.equal(whole.headers.get("content-type"), "application/vnd.apache.arrow.stream");
  const table = tableFromIPC(new Uint8Array(await whole.arrayBuffer()));
  assert.equal(table.numRows, 30);
  const row = table.get(0)?.toJSON() ?? {};
  assert.deepEqual(
    [row["flow.src.ip.addr"], row["flow.src.ip.subnet.name"], typeof row["flow.bytes"], typeof row["@timestamp"]],
    ["10.0.0.1", "web", "bigint", "number"],
  );
  const rest = JSON.parse(String(row["rest"])) as Record<string, unknown>;
  assert.deepEqual(
    Object.keys(rest).filter((name) => name in row),
    [],
  );

  const few = await fetch(`${url}&fields=flow.src.ip.addr,flow.bytes&limit=3&notes=true`, {
    headers: { accept: "text/event-stream" },
  });
  const bytes = Buffer.from(await few.arrayBuffer());
  const narrow = tableFromIPC(bytes);
  assert.deepEqual(
    [narrow.schema.fields.map(({ name, type }) => [name, String(type)]), narrow.numRows],
    [
      [
        ["flow.src.ip.addr", "Utf8"],
        ["flow.bytes", "Uint64"],
      ],
      3,
    ],
  );
  assert.match(bytes.toString("latin1"), /\{"seen":\d+,"examined":\d+,"matched":\d+,"passed":3\}/);

  const refused = async (query: string): Promise<unknown> =>
    ((await (await fetch(`http://127.0.0.1:${port}/api/v1/flow/tail?${query}`)).json()) as { message: string }).message;
  assert.equal(await refused("format=parquet"), "format must be one of lines, events, arrow");
  assert.match(String(await refused("format=arrow&fields=flow.bites")), /records have no field "?flow\.bites/);
  assert.equal(await refused("fields=flow.bytes"), "fields are columns, which only format=arrow has");
  assert.match(String(await refused("limit=0")), /^limit must be a whole number from 1 /);
});

test("flows top --last asks Explore; without it, and for a name of several fields, it says what to do", async (t) => {
  const { run } = await start(t, { SVC_EXPLORE_ENABLE: "true", SVC_EXPLORE_PATH: tempDirectory(t) });
  const last = ["flows", "top", "--last", "5m", "--by"];
  const rows = await until("Explore has records", async () => {
    const top = await run(...last, "src", "-o", "json");
    const found = top.code === 0 ? (JSON.parse(top.out) as Row[]) : [];
    return found.length === 2 ? found : undefined;
  });
  assert.deepEqual(
    rows.map(({ by }) => by),
    [{ src: "10.0.0.1" }, { src: "10.0.0.2" }],
  );
  assert.ok(Math.abs((rows[0]?.share ?? 0) - 2 / 3) < 0.1);
  const table = await run(...last, "src.name", "--sort", "flows", "--limit", "1");
  assert.match(table.out, /^SRC\.NAME {2}FLOWS .*SHARE\nweb .* %/);
  assert.match(table.err, /^nothing of the time before .*: nothing older is kept\n$/);
  const watched = await run("flows", "top", "--by", "src", "--for", "1");
  assert.equal(watched.err, "watching for 1 s; --last 1h asks Explore for the hour before\n");
  const several = await run(...last, "addr");
  assert.match(
    several.err,
    /addr stands for several fields, of which --last takes one: flow\.src\.ip\.addr, flow\.dst/,
  );
  const both = await run(...last, "src", "--for", "3");
  assert.match(both.err, /--for watches, --last looks back: choose one/);
});

test("flows top --last of a collector without Explore names the setting", async (t) => {
  const { run } = await start(t);
  const off = await run("flows", "top", "--last", "5m", "--by", "src");
  assert.match(off.err, /Explore is off: set SVC_EXPLORE_ENABLE to true/);
});

interface Row {
  readonly by: object;
  readonly share: number;
}

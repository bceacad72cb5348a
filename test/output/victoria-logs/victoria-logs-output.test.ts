import assert from "node:assert/strict";
import { test } from "node:test";
import { adapterOf } from "../adapter-fixture.ts";
import { batchOf } from "../delivery/batch-fixture.ts";
import { startFaultProxy } from "../delivery/fault-proxy.ts";
import { keepLedger, numberedFlow } from "../delivery/output-contract.ts";
import { startHttpServer } from "../http/http-fixture.ts";
import { startVictoriaLogsServer } from "./victoria-logs-server.ts";

const signal = new AbortController().signal;

const adapterTo = (port: number) =>
  adapterOf("VICTORIALOGS", { ADDRESSES: [`http://127.0.0.1:${port}`], COMPRESSION: "gzip" });

test("lines have a message and name their stream's fields", async (t) => {
  const server = await startHttpServer(t);
  const adapter = adapterTo(server.port);
  assert.deepEqual(await adapter.open(signal), []);
  await adapter.send(batchOf([numberedFlow(1), '{"system.ip.addr":"192.0.2.9"}']), signal);
  const call = server.calls.at(-1);
  assert.equal(
    decodeURIComponent(call?.path ?? ""),
    "/insert/jsonline?_time_field=@timestamp&_msg_field=_msg&_stream_fields=flow.export.ip.addr,system.ip.addr",
  );
  assert.equal(
    call?.body,
    `{"_msg":"flow",${numberedFlow(1).slice(1)}\n{"_msg":"telemetry","system.ip.addr":"192.0.2.9"}\n`,
  );
  server.answer = (_, response) => void response.writeHead(401).end();
  await assert.rejects(adapter.open(signal), /refuses the credentials/);
  await adapter.close();
});

test("through every fault of the way and of the server nothing is missing", async (t) => {
  const server = await startVictoriaLogsServer(t);
  const proxy = await startFaultProxy(t, "127.0.0.1", server.port);
  const numbers = async () => server.lines.map((line) => (JSON.parse(line) as { n: number }).n);
  const moods = [() => void (server.status = 200), () => void (server.status = 503)];
  const store = { adapter: adapterTo(proxy.port), proxy, isExactlyOnce: false, numbers, moods };
  await keepLedger(t, store, { records: 20_000, step: 100, faultMs: 60 });
});

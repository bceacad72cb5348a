// A host of its own: it measures whether flows get through.
// Clients that mean harm, against a collector that takes 2 000 records a second. None of the records may be lost, memory stays bounded.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { once } from "node:events";
import { connect as connectHttp2, constants, type ClientHttp2Session } from "node:http2";
import { connect } from "node:net";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { gzipSync } from "node:zlib";
import { cleanUp } from "../support/clean-up.ts";
import { metadataSettings, startCollectorProcess, type CollectorProcess } from "../support/collector-process.ts";
import { untilRecords } from "../support/flow-records.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { until } from "../support/until.ts";

const udmPath = "/api/v1/enrich/ipaddr/udm.v1.UdmService";
const toolsPath = "/api/v1/enrich/ipaddr/udm.v1.UdmToolsService";
const mostMemoryMb = 600;

interface Attacked {
  readonly collector: CollectorProcess;
  /** What was answered to a request of JSON. */
  readonly post: (
    path: string,
    body: string | Uint8Array,
    header?: Record<string, string>,
  ) => Promise<{ status: number; text: string }>;
  /** @returns a connection of HTTP/2 that may be refused what it asks for. */
  readonly session: () => ClientHttp2Session;
}

async function underAttack(t: TestContext, attack: (attacked: Attacked) => Promise<void>): Promise<void> {
  const directory = tempDirectory(t);
  const output = join(directory, "flows.ndjson");
  const collector = await startCollectorProcess({
    settings: {
      ...metadataSettings(join(directory, "ipaddrs.yml")),
      SVC_FLOW_SERVER_UDP_ENABLE: "true",
      SVC_OUTPUT_FILE_ENABLE: "true",
      SVC_OUTPUT_FILE_PATH: output,
    },
  });
  cleanUp(t, () => collector.end("SIGKILL"));
  const { flowPort, api, child } = collector;
  const traffic = new Worker(new URL("../support/steady-traffic.js", import.meta.url), {
    workerData: { flowPort, api },
  });
  cleanUp(t, async () => void (await traffic.terminate()));
  await pause(1_000);
  await attack({
    collector,
    async post(path, body, header = {}) {
      const response = await fetch(api + path, {
        method: "POST",
        headers: { "content-type": "application/json", ...header },
        body: body as string,
      });
      return { status: response.status, text: await response.text() };
    },
    session() {
      const session = connectHttp2(api);
      session.on("error", () => {});
      cleanUp(t, () => session.destroy());
      return session;
    },
  });
  await pause(1_000);
  traffic.postMessage("end");
  const [{ sent, times }] = (await once(traffic, "message")) as [{ sent: number; times: readonly number[] }];
  await untilRecords(output, sent);
  const peak = Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, "utf8"))?.[1]) / 1024;
  const at = (share: number): string => `${(times[Math.floor(times.length * share)] ?? 0).toFixed(1)} ms`;
  t.diagnostic(`${sent} records; /livez p50 ${at(0.5)}, p99 ${at(0.99)}, most ${at(0.9999)}; ${peak.toFixed(0)} MB`);
  assert.ok(times.length > 0 && times.every(Number.isFinite), "each question whether it lives is answered");
  assert.ok(peak <= mostMemoryMb, `${peak} MB`);
  assert.deepEqual(await collector.end("SIGTERM"), { code: 0, signal: null });
}

test("requests that are cancelled as they are made", async (t) => {
  await underAttack(t, async ({ session, collector }) => {
    // As those who attack do, without looking at what comes back.
    for (const path of ["/metrics", "/openapi.json", `${udmPath}/ListUdms`]) {
      const client = session();
      let code: number | undefined;
      client.on("goaway", (given) => (code = given));
      await once(client, "connect");
      for (let i = 0; i < 1_500 && !client.destroyed; i++) {
        client
          .request({ ":path": path })
          .on("error", () => {})
          .close(8);
      }
      await until("the connection is ended", () => client.destroyed);
      assert.equal(code, constants.NGHTTP2_ENHANCE_YOUR_CALM);
    }
    const rejected = 'netgloss_api_rejected_total{reason="flood"';
    await until("the floods are counted", async () => Number(await collector.metric(rejected)) >= 3);
  });
});

test("many requests that cost much, by many connections", async (t) => {
  await underAttack(t, async ({ session, collector }) => {
    const paths = ["/metrics", "/openapi.json", "/readyz", "/api/v1/doctor", "/"];
    const asked = Array.from({ length: 10 }, async () => {
      const client = session();
      const answers = Array.from({ length: 90 }, async (_, i) => {
        const request = client.request({ ":path": paths[i % paths.length] });
        request.on("error", () => {}).resume();
        const [header] = (await once(request, "response")) as [{ ":status": number }];
        await once(request, "end");
        return header[":status"];
      });
      return Promise.all(answers);
    });
    const statuses = new Set((await Promise.all(asked)).flat());
    assert.ok(statuses.has(200));
    assert.deepEqual(
      [...statuses].filter((status) => status >= 500 && status !== 503),
      [],
    );
    const { port } = new URL(collector.api);
    const socket = connect(Number(port), "127.0.0.1");
    cleanUp(t, () => socket.destroy());
    socket.write("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(900));
    let received = 0;
    socket.on("data", (data: Buffer) => (received += data.length));
    await until("the answers come", () => received > 1_000_000);
  });
});

test("bodies that are unpacked into much more", async (t) => {
  await underAttack(t, async ({ post, collector }) => {
    const bomb = gzipSync(`{"requests":[${"{},".repeat(22_000_000)}{}]}`);
    const envelope = Buffer.concat([Buffer.from([1, 0, 0, 0, 0]), bomb]);
    envelope.writeUInt32BE(bomb.length, 1);
    const forms: readonly [Uint8Array, Record<string, string>][] = [
      [bomb, { "content-encoding": "GZip" }],
      [envelope, { "content-type": "application/grpc-web+json", "grpc-encoding": "gzip" }],
    ];
    for (const [body, header] of forms) {
      const answers = await Promise.all(
        Array.from({ length: 40 }, () => post(`${udmPath}/BatchCreateUdms`, body, header)),
      );
      const refused = answers.filter(({ status, text }) => status === 429 || text.includes("grpc-status: 8"));
      assert.ok(refused.length > 0, "what goes beyond the bound is refused");
    }
    assert.ok(Number(await collector.metric('netgloss_api_rejected_total{reason="memory"')) > 0);
    // What was held is free again.
    const { status } = await post(`${udmPath}/BatchCreateUdms`, gzipSync(`{"requests":[${"{},".repeat(50_000)}{}]}`), {
      "content-encoding": "gzip",
    });
    assert.equal(status, 400);
  });
});

test("expressions that never end, or take all memory", async (t) => {
  await underAttack(t, async ({ post, collector }) => {
    const importBy = (select: string): ReturnType<typeof post> =>
      post(
        `${toolsPath}/ImportUdms`,
        JSON.stringify({ format: "json", text: JSON.stringify({ text: `${"a".repeat(200)}!` }), select }),
      );
    const large = await importBy('$uppercase($pad("x", 500000000))');
    assert.equal(large.status, 400);
    assert.match(large.text, /MB of memory/);
    const endless = importBy("$match(text, /^(a+)+$/)").catch(() => undefined);
    await pause(2_000);
    assert.equal((await collector.call("CountUdms", {})).status, 200);
    // The collector ends while it is evaluated.
    void endless;
  });
});

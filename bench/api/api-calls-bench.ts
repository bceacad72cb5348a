// CPU time of the server for one call that lists one entry, by REST and by gRPC, compared with bare servers that answer the same
// bytes. The client is the same, here.
import { mkdtemp, rm } from "node:fs/promises";
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client, credentials } from "@grpc/grpc-js";
import { metadataSettings, startCollectorProcess } from "../../test/support/collector-process.ts";
import { reportRow } from "../support/bench-report.ts";
import { startHelper } from "../support/child.ts";
import { cpuTime } from "../support/cpu-time.ts";
import { median } from "../support/median.ts";
import { metadataKey, writeMetadataFile } from "../support/metadata-file.ts";
import type { PeerOrder } from "./peer-process.ts";

const warmUpCalls = 10_000;
const calls = 40_000;
const rounds = 3;
const concurrency = 16;
const path = "/api/v1/enrich/ipaddr/udm.v1.UdmService/ListUdms";
const key = metadataKey(300);

type Call = () => Promise<Buffer>;
interface Server {
  readonly pid: number;
  readonly call: Call;
}

const directory = await mkdtemp(join(tmpdir(), "netgloss-bench-"));
const metadataPath = join(directory, "ipaddrs.yml");
writeMetadataFile(metadataPath, 100_000);
const collector = await startCollectorProcess({ settings: metadataSettings(metadataPath) });
const pid = collector.child.pid ?? 0;
const port = Number(new URL(collector.api).port);
try {
  await compare("REST, list one key", "bare node:http", "≤ 1.5 ×", { pid, call: restCall(port) }, "http", restCall);
  await compare("gRPC, list one key", "grpc-js", "≤ 1.0 ×", { pid, call: grpcCall(port) }, "grpc", grpcCall);
} finally {
  await collector.end();
  await rm(directory, { recursive: true });
}

/** Both in turns, so that both see the same machine; the median counts. */
async function compare(
  what: string,
  peerName: string,
  goal: string,
  ours: Server,
  kind: PeerOrder["kind"],
  callOf: (port: number) => Call,
): Promise<void> {
  const helper = startHelper("api/peer-process.js");
  const answer = await ours.call();
  const peerPort = await helper.ask<number>({ kind, answer } satisfies PeerOrder);
  const peer: Server = { pid: helper.pid, call: callOf(peerPort) };
  if (!answer.equals(await peer.call())) throw new Error("the peer answers something else");
  const times: { ours: number; peer: number }[] = [];
  await cpuPerCall(ours, warmUpCalls);
  await cpuPerCall(peer, warmUpCalls);
  for (let i = 0; i < rounds; i++) {
    times.push({ ours: await cpuPerCall(ours, calls), peer: await cpuPerCall(peer, calls) });
  }
  await helper.end();
  reportRow({
    what,
    value: median(times.map((time) => time.ours)),
    unit: "µs CPU",
    peer: { what: peerName, value: median(times.map((time) => time.peer)) },
    goal,
  });
}

/** Microseconds of CPU time of the server. */
async function cpuPerCall({ pid: server, call }: Server, count: number): Promise<number> {
  const start = cpuTime(server);
  let left = count;
  const lane = async (): Promise<void> => {
    while (left-- > 0) await call();
  };
  await Promise.all(Array.from({ length: concurrency }, lane));
  return ((cpuTime(server) - start) / count) * 1e6;
}

function restCall(to: number): Call {
  const agent = new Agent({ keepAlive: true, maxSockets: concurrency });
  const body = JSON.stringify({ key, exact: true });
  const headers = { "content-type": "application/json", "content-length": body.length };
  return () =>
    new Promise((resolve, reject) => {
      const sent = request({ host: "127.0.0.1", port: to, path, method: "POST", agent, headers }, (response) => {
        const parts: Buffer[] = [];
        response.on("data", (part: Buffer) => parts.push(part));
        response.on("end", () => {
          if (response.statusCode === 200) resolve(Buffer.concat(parts));
          else reject(new Error(`HTTP ${response.statusCode}: ${Buffer.concat(parts).toString()}`));
        });
      });
      sent.on("error", reject);
      sent.end(body);
    });
}

function grpcCall(to: number): Call {
  const client = new Client(`127.0.0.1:${to}`, credentials.createInsecure());
  const raw = (bytes: Buffer): Buffer => bytes;
  // ListUdmsRequest: field 1 is the key, field 2 `exact`.
  const message = Buffer.concat([Buffer.from([0x0a, key.length]), Buffer.from(key), Buffer.from([0x10, 1])]);
  return () =>
    new Promise((resolve, reject) => {
      client.makeUnaryRequest("/udm.v1.UdmService/ListUdms", raw, raw, message, (error, answer) => {
        if (error === null && answer !== undefined) resolve(answer);
        else reject(error ?? new Error("no answer"));
      });
    });
}

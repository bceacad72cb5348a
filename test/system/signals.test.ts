import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { renameSync, writeFileSync } from "node:fs";
import { connect as connectTls } from "node:tls";
import { join } from "node:path";
import { test } from "node:test";
import { cleanUp } from "../support/clean-up.ts";
import { startCollectorProcess } from "../support/collector-process.ts";
import { readRecords, untilRecords } from "../support/flow-records.ts";
import { netflowV5Datagram } from "../support/netflow-v5.ts";
import { selfSigned } from "../support/self-signed.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { until } from "../support/until.ts";

const bin = join(import.meta.dirname, "../../../bin/netgloss.js");

test("SIGUSR2 opens a renamed output file again", async (t) => {
  const directory = tempDirectory(t);
  const output = join(directory, "flows.ndjson");
  const collector = await startCollectorProcess({
    settings: { SVC_FLOW_SERVER_UDP_ENABLE: "true", SVC_OUTPUT_FILE_ENABLE: "true", SVC_OUTPUT_FILE_PATH: output },
  });
  cleanUp(t, () => collector.end("SIGKILL"));
  const socket = createSocket("udp4");
  cleanUp(t, () => socket.close());
  const send = (source: string): void =>
    socket.send(netflowV5Datagram([{ source, destination: "10.0.0.9" }]), collector.flowPort, "127.0.0.1");

  send("10.0.0.1");
  await untilRecords(output, 1);
  renameSync(output, `${output}.1`);
  collector.child.kill("SIGUSR2");
  await until(
    "the file is there again",
    () => readRecords(output).length === 0 && spawnSync("test", ["-e", output]).status === 0,
  );
  send("10.0.0.2");
  const [record] = await untilRecords(output, 1);
  assert.equal(record?.["flow.src.ip.addr"], "10.0.0.2");
  assert.deepEqual(
    readRecords(`${output}.1`).map((older) => older["flow.src.ip.addr"]),
    ["10.0.0.1"],
  );
  await collector.end();
});

test("SIGHUP takes a renewed certificate for new connections", async (t) => {
  const directory = tempDirectory(t);
  const certPath = join(directory, "cert.pem");
  const keyPath = join(directory, "key.pem");
  const install = (): string => {
    const { cert, key } = selfSigned();
    writeFileSync(certPath, cert);
    writeFileSync(keyPath, key);
    return cert;
  };
  const first = install();
  const collector = await startCollectorProcess({
    settings: { SVC_API_TLS_ENABLE: "true", SVC_API_TLS_CERT_FILEPATH: certPath, SVC_API_TLS_KEY_FILEPATH: keyPath },
  });
  cleanUp(t, () => collector.end("SIGKILL"));
  const port = Number(new URL(collector.api).port);
  assert.equal(await servedCertificate(port), fingerprint(first));
  const second = install();
  collector.child.kill("SIGHUP");
  await until("the renewed certificate", async () => (await servedCertificate(port)) === fingerprint(second));
  await collector.end();
});

test("SIGTERM writes what was received and ends with exit code 0", async (t) => {
  const directory = tempDirectory(t);
  const output = join(directory, "flows.ndjson");
  const collector = await startCollectorProcess({
    settings: { SVC_FLOW_SERVER_UDP_ENABLE: "true", SVC_OUTPUT_FILE_ENABLE: "true", SVC_OUTPUT_FILE_PATH: output },
  });
  cleanUp(t, () => collector.end("SIGKILL"));
  const socket = createSocket("udp4");
  cleanUp(t, () => socket.close());
  const records = Array.from({ length: 30 }, (_, i) => ({ source: `10.0.0.${i}`, destination: "10.0.0.99" }));
  for (let i = 0; i < 40; i++) {
    socket.send(netflowV5Datagram(records, i * 30), collector.flowPort, "127.0.0.1");
  }
  await until("all are received", async () => (await collector.metric("netgloss_flow_records_total")) === 1200);
  assert.deepEqual(await collector.end("SIGTERM"), { code: 0, signal: null });
  assert.equal(readRecords(output).length, 1200);
});

test("a port in use is one clear line and exit code 1", async (t) => {
  const blocker = createSocket("udp4");
  blocker.bind(0, "127.0.0.1");
  await once(blocker, "listening");
  cleanUp(t, () => blocker.close());
  const { port } = blocker.address();
  const run = spawnSync(process.execPath, [bin, "serve", "--svc-api-port", "0"], {
    encoding: "utf8",
    env: {
      PATH: process.env["PATH"],
      SVC_FLOW_SERVER_UDP_ENABLE: "true",
      SVC_FLOW_SERVER_UDP_IP: "127.0.0.1",
      SVC_FLOW_SERVER_UDP_PORT: String(port),
      SVC_OUTPUT_STDOUT_ENABLE: "true",
    },
  });
  assert.equal(run.status, 1);
  const errors = run.stderr.split("\n").filter((line) => line.includes(" ERROR "));
  assert.equal(errors.length, 1, run.stderr);
  assert.match(errors[0] ?? "", new RegExp(`cannot start .*UDP port ${port} of 127\\.0\\.0\\.1.*EADDRINUSE`));
  assert.doesNotMatch(run.stderr, /\n\s+at /);
  assert.equal(run.stdout, "");
});

async function servedCertificate(port: number): Promise<string> {
  const socket = connectTls({ port, host: "127.0.0.1", rejectUnauthorized: false });
  await once(socket, "secureConnect");
  const { fingerprint256 } = socket.getPeerX509Certificate() ?? { fingerprint256: "" };
  socket.destroy();
  return fingerprint256;
}

function fingerprint(pem: string): string {
  return new X509Certificate(pem).fingerprint256;
}

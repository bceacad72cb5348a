import assert from "node:assert/strict";
import { once } from "node:events";
import { copyFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { test } from "node:test";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { selfSigned, selfSignedFiles } from "../support/self-signed.ts";
import { startApi, until } from "./api-fixture.ts";
import { answerOf, openHttp2 } from "./raw-http.ts";

async function handshake(port: number, ca: string, alpn: string[] = []): Promise<TLSSocket> {
  const socket = connectTls({ port, host: "127.0.0.1", servername: "localhost", ca, ALPNProtocols: alpn });
  await once(socket, "secureConnect");
  return socket;
}

test("ALPN chooses the protocol; without it HTTP/1.1 is spoken", async (t) => {
  const files = selfSignedFiles(t);
  const { port, url } = await startApi(t, { tls: files });
  for (const [offer, chosen] of [
    [["h2"], "h2"],
    [["http/1.1"], "http/1.1"],
    [["h2", "http/1.1"], "h2"],
  ] as const) {
    const socket = await handshake(port, files.cert, [...offer]);
    assert.equal(socket.alpnProtocol, chosen);
    socket.destroy();
  }
  const session = openHttp2(t, url, files.cert);
  assert.equal((await answerOf(session.request({ ":path": "/livez" }))).status, 200);
  const plain = await handshake(port, files.cert);
  plain.write("GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  assert.match(String(await once(plain, "data")), /^HTTP\/1\.1 200 OK/);
});

test("certificates are re-read for further connections; broken ones change nothing", async (t) => {
  const files = selfSignedFiles(t);
  const { port, server, metrics, lines } = await startApi(t, { tls: files });
  const first = await handshake(port, files.cert);
  const fresh = selfSigned();
  writeFileSync(files.certPath, fresh.cert);
  server.reloadCertificates();
  assert.equal(await metrics.value("netgloss_api_certificate_failures_total"), 1);
  assert.match(JSON.stringify(lines.at(-1)?.message), /the previous one stays in use/);
  (await handshake(port, files.cert)).destroy();
  writeFileSync(files.keyPath, fresh.key);
  server.reloadCertificates();
  (await handshake(port, fresh.cert)).destroy();
  await assert.rejects(handshake(port, files.cert), /self.signed/);
  first.write("GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  assert.match(String(await once(first, "data")), /200 OK/);
  const expiry = await metrics.value("netgloss_api_certificate_expiry_seconds");
  assert.equal(expiry, Date.UTC(2049, 11, 31, 23, 59, 59) / 1000);
});

test("a start without a usable certificate fails and names the file", async (t) => {
  const files = selfSignedFiles(t);
  await assert.rejects(startApi(t, { tls: { ...files, certPath: "/nonexistent.pem" } }), /\/nonexistent\.pem/);
  writeFileSync(files.keyPath, selfSigned().key);
  await assert.rejects(startApi(t, { tls: files }), /key\.pem does not belong to the certificate in .*cert\.pem/);
  copyFileSync(files.keyPath, files.certPath);
  await assert.rejects(startApi(t, { tls: files }), /cannot read .*cert\.pem/);
});

test("handshakes that fail, or never come, are counted and cost nothing else", async (t) => {
  const files = selfSignedFiles(t);
  const { port, metrics } = await startApi(t, { tls: files, limits: { headersTimeout: 200 } });
  const inClear = connect(port, "127.0.0.1");
  inClear.on("error", () => {});
  inClear.write("GET /livez HTTP/1.1\r\n\r\n");
  const silent = connect(port, "127.0.0.1");
  const old = connectTls({ port, host: "127.0.0.1", ca: files.cert, maxVersion: "TLSv1.1", minVersion: "TLSv1" });
  old.on("error", () => {});
  await Promise.all(
    [inClear, silent, old].map((socket) => new Promise((resolve) => socket.on("close", resolve).resume())),
  );
  await until(
    async () => (await metrics.value("netgloss_api_rejected_total", { reason: "tls" })) === 3,
    "all are counted",
  );
  (await handshake(port, files.cert)).destroy();
});

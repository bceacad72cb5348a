// Stores whose servers are those of the tests, or acknowledge what they have not written yet: such a server is not killed.
import { createReadStream } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createInterface } from "node:readline";
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { startLokiServer } from "../../output/loki/loki-server.ts";
import { startVictoriaLogsServer } from "../../output/victoria-logs/victoria-logs-server.ts";
import { cleanUp } from "../../support/clean-up.ts";
import { startPartner } from "../../support/partner.ts";
import type { LedgerStore } from "./ledger.ts";
import { proxied, visitNumbers } from "./numbered-lines.ts";

/** What a server of the tests holds of a line: two million whole ones are too many. */
function numberIn(line: string): string {
  let held = "none";
  visitNumbers(line, (n) => (held = String(n)));
  return held;
}

/** A server that keeps what it has read before it answers. */
export async function startHttp(t: TestContext): Promise<LedgerStore> {
  const numbers: number[] = [];
  const server = createServer((request, response) => {
    let text = "";
    request.setEncoding("latin1").on("data", (part: string) => (text += part));
    request.on("end", () => {
      visitNumbers(text, (n) => numbers.push(n));
      response.end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  cleanUp(t, () => new Promise((resolve) => server.close(resolve).closeAllConnections()));
  const proxy = await proxied(t, `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  return {
    word: "GENERIC_HTTP",
    output: "http",
    settings: { ADDRESSES: `http://127.0.0.1:${proxy.port}` },
    proxy,
    isHttp: true,
    twice: "always",
    read: async (visit) => numbers.forEach((n) => visit(n)),
  };
}

export async function startLoki(t: TestContext): Promise<LedgerStore> {
  const server = await startLokiServer(t, numberIn);
  const proxy = await proxied(t, `http://127.0.0.1:${server.port}`);
  return {
    word: "LOKI",
    output: "loki",
    settings: { ADDRESSES: `http://127.0.0.1:${proxy.port}`, TENANT: "ledger", COMPRESSION: "gzip" },
    proxy,
    isHttp: true,
    // What it is sent again it still has in memory.
    twice: "never",
    async read(visit) {
      for (const n of server.lines()) visit(Number(n));
    },
  };
}

export async function startVictoriaLogs(t: TestContext): Promise<LedgerStore> {
  const server = await startVictoriaLogsServer(t, numberIn);
  const proxy = await proxied(t, `http://127.0.0.1:${server.port}`);
  return {
    word: "VICTORIALOGS",
    output: "victorialogs",
    settings: { ADDRESSES: `http://127.0.0.1:${proxy.port}` },
    proxy,
    isHttp: true,
    twice: "always",
    read: async (visit) => server.lines.forEach((n) => visit(Number(n))),
  };
}

/** An OpenTelemetry collector. */
export async function startOtelcol(t: TestContext, output: "otlp" | "splunk"): Promise<LedgerStore> {
  const partner = await startPartner(t, "otelcol");
  const isOtlp = output === "otlp";
  const proxy = await proxied(t, isOtlp ? partner["otlpHttp"] : partner["hec"]);
  const address = `http://127.0.0.1:${proxy.port}`;
  // OTLP has the line, escaped, Splunk's events their fields.
  const pattern = isOtlp ? /\\"flow\.bytes\\":([0-9]+)/g : /"key":"flow\.bytes","value":\{"\w+":"?([0-9]+)/g;
  return {
    word: isOtlp ? "OTLP" : "SPLUNK_HEC",
    output,
    settings: isOtlp ? { ADDRESSES: `${address}/v1/logs` } : { ADDRESSES: address, TOKEN: "secret" },
    proxy,
    isHttp: true,
    twice: "always",
    async read(visit) {
      // What the exporter has not written yet.
      await sleep(1500);
      for await (const line of linesOf(partner[isOtlp ? "otlpFile" : "hecFile"])) {
        for (const [, n] of line.matchAll(pattern)) visit(Number(n));
      }
    },
  };
}

/** rsyslog over TCP. */
export async function startSyslog(t: TestContext): Promise<LedgerStore> {
  const partner = await startPartner(t, "rsyslog");
  const proxy = await proxied(t, `tcp://${String(partner["tcp"])}`);
  return {
    word: "SYSLOG",
    output: "syslog",
    settings: { ADDRESSES: `127.0.0.1:${proxy.port}` },
    proxy,
    isHttp: false,
    twice: "always",
    async read(visit) {
      // What it has not written yet.
      await sleep(1500);
      for await (const line of linesOf(partner["file"])) {
        // Others are what a connection that was cut had brought of its last message.
        if (line.endsWith("}")) visitNumbers(line, visit);
      }
    },
  };
}

const linesOf = (path: unknown) => createInterface({ input: createReadStream(String(path), "latin1") });

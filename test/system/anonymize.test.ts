import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { formatAddress } from "../../src/base/ip/index.ts";
import { anonymizeTexts, createCryptoPan } from "../../src/output/index.ts";
import { cleanUp } from "../support/clean-up.ts";
import { dataSet, fields, ipv4, netflow9, netflow9Templates, uint } from "../../packages/testkit/index.ts";
import { requireProgram } from "../support/require-program.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { until } from "../support/until.ts";

const key = "a key of 32 characters, no more.";
const template = { id: 300, fields: fields([8, 4], [12, 4], [1, 4], [2, 4]) };
const flows = 500;

/** Spread over all addresses; the sources have common beginnings with their neighbours. */
const source = (i: number): string => formatAddress({ family: 4, value: BigInt(Math.imul(i + 1, 0x9e3779b1) >>> 0) });
const destination = (i: number): string => formatAddress({ family: 4, value: BigInt(0xc633_6400 + i) });

// IPv6 is not compared: nfanon 1.7 gives one address different ones within a file.
test("nfanon gives IPv4 addresses the same ones", async (t) => {
  for (const program of ["nfcapd", "nfanon", "nfdump"]) {
    if (requireProgram(t, program, "apt-get install nfdump") === undefined) return;
  }
  const directory = tempDirectory(t);
  const probe = createSocket("udp4").bind(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address();
  probe.close();
  await once(probe, "close");
  const nfcapd = spawn("nfcapd", ["-w", directory, "-p", `${port}`, "-b", "127.0.0.1", "-t", "3600"], {
    stdio: "ignore",
  });
  cleanUp(t, () => nfcapd.kill("SIGKILL"));
  const inHex = port.toString(16).padStart(4, "0");
  await until("nfcapd listens", () => spawnSync("grep", ["-qi", `:${inHex} `, "/proc/net/udp"]).status === 0);
  const udp = createSocket("udp4");
  for (let i = 0; i < flows; i += 20) {
    const records = Array.from({ length: 20 }, (_, j) =>
      dataSet(template, [ipv4(source(i + j)), ipv4(destination(i + j)), uint(i + j + 1, 4), uint(1, 4)]),
    );
    const datagram = netflow9([netflow9Templates(template), ...records], { sequence: i / 20 });
    await new Promise((resolve) => udp.send(datagram, port, "127.0.0.1", resolve));
  }
  udp.close();
  await new Promise((resolve) => setTimeout(resolve, 500));
  nfcapd.kill("SIGTERM");
  await once(nfcapd, "exit");
  const captured = readdirSync(directory).find((name) => name.startsWith("nfcapd.")) ?? "";
  const changed = join(directory, "anonymized");
  const nfanon = spawnSync("nfanon", ["-K", key, "-r", join(directory, captured), "-w", changed], { encoding: "utf8" });
  assert.equal(nfanon.status, 0, nfanon.stderr);
  const dump = spawnSync("nfdump", ["-r", changed, "-q", "-N", "-o", "fmt:%byt,%sa,%da"], { encoding: "utf8" });
  assert.equal(dump.status, 0, dump.stderr);
  const theirs = dump.stdout
    .split("\n")
    .filter((line) => line.includes(","))
    .map((line) =>
      line
        .split(",")
        .map((cell) => cell.trim())
        .join(" "),
    );
  const ours = anonymizeTexts(createCryptoPan(Buffer.from(key)), false);
  const expected = Array.from({ length: flows }, (_, i) => `${i + 1} ${ours(source(i))} ${ours(destination(i))}`);
  assert.deepEqual(theirs.toSorted(), expected.toSorted());
});

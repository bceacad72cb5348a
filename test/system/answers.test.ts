import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createSocket } from "node:dgram";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { cleanUp } from "../support/clean-up.ts";
import { startCollectorProcess } from "../support/collector-process.ts";
import { netflowV5Datagram } from "../support/netflow-v5.ts";
import { startPartner } from "../support/partner.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { until } from "../support/until.ts";

interface Answers {
  readonly answers: readonly { readonly id: string; readonly state: string; readonly text: string }[];
}

test("GoBGP: what an operator allows reaches another router; after kill -9 the next start withdraws it", async (t) => {
  const { api: url, receiver } = await startPartner(t, "gobgp");
  const directory = tempDirectory(t);
  mkdirSync(join(directory, "state"));
  const rules = join(directory, "watch.yml");
  writeFileSync(
    rules,
    `speakers: {edge: {gobgp: {url: '${url}'}}}
actions:
  rtbh: {blackhole: {speaker: edge, next_hop: 192.0.2.66, communities: ['65535:666', '64512:7']}}
  filter: {flowspec: {speaker: edge, rate: 8k}}
rules:
  - {name: many, by: [flow.dst.ip.addr], measure: flows_per_second, when: '>= 1', over: 5s, act: [rtbh, filter]}
`,
  );
  const settings = {
    SVC_FLOW_SERVER_UDP_ENABLE: "true",
    SVC_STATE_DIRECTORY_PATH: join(directory, "state"),
    SVC_WATCH_RULES_PATH: rules,
    SVC_WATCH_ANSWERS: "approve",
    SVC_PROCESSOR_POOL_SIZE: "main",
  };
  /** The routes of the other router. */
  const table = (): string =>
    ["ipv4", "ipv4-flowspec"]
      .map((family) => execFileSync("gobgp", ["-p", String(receiver), "global", "rib", "-a", family]).toString())
      .join("");
  const first = await startCollectorProcess({ settings });
  cleanUp(t, () => first.end("SIGKILL"));
  const socket = createSocket("udp4");
  cleanUp(t, () => void socket.close());
  const proposed = await until("the answers", async () => {
    const records = Array.from({ length: 20 }, () => ({ source: "10.0.0.1", destination: "192.0.2.1" }));
    socket.send(netflowV5Datagram(records), first.flowPort, "127.0.0.1");
    const { answers } = (await (await fetch(`${first.api}/api/v1/watch/answers`)).json()) as Answers;
    return answers.length === 2 ? answers : undefined;
  });
  assert.doesNotMatch(table(), /192\.0\.2\.1/);
  for (const { id } of proposed) {
    const allowed = await fetch(`${first.api}/api/v1/watch/answers/${id}/approve`, { method: "POST" });
    assert.equal(allowed.status, 200);
  }
  const routes = await until("the routes", () => {
    const found = table();
    return found.includes("192.0.2.1/32 ") && found.includes("[destination: 192.0.2.1/32]") ? found : undefined;
  });
  assert.match(routes, /192\.0\.2\.66 .*Communities: blackhole, 64512:7/);
  assert.match(routes, /\[source: 10\.0\.0\.1\/32\].*rate: 1000\.0/);
  const again = await fetch(`${first.api}/api/v1/watch/answers/${proposed[0]?.id}/approve`, { method: "POST" });
  assert.equal(again.status, 400);
  assert.match(JSON.stringify(await again.json()), /ANSWER_REFUSED/);
  await first.end("SIGKILL");
  assert.match(table(), /192\.0\.2\.1/);

  // With another file of rules, which knows no speaker.
  writeFileSync(rules, "rules: []\n");
  const second = await startCollectorProcess({ settings });
  cleanUp(t, () => second.end("SIGKILL"));
  await until("the routes are withdrawn", () => !table().includes("192.0.2.1"));
  await until("it is known", async () => (await second.metric("netgloss_watch_routes_withdrawn_total")) === 2);
});

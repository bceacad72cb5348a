import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { netflowV5Datagram } from "../support/netflow-v5.ts";
import { sendDatagram } from "../support/send-datagram.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { startCommandWorld } from "../support/udm-commands.ts";
import { until } from "../support/until.ts";

test("address and value: what is known of it, in each format; without Explore the rest of it", async (t) => {
  const { run, flowPorts } = await startCommandWorld(t, {
    SVC_EXPLORE_ENABLE: "true",
    SVC_EXPLORE_PATH: join(tempDirectory(t), "explore"),
    SVC_FLOW_SERVER_UDP_ENABLE: "true",
    SVC_FLOW_SERVER_UDP_IP: "127.0.0.1",
    SVC_FLOW_SERVER_UDP_PORT: "0",
  });
  await run("udm", "set", "10.0.0.1", "--name", "web-1", "--tag", "+web");
  const records = [{ source: "10.0.0.1", destination: "10.0.0.2", bytes: 5000, packets: 4 }];
  await sendDatagram(flowPorts[0] ?? 0, netflowV5Datagram(records, 0, Math.floor(Date.now() / 1000)));
  const text = await until<string>("the flow is kept", async () => {
    const { out } = await run("address", "10.0.0.1");
    return out.includes("PEERS OUT") ? out : undefined;
  });
  assert.match(text, /\.ip\.subnet\.name +"web-1" +10\.0\.0\.1/);
  assert.match(text, /PEERS OUT +BYTES +SHARE\n10\.0\.0\.2 +5000 +100\.0 %/);
  assert.match(text, /last flows\n.*10\.0\.0\.1 port \d+ \(web-1\) +10\.0\.0\.2/s);
  assert.match(text, /first seen \d{4}-/);
  const json = JSON.parse((await run("address", "10.0.0.1", "-o", "json")).out) as {
    readonly profile: { readonly rankings: readonly { readonly name: string }[] };
  };
  assert.equal(json.profile.rankings[0]?.name, "peers");
  assert.match(
    (await run("value", "tag", "web", "-o", "csv")).out,
    /^ranking,way,key,bytes,share\npeers,out,10\.0\.0\.2,5000,1\n/,
  );
  assert.match((await run("address", "10.0.0.0/24", "-o", "yaml")).out, /^profile:\n {2}field: prefix\n/);
  const wrong = await run("address", "10.0.0.300");
  assert.deepEqual([wrong.code, wrong.out], [5, ""]);
  assert.match(wrong.err, /10\.0\.0\.300/);

  const without = await startCommandWorld(t);
  const rest = await without.run("address", "10.0.0.1");
  assert.equal(rest.code, 0);
  assert.match(rest.out, /^10\.0\.0\.1\n/);
  assert.match(rest.err, /keeps no records to look back at: SVC_EXPLORE_ENABLE/);
});

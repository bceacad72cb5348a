import assert from "node:assert/strict";
import { test } from "node:test";
import { findNetworkTrouble, type Way } from "../../web/src/pages/overview/network-trouble.ts";

const now = Date.parse("2026-11-22T04:00:30Z");
const nothing = { alerts: undefined, diagnosis: undefined, links: [] };
type Found = Parameters<typeof findNetworkTrouble>[0];

/** How full an interface was in each minute, the last of which goes on. */
function link(way: Way, ...percents: readonly number[]): Found["links"][number] {
  const times = percents.map(
    (_, at) => new Date(Date.parse("2026-11-22T04:00:00Z") - (percents.length - 1 - at) * 60_000),
  );
  const answer = {
    times: times.map((time) => time.toISOString()),
    to: new Date(now).toISOString(),
    granularitySeconds: 60,
    rows: [{ key: ["192.0.2.1", 7, "xe-0/0/1", null], series: percents, value: 0, share: 0 }],
  };
  return [way, answer as unknown as Found["links"][number][1]];
}

test("a link is full when two whole minutes one after the other are above 80 %", () => {
  const full = (...percents: readonly number[]): number =>
    findNetworkTrouble({ ...nothing, links: [link("in", ...percents)] }, now).length;
  assert.equal(full(10, 90, 85, 20), 1);
  assert.equal(full(90, 10, 90, 95), 0, "the last minute goes on");
  assert.equal(full(80, 80, 80, 80), 0);
  assert.equal(full(99), 0);
  assert.equal(full(), 0);
  const [found] = findNetworkTrouble({ ...nothing, links: [link("out", 81.25, 99, 0)] }, now);
  assert.equal(
    found?.sentence.replaceAll("\u00a0", " "),
    "xe-0/0/1 of 192.0.2.1 is full: 81.3 % go out for two minutes.",
  );
  assert.deepEqual(found?.query, {
    filter: "flow.export.ip.addr = 192.0.2.1 and flow.out.netif.index = 7",
    from: "-15m",
  });
});

test("alerts that fire lead to what they are about, silent exporters to their page", () => {
  const alert = {
    id: "a1",
    rule: "flood",
    state: "firing" as const,
    since: now - 90_000,
    firedAt: now - 60_000,
    value: 1,
    peak: 1,
  };
  const rest = { unit: "bit/s", top: {}, series: { stepMs: 1000, values: [] } };
  const alerts = [
    {
      ...alert,
      ...rest,
      key: { "flow.dst.ip.addr": "10.0.0.1", "flow.dst.l4.port.id": "443" },
      text: "10.0.0.1 gets 5 Gbit/s",
    },
    {
      ...alert,
      ...rest,
      id: "a2",
      key: { exporter: "192.0.2.9" },
      text: "it lost much",
      acknowledged: { by: "ann", at: now },
    },
    { ...alert, ...rest, id: "a5", key: { "flow.dst.ip.addr": "2001:db8::/48" }, text: "a network gets much" },
    { ...alert, ...rest, id: "a3", state: "cleared" as const, key: {}, text: "over" },
    { ...alert, ...rest, id: "a4", state: "pending" as const, key: {}, text: "not yet" },
  ];
  const diagnoses = [
    {
      id: "silent" as const,
      severity: "problem" as const,
      exporter: "192.0.2.7",
      sentence: "192.0.2.7 is silent.",
      advice: "Look.",
      evidence: {},
    },
    { id: "gaps" as const, severity: "problem" as const, sentence: "Lost some.", advice: "", evidence: {} },
  ];
  const found = findNetworkTrouble(
    {
      links: [],
      alerts: { enabled: true, firing: alerts.length, pending: 0, cleared: 0, matched: 2, alerts },
      diagnosis: { diagnoses },
    },
    now,
  );
  assert.deepEqual(
    found.map(({ id, state, page }) => `${id} ${state} ${page}`),
    ["alert a1 bad explore", "alert a2 warn exporters", "alert a5 bad explore", "silent 192.0.2.7 bad exporters"],
  );
  assert.equal(found[0]?.query["filter"], "flow.dst.ip.addr = 10.0.0.1 and flow.dst.l4.port.id = 443");
  assert.equal(found[0].query["from"], "2026-11-22T03:49:30.000Z");
  assert.match(found[1]?.note ?? "", /, began .* ago, seen by ann$/);
  assert.equal(found[2]?.query["filter"], "flow.dst.ip.addr in 2001:db8::/48");
});

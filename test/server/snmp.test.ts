import assert from "node:assert/strict";
import { test } from "node:test";
import type { SnmpDeviceId, SnmpOperations } from "../../src/server/index.ts";
import { postJson, startApi } from "./api-fixture.ts";

const apply = "/api/v1/snmp/apply-definitions";
const rediscover = "/api/v1/snmp/rediscover-device";

function fakeSnmp(): SnmpOperations & { calls: unknown[] } {
  const calls: unknown[] = [];
  return {
    calls,
    async applyDefinitions(force) {
      calls.push(force);
      if (force) return { ok: false, findings: [{ place: "devices/a.yml:3:1", id: "r1", message: "no such group" }] };
      return { ok: true, report: { revision: 7 } };
    },
    async discoverNetworks(request, wait) {
      calls.push({ ...request, seconds: wait?.seconds });
      if (request.networks.includes("busy")) return { ok: false, reason: "busy", problems: ["under way"] };
      if (request.networks.includes("off")) return { ok: false, reason: "off", problems: [] };
      if (request.networks.length > 0) return { ok: false, reason: "invalid", problems: ["no network x", "and more"] };
      return { ok: true, isDone: wait !== undefined, report: { new: [] } };
    },
    async rediscoverDevice(device: SnmpDeviceId, wait) {
      calls.push({ device, seconds: wait?.seconds });
      if (device.port !== 161) return undefined;
      return { isDone: wait !== undefined, report: { state: wait === undefined ? "queued" : "done" } };
    },
  };
}

test("while SNMP is off both operations answer 503 in the form of errors", async (t) => {
  const { url } = await startApi(t);
  for (const path of [apply, rediscover]) {
    const answer = await postJson(url + path, { ip: "192.0.2.1", port: 161 });
    assert.deepEqual([answer.status, answer.body["code"]], [503, "unavailable"]);
    assert.match(String(answer.body["message"]), /SNMP is not enabled/);
    assert.ok(Array.isArray(answer.body["details"]));
  }
  assert.equal((await fetch(url + apply, { method: "POST" })).status, 503);
  assert.equal((await fetch(url + apply)).status, 405);
  const noType = await fetch(url + rediscover, { method: "POST", body: new Blob(["{}"]) });
  assert.deepEqual([noType.status, noType.headers.get("accept-post")], [415, "application/json"]);
});

test("apply-definitions passes force_rediscovery on and shows the result", async (t) => {
  const snmp = fakeSnmp();
  const { url } = await startApi(t, { snmp });
  const post = (query: string) => fetch(`${url}${apply}${query}`, { method: "POST" });
  for (const query of ["", "?force_rediscovery=false"]) {
    const done = await post(query);
    assert.deepEqual([done.status, await done.json()], [200, { revision: 7 }]);
  }
  const refused = await post("?force_rediscovery=true");
  const body = (await refused.json()) as { code: string; message: string; details: { debug: unknown }[] };
  assert.deepEqual([refused.status, body.code], [422, "invalid_argument"]);
  assert.deepEqual(body.details[1]?.debug, {
    fieldViolations: [{ field: "devices/a.yml:3:1", description: "r1: no such group" }],
  });
  for (const query of ["?force_rediscovery=yes", "?force_rediscovery=", "?force_rediscovery=TRUE"]) {
    assert.equal((await post(query)).status, 400, query);
  }
  assert.deepEqual(snmp.calls, [false, false, true]);
  const named = async (response: Response): Promise<unknown> => {
    const { details } = (await response.json()) as { details: { debug: { fieldViolations?: { field: string }[] } }[] };
    return [response.status, details.flatMap(({ debug }) => debug.fieldViolations ?? []).map(({ field }) => field)];
  };
  assert.deepEqual(await named(await post("?force=true")), [400, ["force"]]);
  const withBody = await fetch(url + apply, { method: "POST", body: '{"force_rediscovery": true}' });
  assert.deepEqual(await named(withBody), [400, ["force_rediscovery"]]);
  assert.equal((await fetch(url + apply, { method: "POST", body: "{}" })).status, 200);
  const headers = { "content-type": "application/json" };
  const wrong = await fetch(`${url}${rediscover}?waits=5`, { method: "POST", body: "{}", headers });
  assert.deepEqual(await named(wrong), [400, ["waits"]]);
});

test("rediscover-device checks its body, names an unknown device, and may wait", async (t) => {
  const snmp = fakeSnmp();
  const { url } = await startApi(t, { snmp });
  assert.equal((await postJson(url + rediscover, { ip: "2001:DB8::0", port: 161 })).status, 202);
  const waited = await postJson(`${url}${rediscover}?wait=5`, { ip: "192.0.2.1", port: 161 });
  assert.deepEqual([waited.status, waited.body], [200, { state: "done" }]);
  const unknown = await postJson(url + rediscover, { ip: "192.0.2.1", port: 1161 });
  assert.deepEqual([unknown.status, unknown.body["message"]], [404, "there is no device 192.0.2.1:1161"]);
  assert.deepEqual(snmp.calls, [
    { device: { ip: "2001:db8::", port: 161 }, seconds: undefined },
    { device: { ip: "192.0.2.1", port: 161 }, seconds: 5 },
    { device: { ip: "192.0.2.1", port: 1161 }, seconds: undefined },
  ]);
  const bad: readonly [string, RegExp][] = [
    ["{}", /ip must be a string/],
    ['{"ip":"192.0.2.1"}', /port must be an integer/],
    ['{"ip":"192.0.2.256","port":161}', /"192\.0\.2\.256" is not an IP address/],
    ['{"ip":"192.0.2.1","port":0}', /1 to 65535/],
    ['{"ip":"192.0.2.1","port":65536}', /1 to 65535/],
    ['{"ip":"192.0.2.1","port":"161"}', /1 to 65535/],
    ['{"ip":"192.0.2.1","port":161,"community":"x"}', /unknown field "community"/],
    ["[]", /must be an object/],
    ["{", /malformed JSON/],
    ["", /malformed JSON at line 1, column 1: expected a value, found the end/],
  ];
  for (const [body, expected] of bad) {
    const answer = await postJson(url + rediscover, body);
    assert.equal(answer.status, 400, body);
    assert.match(String(answer.body["message"]), expected);
  }
  assert.equal((await postJson(`${url}${rediscover}?wait=soon`, { ip: "192.0.2.1", port: 161 })).status, 400);
});

test("discover-networks passes its parameters on and says why it does not begin", async (t) => {
  const snmp = fakeSnmp();
  const { url } = await startApi(t, { snmp });
  const post = async (query: string, body?: string): Promise<[number, unknown, unknown]> => {
    const answer = await fetch(`${url}/api/v1/snmp/discover-networks${query}`, {
      method: "POST",
      ...(body && { body }),
    });
    const { code, message, ...report } = (await answer.json()) as Record<string, unknown>;
    return [answer.status, code ?? report, message];
  };
  assert.deepEqual(await post(""), [202, { new: [] }, undefined]);
  assert.deepEqual(await post("?dry_run=true&wait=5"), [200, { new: [] }, undefined]);
  assert.deepEqual(snmp.calls, [
    { isDryRun: false, networks: [], seconds: undefined },
    { isDryRun: true, networks: [], seconds: 5 },
  ]);
  assert.deepEqual((await post("?network=a&network=b")).slice(0, 2), [400, "invalid_argument"]);
  assert.deepEqual(snmp.calls.at(-1), { isDryRun: false, networks: ["a", "b"], seconds: undefined });
  assert.deepEqual(await post("?network=busy"), [400, "failed_precondition", "under way"]);
  assert.match(String((await post("?network=off"))[2]), /SVC_INPUT_SNMP_DISCOVERY_NETWORKS_PATH/);
  for (const query of ["?dry_run=yes", "?dry-run=true", "?wait=1000"]) assert.equal((await post(query))[0], 400, query);
  const withBody = await post("", '{"dry_run": true}');
  assert.match(String(withBody[2]), /dry_run is a query parameter/);
  assert.equal(snmp.calls.length, 5);
});

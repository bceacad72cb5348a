import assert from "node:assert/strict";
import { test } from "node:test";
import { ecsName, ecsNames, recordFields } from "../../src/record/index.ts";

test("names of ECS are of fields that there are, and no field becomes an object and a value at once", () => {
  const own = new Set(recordFields.map(({ name }) => name));
  const ofEnds = [...ecsNames.keys()].filter((name) => !/^flow\.(client|server)\./.test(name));
  assert.deepEqual(
    ofEnds.filter((name) => !own.has(name)),
    [],
  );
  const all = new Set([...own].map(ecsName));
  for (const name of all) {
    for (let dot = name.indexOf("."); dot > 0; dot = name.indexOf(".", dot + 1)) {
      assert.ok(!all.has(name.slice(0, dot)) || own.has(name.slice(0, dot)), `${name} is within ${name.slice(0, dot)}`);
    }
  }
  // A record can have a field whose own name is new for another.
  assert.deepEqual(
    [...ecsNames.values()].filter((name) => own.has(name) && !ecsNames.has(name)),
    [],
  );
  const types = new Map<string, string>();
  for (const { name, type } of recordFields) {
    assert.equal(type, types.get(ecsName(name)) ?? type, ecsName(name));
    types.set(ecsName(name), type);
  }
});

test("ends, the exporter and counters have the names that dashboards ask for", () => {
  for (const [own, ecs] of [
    ["flow.src.ip.addr", "source.ip"],
    ["flow.dst.geo.city.name", "destination.geo.city_name"],
    ["flow.server.l4.port.id", "server.port"],
    ["flow.client.as.org", "client.as.organization.name"],
    ["flow.export.host.name", "host.name"],
    ["flow.bytes", "network.bytes"],
    ["flow.in.netif.name", "observer.ingress.interface.name"],
    ["flow.src.ip.subnet.name", "flow.src.ip.subnet.name"],
  ] as const) {
    assert.equal(ecsName(own), ecs);
  }
});

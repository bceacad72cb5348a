import assert from "node:assert/strict";
import { test } from "node:test";
import { startSources } from "../metadata/sources/source-rig.ts";
import { cleanUp } from "../support/clean-up.ts";
import { startPartner } from "../support/partner.ts";

test("netbox: prefixes, ranges and addresses come with tenant, site, role, VLAN and tags, and follow what is changed", async (t) => {
  const partner = await startPartner(t, "netbox");
  const url = String(partner["url"]);
  const authorization = String(partner["authorization"]);
  const ask = async (method: string, path: string, body?: unknown): Promise<{ id: number }> => {
    const answer = await fetch(`${url}/api/${path}`, {
      method,
      // The server closes idle connections after two seconds.
      headers: { authorization, connection: "close", "content-type": "application/json", accept: "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    assert.ok(answer.ok, `${path}: ${answer.status} ${text}`);
    return (text === "" ? {} : JSON.parse(text)) as { id: number };
  };
  const site = await ask("POST", "dcim/sites/", { name: "AMS1", slug: "ams1" });
  const tenant = await ask("POST", "tenancy/tenants/", { name: "Shop", slug: "shop" });
  const role = await ask("POST", "ipam/roles/", { name: "Access", slug: "access" });
  const vlan = await ask("POST", "ipam/vlans/", { vid: 12, name: "lan" });
  const tag = await ask("POST", "extras/tags/", { name: "PCI DSS", slug: "pci-dss" });
  const prefix = await ask("POST", "ipam/prefixes/", {
    prefix: "10.0.0.0/16",
    description: "lan",
    tenant: tenant.id,
    scope_type: "dcim.site",
    scope_id: site.id,
    role: role.id,
    vlan: vlan.id,
    tags: [tag.id],
  });
  // More than one page.
  await ask(
    "POST",
    "ipam/prefixes/",
    Array.from({ length: 1200 }, (_, i) => ({ prefix: `10.${1 + (i >> 8)}.${i & 255}.0/24` })),
  );
  await ask("POST", "ipam/ip-addresses/", { address: "10.0.0.9/24", dns_name: "db.example.net" });
  await ask("POST", "ipam/ip-ranges/", {
    start_address: "10.0.1.1/24",
    end_address: "10.0.1.9/24",
    description: "pool",
  });

  const rig = await startSources(`- {kind: netbox, url: "${url}", token_env: TOKEN, timeout: 120s}`, {
    env: { TOKEN: authorization },
  });
  cleanUp(t, () => rig.stop());
  const first = await rig.run("netbox");
  assert.equal(first.run?.reason, undefined);
  assert.equal(first.entries, 1203);
  const found = (key: string): unknown => rig.entries("netbox").find((entry) => (entry as { key: string }).key === key);
  assert.deepEqual(found("10.0.0.0/16"), {
    key: "10.0.0.0/16",
    name: "lan",
    tags: ["pci-dss"],
    vlan: "12",
    metadata: { ".tenant.name": "Shop", ".site.name": "AMS1", ".role.name": "Access" },
  });
  assert.deepEqual(found("10.0.0.9"), { key: "10.0.0.9", name: "db.example.net" });
  assert.deepEqual(found("10.0.1.1-10.0.1.9"), { key: "10.0.1.1-10.0.1.9", name: "pool" });

  assert.equal((await rig.run("netbox")).run?.result, "unchanged");
  await ask("PATCH", `ipam/prefixes/${prefix.id}/`, { description: "office" });
  assert.deepEqual((await rig.run("netbox")).run?.changes, { added: 0, changed: 1, removed: 0, unchanged: 1202 });
  await ask("DELETE", `ipam/prefixes/${prefix.id}/`);
  assert.deepEqual((await rig.run("netbox")).run?.changes, { added: 0, changed: 0, removed: 1, unchanged: 1202 });

  const vrf = await ask("POST", "ipam/vrfs/", { name: "Customer Red", rd: "65000:17" });
  const acme = await ask("POST", "tenancy/tenants/", { name: "Acme", slug: "acme" });
  await ask("POST", "ipam/prefixes/", { prefix: "10.9.0.0/16", description: "red", vrf: vrf.id });
  await ask("POST", "ipam/ip-addresses/", { address: "10.9.0.9/16", dns_name: "acme.example.net", tenant: acme.id });
  const columns =
    "{vrf.name: {to: scope, values: {Customer Red: red}, optional: true}, tenant.slug: [metadata:tenant]}";
  const tenants = '{tenant.slug: {to: scope, values: {shop: ""}, optional: true}}';
  const scoped = await startSources(
    `- {name: vrfs, kind: netbox, url: "${url}", token_env: TOKEN, timeout: 120s, map: {ready: netbox, columns: ${columns}}}\n` +
      `- {name: tenants, kind: netbox, url: "${url}", token_env: TOKEN, timeout: 120s, map: {ready: netbox, columns: ${tenants}}}`,
    { env: { TOKEN: authorization }, scopes: "red: {match: [{vrf: '65000:17'}]}\nacme: {}\n" },
  );
  cleanUp(t, () => scoped.stop());
  const vrfs = await scoped.run("vrfs");
  assert.deepEqual([vrfs.run?.reason, vrfs.run?.faults, vrfs.run?.missingScopes], [undefined, [], undefined]);
  assert.deepEqual(scoped.entries("vrfs", "red"), [
    { key: "10.9.0.0/16", name: "red", metadata: { ".vrf.name": "Customer Red" } },
  ]);
  await scoped.run("tenants");
  assert.deepEqual(
    scoped.entries("tenants", "acme").map((entry) => (entry as { key: string }).key),
    ["10.9.0.9"],
  );
  assert.deepEqual(scoped.entries("tenants", "red"), []);

  const stranger = await startSources(`- {kind: netbox, url: "${url}", token_env: TOKEN}`, {
    env: { TOKEN: "Bearer nbt_no.thing" },
  });
  cleanUp(t, () => stranger.stop());
  assert.match((await stranger.run("netbox")).run?.reason ?? "", /answers 40[13]: are the credentials right/);
});

import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { suite, test } from "node:test";
import { allTests, cleanUp } from "../../support/clean-up.ts";
import { tempDirectory } from "../../support/temp-directory.ts";
import { startSources, startStandIn, type Rig, type RigOptions, type StandIn } from "./source-rig.ts";

const all = allTests();

async function standIn(answer: StandIn["answer"]): Promise<StandIn> {
  const server = await startStandIn(answer);
  cleanUp(all, () => server.close());
  return server;
}

async function sourceAt(yaml: string, options?: RigOptions): Promise<Rig> {
  const rig = await startSources(yaml, options);
  cleanUp(all, () => rig.stop());
  return rig;
}

/** Entries of one run that must be good. */
async function entriesOf(yaml: string, options?: RigOptions): Promise<unknown[]> {
  const rig = await sourceAt(yaml, options);
  const { name } = rig.sources.states()[0] ?? { name: "" };
  const { run } = await rig.run(name);
  assert.equal(run?.result, "updated", run?.reason);
  assert.deepEqual(run?.faults, []);
  return rig.entries(name);
}

async function fileOf(text: string): Promise<string> {
  const directory = tempDirectory(all);
  const path = join(directory, "file");
  await writeFile(path, text);
  return path;
}

const json = (value: unknown): Promise<string> => fileOf(JSON.stringify(value));

suite("NetBox", () => {
  interface Thing {
    readonly id: number;
    readonly last_updated: string;
    readonly [name: string]: unknown;
  }

  /** Lists as NetBox answers them. */
  const netbox = (lists: Readonly<Record<string, () => Thing[]>>, mostOnAPage = 2): StandIn["answer"] =>
    function answer(_, url, response) {
      const list = lists[url.pathname];
      if (list === undefined) {
        response.statusCode = 404;
        return {};
      }
      const since = url.searchParams.get("last_updated__gte") ?? "";
      const found = list().filter((thing) => thing.last_updated >= since);
      const offset = Number(url.searchParams.get("offset") ?? 0);
      const limit = Math.min(Number(url.searchParams.get("limit")), mostOnAPage);
      const next = offset + limit < found.length ? "http://elsewhere/next" : null;
      return { count: found.length, next, previous: null, results: found.slice(offset, offset + limit) };
    };

  const thing = (id: number, updated: string, rest: Readonly<Record<string, unknown>>): Thing => ({
    id,
    last_updated: `2026-01-01T00:00:${updated}Z`,
    ...rest,
  });

  test("gives prefixes, addresses and ranges with what belongs to them, page by page", async () => {
    const server = await standIn(
      netbox({
        "/api/ipam/prefixes/": () => [
          thing(1, "01", {
            prefix: "10.0.0.0/16",
            vrf: null,
            tenant: { id: 1, name: "Shop", slug: "shop" },
            scope: { id: 4, name: "AMS1" },
            role: { name: "Access" },
            vlan: { vid: 12, name: "lan" },
            tags: [{ name: "PCI", slug: "pci" }],
            description: "lan",
          }),
          thing(2, "02", { prefix: "10.1.0.0/16", tags: [], description: "" }),
          thing(3, "03", { prefix: "2001:db8::/32", tags: [] }),
        ],
        "/api/ipam/ip-addresses/": () => [
          thing(1, "01", { address: "10.0.0.9/24", dns_name: "db.example.net", tags: [] }),
        ],
        "/api/ipam/ip-ranges/": () => [
          thing(1, "01", { start_address: "10.2.0.1/24", end_address: "10.2.0.9/24", description: "pool" }),
        ],
      }),
    );
    const entries = await entriesOf(`- {kind: netbox, url: "${server.url}", token_env: T, filter: [status=active]}`, {
      env: { T: "0123" },
    });
    assert.deepEqual(entries, [
      {
        key: "10.0.0.0/16",
        name: "lan",
        tags: ["pci"],
        vlan: "12",
        metadata: { ".tenant.name": "Shop", ".site.name": "AMS1", ".role.name": "Access" },
      },
      { key: "10.0.0.9", name: "db.example.net" },
      { key: "10.1.0.0/16" },
      { key: "10.2.0.1-10.2.0.9", name: "pool" },
      { key: "2001:db8::/32" },
    ]);
    assert.equal(server.requests[0]?.headers.authorization, "Token 0123");
    assert.match(
      server.requests[0]?.url ?? "",
      /^\/api\/ipam\/prefixes\/\?status=active&ordering=id&limit=1000&offset=0$/,
    );
    assert.equal(server.requests.length, 4, "prefixes have two pages");
  });

  test("asks for what was updated since, and reads all when something has gone", async () => {
    let prefixes = [1, 2, 3].map((id) => thing(id, `0${id}`, { prefix: `10.${id}.0.0/16`, description: "a" }));
    const server = await standIn(netbox({ "/api/ipam/prefixes/": () => prefixes }, 100));
    const rig = await sourceAt(`- {kind: netbox, url: "${server.url}", objects: prefixes, guard: {max_shrink: 100%}}`);
    const names = (): unknown[] => rig.entries("netbox").map((entry) => (entry as { name: string }).name);
    await rig.run("netbox");
    const runs = async (): Promise<string[]> => {
      server.requests.length = 0;
      await rig.run("netbox");
      return server.requests.map(({ url }) => url.replace("/api/ipam/prefixes/?", ""));
    };
    const since = "last_updated__gte=2026-01-01T00%3A00%3A03Z&ordering=id&limit=1000&offset=0";
    assert.deepEqual(await runs(), ["limit=1&fields=id", since]);
    assert.equal(rig.sources.states()[0]?.run?.result, "unchanged");
    prefixes = [
      ...prefixes.slice(0, 2),
      thing(3, "07", { prefix: "10.3.0.0/16", description: "b" }),
      thing(4, "08", { prefix: "10.4.0.0/16" }),
    ];
    assert.deepEqual(await runs(), ["limit=1&fields=id", since]);
    assert.deepEqual(names(), ["a", "a", "b", undefined]);
    prefixes = prefixes.slice(1);
    assert.equal((await runs()).length, 3);
    assert.deepEqual(names(), ["a", "b", undefined]);
    rig.now += 7 * 3_600_000;
    assert.deepEqual(await runs(), ["ordering=id&limit=1000&offset=0"], "tenants and sites may have other names");
  });

  test("takes no part of a list for the whole", async () => {
    let isShort = false;
    const server = await standIn((_, url) => {
      const offset = Number(url.searchParams.get("offset"));
      if (offset > 0)
        return { count: 3, next: null, results: isShort ? [] : [{ id: 3, last_updated: "b", prefix: "10.3.0.0/16" }] };
      const results = [1, 2].map((id) => ({ id, last_updated: "a", prefix: `10.${id}.0.0/16` }));
      return { count: 3, next: "more", results };
    });
    const rig = await sourceAt(`- {kind: netbox, url: "${server.url}", objects: prefixes}`);
    await rig.run("netbox");
    isShort = true;
    rig.now += 7 * 3_600_000;
    const { run } = await rig.run("netbox");
    assert.match(run?.reason ?? "", /NetBox gave 2 of 3 objects/);
    assert.equal(rig.entries("netbox").length, 3);
    server.answer = () => ({ hello: "world" });
    assert.match((await rig.run("netbox")).run?.reason ?? "", /is the url that of NetBox itself/);
  });
});

suite("phpIPAM", () => {
  const data: Readonly<Record<string, unknown>> = {
    "/api/app/vlan/": [{ vlanId: "3", number: "30", name: "lan" }],
    "/api/app/sections/": [{ id: "1", name: "Customers" }],
    "/api/app/subnets/": [
      { id: "7", subnet: "10.0.0.0", mask: "24", sectionId: "1", vlanId: "3", description: "lan", isFolder: "0" },
      { id: "8", subnet: "", mask: "", sectionId: "1", description: "a folder", isFolder: "1" },
    ],
    "/api/app/addresses/": [{ ip: "10.0.0.9", hostname: "db", description: "x", owner: "Shop" }],
  };
  const phpipam: StandIn["answer"] = (request, url, response) => {
    if (url.pathname === "/api/app/user/" && request.method === "POST") {
      const good = request.headers.authorization === `Basic ${Buffer.from("u:p").toString("base64")}`;
      response.statusCode = good ? 200 : 500;
      return good
        ? { code: 200, success: true, data: { token: "session" } }
        : { code: 500, success: 0, message: "Invalid username or password" };
    }
    if (request.headers["token"] !== "session" && request.headers["token"] !== "code") {
      response.statusCode = 403;
      return { code: 403, success: 0, message: "Invalid token" };
    }
    const list = data[url.pathname];
    if (list !== undefined) return { code: 200, success: true, data: list, time: 0.01 };
    response.statusCode = 404;
    return { code: 404, success: 0, message: "No vlans configured or not found" };
  };
  const expected = [
    { key: "10.0.0.0/24", name: "lan", vlan: "30", metadata: { ".section.name": "Customers" } },
    { key: "10.0.0.9", name: "db", metadata: { ".owner.name": "Shop" } },
  ];

  test("gives subnets and addresses, by session or code token", async () => {
    const server = await standIn(phpipam);
    const env = { P: "p", T: "code" };
    assert.deepEqual(
      await entriesOf(`- {kind: phpipam, url: "${server.url}/api/app/", username: u, password_env: P}`, { env }),
      expected,
    );
    assert.deepEqual(
      await entriesOf(`- {kind: phpipam, url: "${server.url}/api/app", token_env: T}`, { env }),
      expected,
    );
  });

  test("says when it refuses, when a page is missing, and when it wants patience", async () => {
    const server = await standIn(phpipam);
    const rig = await sourceAt(`- {kind: phpipam, url: "${server.url}/api/app", token_env: T, objects: subnets}`, {
      env: { T: "code" },
    });
    await rig.run("phpipam");
    let patience = 1;
    server.answer = (request, url, response) => {
      if (patience-- > 0) {
        response.statusCode = 429;
        response.setHeader("retry-after", "1");
        return {};
      }
      return phpipam(request, url, response);
    };
    assert.equal((await rig.run("phpipam")).run?.result, "unchanged");
    server.answer = (request, url, response) =>
      url.pathname.endsWith("/subnets/")
        ? { code: 500, success: 0, message: "Database error" }
        : phpipam(request, url, response);
    assert.match((await rig.run("phpipam")).run?.reason ?? "", /no data: Database error/);
    server.answer = (_, __, response) => {
      response.statusCode = 403;
      return {};
    };
    assert.match((await rig.run("phpipam")).run?.reason ?? "", /answers 403: are the credentials right/);
    assert.equal(rig.entries("phpipam").length, 1);
  });
});

suite("Infoblox", () => {
  const pages: Readonly<Record<string, unknown>> = {
    network: {
      next_page_id: "page two",
      result: [
        {
          network: "10.0.0.0/24",
          comment: "lan",
          network_view: "default",
          extattrs: { Site: { value: "AMS1" }, VLAN: { value: 12 } },
        },
      ],
    },
    "page two": { result: [{ network: "10.0.1.0/24", network_view: "lab", extattrs: {} }] },
    ipv6network: { result: [] },
    range: { result: [{ start_addr: "10.0.0.10", end_addr: "10.0.0.20", name: "pool", network_view: "default" }] },
    fixedaddress: { result: [{ ipv4addr: "10.0.0.5", name: "printer", network_view: "default" }] },
    "record:host": {
      result: [
        { name: "db.example.net", ipv4addrs: [{ ipv4addr: "10.0.0.9" }], ipv6addrs: [{ ipv6addr: "2001:db8::9" }] },
      ],
    },
  };
  const wapi: StandIn["answer"] = (_, url) => {
    const type = decodeURIComponent(url.pathname.split("/").at(-1) ?? "");
    return pages[url.searchParams.get("_page_id") ?? type];
  };

  test("gives networks, ranges, fixed addresses and hosts, page by page", async () => {
    const server = await standIn(wapi);
    const yaml = `- {kind: infoblox, url: "${server.url}/wapi/v2.12", username: u, password_env: P}`;
    assert.deepEqual(await entriesOf(yaml, { env: { P: "p" } }), [
      { key: "10.0.0.0/24", name: "lan", vlan: "12", metadata: { ".site.name": "AMS1" } },
      { key: "10.0.0.5", name: "printer" },
      { key: "10.0.0.9", name: "db.example.net" },
      { key: "10.0.0.10-10.0.0.20", name: "pool" },
      { key: "10.0.1.0/24", metadata: { ".network.view": "lab" } },
      { key: "2001:db8::9", name: "db.example.net" },
    ]);
    assert.match(server.requests[0]?.url ?? "", /_paging=1&_max_results=1000/);
  });

  test("takes nothing when a page is refused", async () => {
    const server = await standIn(wapi);
    const rig = await sourceAt(`- {kind: infoblox, url: "${server.url}/wapi/v2.12", objects: network}`);
    await rig.run("infoblox");
    server.answer = (request, url, response) => {
      if (!url.searchParams.has("_page_id")) return wapi(request, url, response);
      response.statusCode = 400;
      return { Error: "AdmConProtoError", text: "the page has expired" };
    };
    assert.match((await rig.run("infoblox")).run?.reason ?? "", /answers 400/);
    assert.equal(rig.entries("infoblox").length, 2);
  });
});

suite("ranges of clouds", () => {
  test("AWS: the more specific of two services, and a choice", async () => {
    const path = await json({
      syncToken: "1",
      prefixes: [
        { ip_prefix: "192.0.2.0/24", region: "eu-west-1", service: "AMAZON" },
        { ip_prefix: "192.0.2.0/24", region: "eu-west-1", service: "S3" },
        { ip_prefix: "198.51.100.0/24", region: "us-east-1", service: "AMAZON" },
      ],
      ipv6_prefixes: [{ ipv6_prefix: "2001:db8::/32", region: "eu-west-1", service: "EC2" }],
    });
    const entry = (key: string, service: string, region: string): unknown => ({
      key,
      tags: ["cloud", "aws-too"],
      metadata: { ".cloud.provider": "aws", ".cloud.region": region, ".cloud.service.name": service },
    });
    const sorted = (entries: unknown[]): unknown[] =>
      entries.map((one) => {
        const { metadata, ...rest } = one as { metadata: Record<string, string> };
        return {
          ...rest,
          metadata: Object.fromEntries(Object.entries(metadata).toSorted(([a], [b]) => (a < b ? -1 : 1))),
        };
      });
    assert.deepEqual(sorted(await entriesOf(`- {kind: aws, path: "${path}", defaults: {tags: aws-too}}`)), [
      entry("192.0.2.0/24", "S3", "eu-west-1"),
      entry("198.51.100.0/24", "AMAZON", "us-east-1"),
      entry("2001:db8::/32", "EC2", "eu-west-1"),
    ]);
    assert.equal((await entriesOf(`- {kind: aws, path: "${path}", regions: [us-east-1]}`)).length, 1);
  });

  test("Azure, Google, Cloudflare, GitHub", async () => {
    const rows = async (kind: string, path: string): Promise<unknown[]> =>
      (await entriesOf(`- {kind: ${kind}, path: "${path}"}`)).map((one) => {
        const { key, metadata } = one as { key: string; metadata: Record<string, string> };
        return [key, metadata[".cloud.provider"], metadata[".cloud.service.name"], metadata[".cloud.region"]];
      });
    const azure = await json({
      values: [
        {
          name: "AzureCloud",
          properties: { region: "", systemService: "", addressPrefixes: ["192.0.2.0/25", "192.0.2.128/25"] },
        },
        {
          name: "Storage.WestEurope",
          properties: { region: "westeurope", systemService: "AzureStorage", addressPrefixes: ["192.0.2.0/25"] },
        },
      ],
    });
    assert.deepEqual(await rows("azure", azure), [
      ["192.0.2.0/25", "azure", "AzureStorage", "westeurope"],
      ["192.0.2.128/25", "azure", "AzureCloud", undefined],
    ]);
    const gcp = await json({
      prefixes: [
        { ipv4Prefix: "192.0.2.0/24", service: "Google Cloud", scope: "europe-west1" },
        { ipv6Prefix: "2001:db8::/44", service: "Google Cloud", scope: "global" },
      ],
    });
    assert.deepEqual(await rows("gcp", gcp), [
      ["192.0.2.0/24", "gcp", "Google Cloud", "europe-west1"],
      ["2001:db8::/44", "gcp", "Google Cloud", "global"],
    ]);
    const none = [undefined, undefined];
    const cloudflare = await json({
      result: { ipv4_cidrs: ["192.0.2.0/24"], ipv6_cidrs: ["2001:db8::/32"] },
      success: true,
    });
    assert.deepEqual(await rows("cloudflare", cloudflare), [
      ["192.0.2.0/24", "cloudflare", ...none],
      ["2001:db8::/32", "cloudflare", ...none],
    ]);
    assert.equal((await rows("cloudflare", await fileOf("192.0.2.0/24\n198.51.100.0/24\n"))).length, 2);
    const github = await json({
      verifiable_password_authentication: false,
      ssh_keys: ["ssh-ed25519 AAAA"],
      hooks: ["192.0.2.0/24"],
      domains: { website: ["*.example.com"] },
      git: ["2001:db8::/32"],
    });
    assert.deepEqual(await rows("github", github), [
      ["192.0.2.0/24", "github", "hooks", undefined],
      ["2001:db8::/32", "github", "git", undefined],
    ]);
  });

  test("a document of something else is refused", async () => {
    for (const kind of ["aws", "azure", "gcp", "cloudflare", "github"]) {
      const rig = await sourceAt(`- {kind: ${kind}, path: "${await json({ hello: 1 })}"}`);
      assert.match((await rig.run(kind)).run?.reason ?? "", /this is not the list of ranges/);
    }
  });
});

test("a block list: comments, ranges, columns, and the name of the threat", async () => {
  const path = await fileOf(
    "# a list\n192.0.2.1\n192.0.2.0/28 ; SBL1\n\n198.51.100.1 - 198.51.100.9\n203.0.113.5,scanner,3\n// end\n192.0.2.1 # again\n",
  );
  assert.deepEqual(await entriesOf(`- {kind: list, name: drop, path: "${path}", threat: Spam}`), [
    { key: "192.0.2.0/28", metadata: { "sec.threat.name": "Spam" } },
    { key: "192.0.2.1", metadata: { "sec.threat.name": "Spam" } },
    { key: "198.51.100.1-198.51.100.9", metadata: { "sec.threat.name": "Spam" } },
    { key: "203.0.113.5", metadata: { "sec.threat.name": "Spam" } },
  ]);
});

suite("Kubernetes", () => {
  const pod = (name: string, ips: string[], more: Readonly<Record<string, unknown>> = {}): unknown => ({
    metadata: { name, namespace: "shop", labels: { app: "web" } },
    spec: { nodeName: "n1", ...more },
    status: { phase: "Running", podIP: ips[0], podIPs: ips.map((ip) => ({ ip })) },
  });
  const service = {
    metadata: { name: "web", namespace: "shop" },
    spec: { clusterIP: "10.96.0.9", clusterIPs: ["10.96.0.9"] },
    status: { loadBalancer: { ingress: [{ ip: "192.0.2.80" }] } },
  };
  const headless = {
    metadata: { name: "db", namespace: "shop" },
    spec: { clusterIP: "None", clusterIPs: ["None"] },
    status: {},
  };
  let expires = 0;
  const api: StandIn["answer"] = (_, url, response) => {
    if (url.pathname === "/api/v1/services") return { kind: "ServiceList", metadata: {}, items: [service, headless] };
    if (url.searchParams.get("continue") !== "next/1")
      return { kind: "PodList", metadata: { continue: "next/1" }, items: [pod("a", ["10.1.0.1", "2001:db8::1"])] };
    if (expires-- > 0) {
      response.statusCode = 410;
      return { kind: "Status", code: 410, reason: "Expired" };
    }
    return {
      kind: "PodList",
      metadata: {},
      items: [pod("b", ["10.1.0.2"]), pod("node", ["10.9.0.1"], { hostNetwork: true })],
    };
  };

  test("gives pods and services in chunks, and begins again when a list has expired", async () => {
    const server = await standIn(api);
    expires = 1;
    const yaml = `- {kind: kubernetes, name: k8s, url: "${server.url}", token_env: T, labels: [app]}`;
    const found = await entriesOf(yaml, { env: { T: "t" } });
    const inPod = (key: string, name: string): unknown => ({
      key,
      name,
      tags: ["app=web"],
      metadata: { ".k8s.namespace.name": "shop", ".k8s.pod.name": name, ".k8s.node.name": "n1" },
    });
    const ofService = (key: string): unknown => ({
      key,
      name: "web",
      metadata: { ".k8s.namespace.name": "shop", ".k8s.service.name": "web" },
    });
    assert.deepEqual(found, [
      inPod("10.1.0.1", "a"),
      inPod("10.1.0.2", "b"),
      ofService("10.96.0.9"),
      ofService("192.0.2.80"),
      inPod("2001:db8::1", "a"),
    ]);
    assert.equal(server.requests[0]?.headers.authorization, "Bearer t");
    expires = 2;
    const rig = await sourceAt(yaml, { env: { T: "t" } });
    assert.match((await rig.run("k8s")).run?.reason ?? "", /changes faster than it can be read/);
  });
});

suite("DHCP leases", () => {
  const now = Date.parse("2026-03-01T12:00:00Z") / 1000;

  test("of Kea: later lines count, leases that ended or were given back do not", async () => {
    const head =
      "address,hwaddr,client_id,valid_lifetime,expire,subnet_id,fqdn_fwd,fqdn_rev,hostname,state,user_context,pool_id\n";
    const line = (address: string, lifetime: number, expire: number, name: string, state = 0): string =>
      `${address},00:00:5e:00:53:01,,${lifetime},${expire},1,0,0,${name},${state},,0\n`;
    const path = await fileOf(
      head +
        line("10.0.0.1", 3600, now + 60, "old") +
        line("10.0.0.1", 3600, now + 600, "pc1.example.net.") +
        line("10.0.0.2", 3600, now - 1, "gone") +
        line("10.0.0.3", 3600, now + 60, "declined", 1) +
        line("10.0.0.4", 3600, now + 60, "back") +
        line("10.0.0.4", 0, now, "back") +
        line("10.0.0.5", 4294967295, now - 9, "for&#x2cever").replace(",,0\n", ',{ "ISC": { "client-id": "01" } },0\n'),
    );
    const entry = (key: string, name: string): unknown => ({
      key,
      name,
      tags: ["dhcp"],
      metadata: { ".mac.addr": "00:00:5e:00:53:01" },
    });
    const rig = await sourceAt(`- {kind: kea, path: "${path}"}`);
    await rig.run("kea");
    assert.deepEqual(rig.entries("kea"), [entry("10.0.0.1", "pc1.example.net"), entry("10.0.0.5", "for,ever")]);
    rig.now += 601_000;
    await rig.run("kea");
    assert.deepEqual(
      rig.entries("kea"),
      [entry("10.0.0.5", "for,ever")],
      "a lease ends though the file stays as it is",
    );
    const six =
      "address,duid,valid_lifetime,expire,subnet_id,pref_lifetime,lease_type,iaid,prefix_len,fqdn_fwd,fqdn_rev,hostname,hwaddr,state\n";
    const prefix = `2001:db8:1::,01:02,3600,${now + 60},1,1800,2,7,48,0,0,,,0\n`;
    assert.deepEqual(await entriesOf(`- {kind: kea, path: "${await fileOf(six + prefix)}"}`), [
      { key: "2001:db8:1::/48", tags: ["dhcp"] },
    ]);
  });

  test("of ISC dhcpd: the last declaration counts, if its lease is active", async () => {
    const lease = (address: string, ends: string, state: string, name = ""): string =>
      `lease ${address} {\n  starts 0 2026/03/01 10:00:00;\n  ends ${ends};\n  binding state ${state};\n  next binding state free;\n  hardware ethernet 00:00:5e:00:53:02;\n${name === "" ? "" : `  client-hostname "${name}";\n`}}\n`;
    const path = await fileOf(
      "# a lease file\nauthoring-byte-order little-endian;\n" +
        lease("10.0.0.1", "0 2026/03/01 11:00:00", "active", "early") +
        lease("10.0.0.1", "0 2026/03/01 13:00:00", "active", "pc{1}") +
        lease("10.0.0.2", "0 2026/03/01 11:59:59", "active") +
        lease("10.0.0.3", "never", "active", "printer") +
        lease("10.0.0.4", "0 2026/03/01 13:00:00", "free"),
    );
    const entry = (key: string, name: string): unknown => ({
      key,
      name,
      tags: ["dhcp"],
      metadata: { ".mac.addr": "00:00:5e:00:53:02" },
    });
    assert.deepEqual(await entriesOf(`- {kind: isc-dhcp, path: "${path}"}`), [
      entry("10.0.0.1", "pc?1?"),
      entry("10.0.0.3", "printer"),
    ]);
  });

  test("of dnsmasq", async () => {
    const text = `${now + 60} 00:00:5e:00:53:03 10.0.0.1 pc1 01:00\n${now - 60} 00:00:5e:00:53:04 10.0.0.2 pc2 *\n0 00:00:5e:00:53:05 10.0.0.3 * *\nduid 00:01\n${now + 60} 12345 2001:db8::7 pc1 00:01\n`;
    assert.deepEqual(await entriesOf(`- {kind: dnsmasq, path: "${await fileOf(text)}"}`), [
      { key: "10.0.0.1", name: "pc1", tags: ["dhcp"], metadata: { ".mac.addr": "00:00:5e:00:53:03" } },
      { key: "10.0.0.3", tags: ["dhcp"], metadata: { ".mac.addr": "00:00:5e:00:53:05" } },
      { key: "2001:db8::7", name: "pc1", tags: ["dhcp"] },
    ]);
  });
});

test("a CSV with a column map, a selection of JSON, and YAML in the form of the metadata file", async () => {
  const csv = await fileOf("Net;Who\n10.0.0.0/8;Shop\n");
  const map = "map: {columns: {Net: key, Who: 'metadata:tenant'}}";
  assert.deepEqual(await entriesOf(`- {kind: csv, path: "${csv}", ${map}, defaults: {internal: true}}`), [
    { key: "10.0.0.0/8", internal: true, metadata: { tenant: "Shop" } },
  ]);
  const deep = await json({ a: { b: [{ key: "10.0.0.1" }] } });
  assert.deepEqual(await entriesOf(`- {kind: json, path: "${deep}", select: a.b}`), [{ key: "10.0.0.1" }]);
  const long = await json({ text: `${"a".repeat(200)}!` });
  const endless = `- {kind: json, path: "${long}", select: '$match(text, /^(a+)+$/)'}`;
  await assert.rejects(entriesOf(endless, { selections: { timeout: 2_000 } }), /the selection did not end within 2 s/);
  const yaml = await fileOf("10.0.0.2: {name: x}\n");
  assert.deepEqual(await entriesOf(`- {kind: yaml, path: "${yaml}"}`), [{ key: "10.0.0.2", name: "x" }]);
});

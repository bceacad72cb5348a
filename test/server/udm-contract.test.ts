// Every method over every transport does the same.
import { suite, test } from "node:test";
import { createMemoryStore } from "../support/memory-store.ts";
import { NameService, type ApiServerOptions } from "../../src/server/index.ts";
import { allTests, cleanUp } from "../support/clean-up.ts";
import { selfSignedFiles } from "../support/self-signed.ts";
import { startApi } from "./api-fixture.ts";
import { clientKinds, createUdmClient, type ClientKind } from "./udm-clients.ts";
import { contractCases } from "./udm-contract-cases.ts";

const scopePath = "/api/v1/enrich/ipaddr/scopes/acme";
const ways: readonly { name: string; tls: boolean; prefix: string; isOfNames?: boolean }[] = [
  { name: "of names", tls: false, prefix: "/api/v1/enrich/ipaddr", isOfNames: true },
  { name: "in a scope", tls: false, prefix: scopePath },
  { name: "in clear at the contract's path", tls: false, prefix: "/api/v1/enrich/ipaddr" },
  { name: "in clear at the root", tls: false, prefix: "" },
  { name: "by TLS at the contract's path", tls: true, prefix: "/api/v1/enrich/ipaddr" },
];

for (const { name, tls, prefix, isOfNames = false } of ways) {
  for (const kind of clientKinds) {
    suite(`${kind} ${name}`, { concurrency: true }, () => contract(kind, tls, prefix, isOfNames));
  }
}

/** A server of which only a scope has the store. */
function inScopeOnly(options: Parameters<typeof startApi>[1] = {}): Parameters<typeof startApi>[1] {
  const store = createMemoryStore();
  const global = createMemoryStore();
  global.breakState("not in the scope");
  return {
    store,
    udm: global,
    scopes: (name) =>
      name === "acme" ? ((options.udm ?? store) as ReturnType<NonNullable<ApiServerOptions["scopes"]>>) : undefined,
  };
}

/** A server whose only store that can be used is that of names. */
function ofNamesOnly(options: Parameters<typeof startApi>[1] = {}): Parameters<typeof startApi>[1] {
  const { store, udm, scopes } = inScopeOnly(options) ?? {};
  return { ...(store && { store }), ...(udm && { udm }), names: scopes?.("acme") };
}

function contract(kind: ClientKind, tls: boolean, prefix: string, isOfNames: boolean): void {
  const files = tls ? selfSignedFiles(allTests()) : undefined;
  for (const { title, run, options } of contractCases) {
    test(title, async (t) => {
      const api = await startApi(t, {
        ...options,
        ...(files === undefined ? {} : { tls: files }),
        ...(prefix === scopePath && inScopeOnly(options)),
        ...(isOfNames && ofNamesOnly(options)),
      });
      const client = createUdmClient(kind, {
        port: api.port,
        ca: files?.cert,
        prefix,
        ...(isOfNames && { service: NameService }),
      });
      cleanUp(t, () => client.close());
      await run((method, request) => client.call(method, request), api);
    });
  }
}

import type { TestContext } from "node:test";
import { startFaultProxy, type FaultProxy } from "../../output/delivery/fault-proxy.ts";

const pattern = /"flow\.bytes":([0-9]+)/g;

/** Calls back with the number of each line of a text. */
export function visitNumbers(text: string, visit: (n: number) => void): void {
  for (const [, n] of text.matchAll(pattern)) visit(Number(n));
}

/** A proxy before a server. @param url of the server */
export function proxied(t: TestContext, url: unknown): Promise<FaultProxy> {
  const { hostname, port } = new URL(String(url));
  return startFaultProxy(t, hostname, Number(port));
}

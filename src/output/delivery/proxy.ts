import { Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent, type AgentOptions } from "node:https";
import { HttpProxyAgent } from "http-proxy-agent";
import { HttpsProxyAgent } from "https-proxy-agent";
import { getProxyForUrl } from "proxy-from-env";

/**
 * Connections to one place, kept for the next request. They go through the proxy that `HTTP_PROXY`, `HTTPS_PROXY` and
 * `NO_PROXY` name for it, in upper or lower case.
 */
export function agentFor(url: string, options: AgentOptions): HttpAgent {
  const shared = { ...options, keepAlive: true };
  const proxy = getProxyForUrl(url);
  const isTls = url.startsWith("https:");
  if (proxy !== "") {
    return isTls ? new HttpsProxyAgent(proxy, shared) : new HttpProxyAgent(proxy, shared);
  }
  return isTls ? new HttpsAgent(shared) : new HttpAgent(shared);
}

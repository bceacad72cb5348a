import type { Protocol } from "../protocol.ts";
import type { Domain } from "./domain.ts";

/**
 * Returns the id of the domain that has templates of options alone. Cisco's IOS XE sends samplers, interfaces and applications with
 * a Source ID of their own, and flows with others.
 *
 * @returns undefined where no domain of the protocol is like that, or several are: nothing says which domains they are for.
 */
export function optionsOnly(domains: Iterable<Domain>, protocol: Protocol): number | undefined {
  const withOptions = new Set<number>();
  const withFlows = new Set<number>();
  for (const domain of domains) {
    if (domain.protocol !== protocol || !domain.isHeard) continue;
    // Flows may come from one of the ports of a domain, and options from another.
    if (!domain.options.isEmpty()) withOptions.add(domain.id);
    if (!withFlows.has(domain.id) && hasFlowTemplate(domain)) withFlows.add(domain.id);
  }
  const [only, another] = [...withOptions].filter((id) => !withFlows.has(id));
  return another === undefined ? only : undefined;
}

/** Whether a domain has a template that is not one of options. */
export function hasFlowTemplate({ templates }: Domain): boolean {
  for (const { plan } of templates.values()) if (plan.template.scopeCount === undefined) return true;
  return false;
}

import type { DomainOptions } from "./options/domain-options.ts";
import type { Protocol } from "../protocol.ts";
import type { Domain } from "./domain.ts";

/**
 * What a domain said that has templates of options alone. Cisco's IOS XE sends samplers, interfaces and applications with
 * a Source ID of their own, and flows with others.
 *
 * @returns undefined where no domain of the protocol is like that, or several are: nothing says which domains they are for.
 */
export function optionsOnly(domains: Iterable<Domain>, protocol: Protocol): DomainOptions | undefined {
  const withOptions = new Set<DomainOptions>();
  const withFlows = new Set<DomainOptions>();
  for (const domain of domains) {
    if (domain.protocol !== protocol || !domain.isHeard || domain.options.isEmpty()) continue;
    // The ports of a domain share their options, and flows may come from one of them alone.
    if (hasFlowTemplate(domain)) withFlows.add(domain.options);
    else withOptions.add(domain.options);
  }
  let only: DomainOptions | undefined;
  for (const options of withOptions) {
    if (withFlows.has(options)) continue;
    if (only !== undefined) return undefined;
    only = options;
  }
  return only;
}

function hasFlowTemplate({ templates }: Domain): boolean {
  for (const { plan } of templates.values()) if (plan.template.scopeCount === undefined) return true;
  return false;
}

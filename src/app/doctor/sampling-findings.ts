import type { DomainView, ExporterView } from "../../flow/index.ts";
import { type Diagnosis, type Severity, exporterText, count, list } from "./diagnosis.ts";
import type { Facts } from "./facts.ts";

const rateSetting = "SVC_PROCESSOR_ENRICH_SAMPLERATE_USERDEF";

/** Finds sampling rates that are unknown or contradictory. */
export function samplingFindings(exporter: ExporterView, facts: Facts): Diagnosis[] {
  const called = exporterText(exporter.address, facts);
  return [...conflicts(exporter, called), ...overridden(exporter, called), ...unknown(exporter, called)];
}

function unknown({ address, domains, manualRate, fallbackRate, records }: ExporterView, called: string): Diagnosis[] {
  // Without flows there are no wrong counts.
  if (records === 0) return [];
  if (manualRate !== undefined || fallbackRate !== undefined) return [];
  if (domains.some(({ sampling }) => sampling.length > 0)) return [];
  const flows = domains.flatMap(({ id, templates }) =>
    templates
      .filter(({ kind }) => kind === "flows")
      .map((template) => ({ domain: id, template: template.id, sampling: template.sampling })),
  );
  const silent = flows.filter(({ sampling }) => sampling !== "rate");
  if (silent.length === 0) return [];
  const naming = silent.filter(({ sampling }) => sampling === "sampler");
  const evidence = {
    templates: silent.map(({ domain, template, sampling }) => ({ domain, template, sampling: sampling ?? "none" })),
    optionsTemplates: domains.flatMap(({ templates }) => templates.filter(({ kind }) => kind === "options")).length,
  };
  if (naming.length > 0) {
    return [
      {
        id: "sampler-unknown",
        severity: "warning",
        exporter: address,
        sentence: `Flows of ${called} name a sampler, but the options that give its rate never came: bytes and packets count as if nothing was sampled.`,
        evidence,
        advice: `Have the exporter send its sampler options (Cisco: \`option sampler-table\`), or set ${rateSetting}=${address}=<rate>.`,
      },
    ];
  }
  return [
    {
      id: "sampling-unknown",
      severity: "note",
      exporter: address,
      sentence: `${called} does not say whether it samples: bytes and packets count as if it did not (flow.sampling.assumed).`,
      evidence,
      advice: `If it looks at every packet, all is well. If it samples, set ${rateSetting}=${address}=<rate>, or have it send its sampling options.`,
    },
  ];
}

function conflicts({ address, domains, manualRate }: ExporterView, called: string): Diagnosis[] {
  // The operator has set the rate.
  if (manualRate !== undefined) return [];
  return domains.flatMap((domain) => {
    const { id, protocol, samplingChange: change } = domain;
    if (change !== undefined) {
      const isOften = change.count > 1;
      const times = isOften ? `${count(change.count, "time")}, the last time` : "once,";
      const severity: Severity = isOften ? "warning" : "note";
      return [
        {
          id: "sampling-conflict" as const,
          severity,
          exporter: address,
          sentence: `${called} announced two sampling rates for ${scopeName(change.scope, id)}: it changed ${times} from ${change.from} to ${change.to}.`,
          evidence: { protocol, domain: id, ...change },
          advice: isOften
            ? `Bytes and packets follow whichever rate came last. Give each sampler one rate on the device, or set ${rateSetting}=${address}=<rate>. Two devices behind one address do this, too.`
            : "If someone changed the rate on the device, all is well.",
        },
      ];
    }
    return disagreement(domain, address, called);
  });
}

function scopeName(scope: string, id: number): string {
  return scope === "domain" ? `domain ${id}` : `${scope} of domain ${id}`;
}

/** Finds samplers with different rates, where flows do not name theirs. */
function disagreement({ id, protocol, sampling, templates }: DomainView, address: string, called: string): Diagnosis[] {
  const samplers = sampling.filter(({ scope }) => scope.startsWith("sampler "));
  const rates = [...new Set(samplers.map(({ rate }) => rate))];
  const nameless = templates.filter((template) => template.kind === "flows" && template.sampling === undefined);
  const hasOther = sampling.some(({ scope }) => !scope.startsWith("sampler "));
  if (rates.length < 2 || nameless.length === 0 || hasOther) return [];
  return [
    {
      id: "sampling-conflict",
      severity: "warning",
      exporter: address,
      sentence: `${called} announced sampling rates ${list(rates)} in domain ${id}, and its flows do not say which applies: they count as if nothing was sampled.`,
      evidence: { protocol, domain: id, sampling, templates: nameless.map((template) => template.id) },
      advice: `Have the exporter put the sampler into its flow records (Cisco: \`collect flow sampler\`), or set ${rateSetting}=${address}=<rate>.`,
    },
  ];
}

function overridden({ address, domains, manualRate }: ExporterView, called: string): Diagnosis[] {
  if (manualRate === undefined) return [];
  const announced = [...new Set(domains.flatMap(({ sampling }) => sampling.map(({ rate }) => rate)))];
  if (announced.length === 0 || announced.includes(manualRate)) return [];
  return [
    {
      id: "sampling-overridden",
      severity: "note",
      exporter: address,
      sentence: `${called} announces sampling rate ${list(announced)}, but the settings say ${manualRate}: the settings count.`,
      evidence: { manualRate, announced },
      advice: `Take ${called} out of ${rateSetting}, or out of the file of sampling rates, if the exporter is right.`,
    },
  ];
}

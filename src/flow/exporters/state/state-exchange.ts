import type { TemplateSettings } from "../../wire/records/decode-sets.ts";
import { isOtherBoot, type Domain, isFarFromKept } from "../domain.ts";
import { type ExporterTable, stateKey } from "../exporter-table.ts";
import type { Exporter } from "../exporter.ts";
import {
  readTemplateState,
  restoreOptions,
  type DomainState,
  type ExporterState,
  type TemplateState,
  type StateReport,
  exporterState,
  restoreExporter,
} from "./exporter-state.ts";
import type { Clock } from "../../../base/report/index.ts";
import type { OpenQuestions } from "../open-questions.ts";
import type { SharedAnswer } from "./shared-store.ts";

/** What happened to the templates that other collectors know. Plain numbers. */
export interface AdoptedCounts {
  taken: number;
  /** The exporter has started again since: its templates may be others. */
  restarted: number;
  /** The exporter was not heard there for long, or their times cannot be. */
  stale: number;
}

/** Exporters send their templates every half hour at the latest; after that a number may mean another template. */
const freshMs = 30 * 60_000;
/** Two collectors' times of one event differ by no more. No template is younger than its exporter's last datagram. */
const sameTimeMs = 5000;
/** A sequence number of IPFIX that goes back by more belongs to another count. */
const maxLate = 4096;
/** After a restart an exporter sends its templates from a new port. This is how long they may take from the collector that received them. */
const settledMs = 400;

/**
 * Takes what other collectors know of a sender and, where it is a relay, of the exporters that it names. What came here later stands. A
 * template is taken for domains that were heard here, unless the exporter has started again since, or was not heard there for half an hour.
 *
 * @param states times are those of this clock.
 */
function adoptStates(
  table: ExporterTable,
  sender: Exporter,
  states: readonly ExporterState[],
  now: number,
  settings: TemplateSettings,
  counts: AdoptedCounts,
): void {
  const own = states.filter(({ address, relay }) => address === sender.address && relay === undefined);
  for (const state of own) adoptOwn(sender, state, now, settings, counts);
  if (!sender.isRelay) return;
  for (const state of states) {
    if (state.relay !== sender.address || state.lastSeen < now - freshMs) continue;
    const named = table.find(state.address) ?? table.restore(state.address, now, now, state.relay);
    if (named === undefined) continue;
    for (const said of state.options) if (restoreOptions(named, said, true)) named.isChanged = true;
  }
}

function adoptOwn(
  sender: Exporter,
  state: ExporterState,
  now: number,
  settings: TemplateSettings,
  counts: AdoptedCounts,
): void {
  const { lastSeen, templates, options, domains = [] } = state;
  if (lastSeen < now - freshMs || lastSeen > now + sameTimeMs) {
    counts.stale += templates.length;
    return;
  }
  const heard = [...sender.domains()];
  for (const template of templates) {
    const place = placeOf(heard, template, now);
    if (place === undefined) continue;
    if (template.definedAt > lastSeen + sameTimeMs) {
      counts.stale++;
      continue;
    }
    if (place !== "other port" && hasRestarted(place, domains.find(isOf(template)))) {
      counts.restarted++;
      continue;
    }
    const record = readTemplateState(template);
    if (record === undefined || record.template.fields.length > settings.maxFields) continue;
    const domain = sender.domain(template.protocol, template.domain, template.port ?? undefined);
    const from = { origin: "shared", definedAt: template.definedAt } as const;
    if (!sender.restoreTemplate(domain, record, settings.planTemplate, from, now)) continue;
    counts.taken++;
    sender.isChanged = true;
  }
  // Rates and names of a domain hold for others, too: also those of a domain that was not heard here.
  const here = [...sender.domains()];
  for (const said of options) {
    const isSaid = (protocol: string, id: number, port: number | null | undefined): boolean =>
      protocol === said.protocol && id === said.domain && (said.port === undefined || said.port === port);
    const domain = here.findLast(({ protocol, id, port }) => isSaid(protocol, id, port));
    const known = domains.find((each) => isSaid(each.protocol, each.domain, each.port));
    if ((said.changedAt ?? 0) > lastSeen + sameTimeMs) continue;
    if (domain !== undefined && hasRestarted(domain, known)) continue;
    if (domain === undefined && said.protocol === "ipfix" && known?.port != null)
      sender.domain("ipfix", said.domain, known.port);
    if (restoreOptions(sender, said, false)) sender.isChanged = true;
  }
}

/** The domain of a template where it was heard here, or whether only another port of it was, for long enough. */
function placeOf(heard: readonly Domain[], template: TemplateState, now: number): Domain | "other port" | undefined {
  const same = heard.filter(({ protocol, id }) => protocol === template.protocol && id === template.domain);
  const own = same.find(({ port }) => (port ?? null) === template.port);
  if (own !== undefined) return own;
  const isSettled = same.some(({ waiting: { since } }) => since !== undefined && now - since >= settledMs);
  return isSettled ? "other port" : undefined;
}

function isOf({ protocol, domain, port }: TemplateState): (state: DomainState) => boolean {
  return (state) => state.protocol === protocol && state.domain === domain && state.port === port;
}

/**
 * Whether an exporter has started again since another collector heard it. NetFlow v9: by its start as export time less uptime, modulo 2^32
 * milliseconds; an uptime that stands still says nothing. IPFIX: by a sequence number that went back in the same session.
 */
function hasRestarted(domain: Domain, then: DomainState | undefined): boolean {
  if (then === undefined) return false;
  const bootTime = domain.senders.latest()?.bootTime;
  if (then.bootTime !== null && bootTime !== undefined) {
    const { bootTime: thenBoot, uptime } = then;
    return isOtherBoot({ bootTime: thenBoot, uptime: uptime ?? undefined }, { bootTime, uptime: domain.uptime });
  }
  if (then.sequence === null || domain.number === undefined || (domain.port ?? null) !== then.port) return false;
  return ((domain.number - then.sequence) | 0) < -maxLate;
}

/** Hands out what the exporters of a pipeline said once, and takes what earlier runs and other collectors know. */
interface StateExchange {
  /** What happened since the last call. @param which `all`: as if everything had changed. */
  give(which: "changed" | "all"): StateReport;
  /** Takes what earlier runs knew. What is known already stands. */
  restore(states: readonly ExporterState[]): void;
  /** Takes what other collectors know of senders that {@link StateExchange.give} asked about, and releases them. */
  adopt(answer: SharedAnswer): void;
  /** What was taken of earlier runs. */
  readonly restored: { readonly templates: number };
  readonly adopted: Readonly<AdoptedCounts>;
}

interface StateExchangeParts {
  readonly exporters: ExporterTable;
  /** Undefined: no other collector is asked. */
  readonly questions: OpenQuestions | undefined;
  readonly templates: TemplateSettings;
  /** States of exporters that were silent for longer are not taken. */
  readonly silentMs: number;
  /** Decodes what an exporter has waiting, as far as it can be. */
  readonly release: (exporter: Exporter) => void;
  readonly clock: Clock;
}

/** Who was heard is said in such intervals. */
const heardEveryMs = 60_000;
/** An exporter of whom more than this is kept is handed out less often: four seconds later for each further million bytes. */
const promptBytes = 512 * 1024;
const bytesPerMs = 250;

export function createStateExchange(parts: StateExchangeParts): StateExchange {
  const { exporters, questions, templates, silentMs, release, clock } = parts;
  const restored = { templates: 0 };
  const adopted: AdoptedCounts = { taken: 0, restarted: 0, stale: 0 };
  let heardAt = clock.now();
  return {
    give(which) {
      const now = clock.now();
      for (const exporter of questions?.late(which === "all" ? Infinity : now) ?? []) release(exporter);
      const changed: ExporterState[] = [];
      const heard: [string, number][] = [];
      const isHeardDue = now - heardAt >= heardEveryMs;
      const forgotten = [...exporters.takeForgotten()];
      for (const exporter of exporters.all()) {
        if (isHeardDue && exporter.lastSeen > heardAt) {
          heard.push([keyOf(exporter), exporter.lastSeen]);
          for (const domain of exporter.domains()) if (isFarFromKept(domain)) exporter.isChanged = true;
        }
        if (which === "changed" && (!exporter.isChanged || isTooSoon(exporter, now))) continue;
        exporter.isChanged = false;
        exporter.keptAt = now;
        for (const domain of exporter.domains()) {
          domain.kept = { bootTime: domain.senders.latest()?.bootTime, number: domain.number };
        }
        const state = exporterState(exporter);
        const { address, relay } = exporter;
        // Of one that is named and sends itself what it sends counts.
        if (relay !== undefined && state?.relay === undefined) forgotten.push(stateKey(address, relay));
        if (state !== undefined) changed.push(state);
        else if (relay === undefined || exporter.datagrams > 0) forgotten.push(address);
      }
      if (isHeardDue) heardAt = now;
      return { changed, forgotten, heard, asked: questions?.due(now) ?? [] };
    },
    restore(states) {
      const now = clock.now();
      for (const state of states) {
        restored.templates += restoreExporter(exporters, state, now, templates, now - silentMs);
      }
    },
    adopt({ asked, states }) {
      const now = clock.now();
      for (const address of asked) {
        const exporter = exporters.find(address);
        if (exporter === undefined) continue;
        adoptStates(exporters, exporter, states, now, templates, adopted);
        release(exporter);
      }
    },
    restored,
    adopted,
  };
}

/** A state is handed out whole, so one that is large and changes all the time would take all the time there is. */
function isTooSoon(exporter: Exporter, now: number): boolean {
  return (now - exporter.keptAt) * bytesPerMs < exporter.heldBytes() - promptBytes;
}

/** What its state is kept by: see `exporterState`. */
function keyOf({ address, relay, datagrams }: Exporter): string {
  return stateKey(address, relay !== undefined && datagrams === 0 ? relay : undefined);
}

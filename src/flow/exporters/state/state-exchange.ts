import type { TemplateSettings } from "../../wire/records/decode-sets.ts";
import { isOtherBoot, type Domain, isFarFromKept } from "../domain.ts";
import { type ExporterTable, keyOfState, stateKey } from "../exporter-table.ts";
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
import type { OpenQuestions } from "../waiting-sets.ts";
import type { SharedAnswer } from "./shared-store.ts";

/** Exporters send their templates every half hour at the latest; after that a number may mean another template. */
const freshMs = 30 * 60_000;
/** Two collectors' times of one event differ by no more. No template is younger than its exporter's last datagram. */
const sameTimeMs = 5000;
/** A sequence number of IPFIX that goes back by more belongs to another count. */
const maxLate = 4096;
/** After a restart an exporter sends its templates from a new port. This is how long they may take from the collector that received them. */
const handOffMs = 400;

/** The interval at which it is said who was heard. */
const heardEveryMs = 60_000;
/** An exporter of whom more than this is kept is handed out less often: four seconds later for each further million bytes. */
const promptBytes = 512 * 1024;
const bytesPerMs = 250;

/** Hands out what the exporters of a pipeline said once, and takes what earlier runs and other collectors know. */
export class StateExchange {
  readonly #exporters: ExporterTable;
  readonly #questions: OpenQuestions | undefined;
  readonly #settings: TemplateSettings;
  readonly #processor: { release(exporter: Exporter): void };
  readonly #clock: Clock;
  #heardAt: number;
  /** Counts what was taken of earlier runs. */
  readonly restored = { templates: 0 };
  /**
   * Counts templates that other collectors know, by what happened to them. `restarted`: the exporter has started again since, and its
   * templates may be others. `stale`: the exporter was not heard there for long, or their times cannot be.
   */
  readonly shared = { taken: 0, restarted: 0, stale: 0 };

  /**
   * @param questions undefined: no other collector is asked.
   * @param processor decodes what an exporter has waiting, as far as it can be.
   */
  constructor(
    exporters: ExporterTable,
    questions: OpenQuestions | undefined,
    settings: TemplateSettings,
    processor: { release(exporter: Exporter): void },
    clock: Clock,
  ) {
    this.#exporters = exporters;
    this.#questions = questions;
    this.#settings = settings;
    this.#processor = processor;
    this.#clock = clock;
    this.#heardAt = clock.now();
  }

  /** Returns what happened since the last call. @param which `all`: as if everything had changed. */
  give(which: "changed" | "all"): StateReport {
    const now = this.#clock.now();
    for (const exporter of this.#questions?.late(which === "all" ? Infinity : now) ?? [])
      this.#processor.release(exporter);
    const changed: ExporterState[] = [];
    const heard: [string, number][] = [];
    const isHeardDue = now - this.#heardAt >= heardEveryMs;
    const forgotten = [...this.#exporters.takeForgotten()];
    for (const exporter of this.#exporters.all()) {
      if (isHeardDue && exporter.lastSeen > this.#heardAt) {
        heard.push([keyOfState(exporter), exporter.lastSeen]);
        for (const domain of exporter.domains()) if (isFarFromKept(domain)) exporter.isChanged = true;
      }
      if (which === "changed" && (!exporter.isChanged || isTooSoon(exporter, now))) continue;
      const state = stateToKeep(exporter, now);
      const { address, relay } = exporter;
      // If an exporter is named and sends itself, what it sends counts.
      if (relay !== undefined && state?.relay === undefined) forgotten.push(stateKey(address, relay));
      if (state !== undefined) changed.push(state);
      else if (relay === undefined || exporter.datagrams > 0) forgotten.push(address);
    }
    if (isHeardDue) this.#heardAt = now;
    return { changed, forgotten, heard, asked: this.#questions?.due(now) ?? [] };
  }

  /** Takes what earlier runs knew. What is known already stands. */
  restore(states: readonly ExporterState[]): void {
    const now = this.#clock.now();
    const silentSince = now - this.#exporters.shared.limits.silentMs;
    for (const state of states) {
      this.restored.templates += restoreExporter(this.#exporters, state, now, this.#settings, silentSince);
    }
  }

  /** Takes what other collectors know of senders that {@link StateExchange.give} asked about, and releases them. */
  takeShared({ asked, states }: SharedAnswer): void {
    const now = this.#clock.now();
    for (const address of asked) {
      const exporter = this.#exporters.find(address);
      if (exporter === undefined) continue;
      this.#takeOf(exporter, states, now);
      this.#processor.release(exporter);
    }
  }

  /**
   * Takes what other collectors know of a sender and, where it is a relay, of the exporters that it names. What came here later stands. A
   * template is taken for domains that were heard here, unless the exporter has started again since, or was not heard there for half an hour.
   *
   * @param states times are those of this clock.
   */
  #takeOf(sender: Exporter, states: readonly ExporterState[], now: number): void {
    const own = states.filter(({ address, relay }) => address === sender.address && relay === undefined);
    for (const state of own) this.#takeOwn(sender, state, now);
    if (!sender.isRelay) return;
    for (const state of states) {
      if (state.relay !== sender.address || state.lastSeen < now - freshMs) continue;
      const named =
        this.#exporters.find(state.address) ?? this.#exporters.restore(state.address, now, now, state.relay);
      if (named === undefined) continue;
      for (const said of state.options) if (restoreOptions(named, said, true)) named.isChanged = true;
    }
  }

  #takeOwn(sender: Exporter, state: ExporterState, now: number): void {
    const { lastSeen, templates } = state;
    if (lastSeen < now - freshMs || lastSeen > now + sameTimeMs) {
      this.shared.stale += templates.length;
      return;
    }
    const heard = [...sender.domains()];
    for (const template of templates) this.#takeTemplate(sender, heard, template, state, now);
    takeOptions(sender, state);
  }

  #takeTemplate(
    sender: Exporter,
    heard: readonly Domain[],
    template: TemplateState,
    { lastSeen, domains = [] }: ExporterState,
    now: number,
  ): void {
    const source = sourceOf(heard, template, now);
    if (source === undefined) return;
    if (template.definedAt > lastSeen + sameTimeMs) {
      this.shared.stale++;
      return;
    }
    if (source !== "other port" && hasRestarted(source, domains.find(isOf(template)))) {
      this.shared.restarted++;
      return;
    }
    const { maxFields, planTemplate } = this.#settings;
    const record = readTemplateState(template);
    if (record === undefined || record.template.fields.length > maxFields) return;
    const domain = sender.domain(template.protocol, template.domain, template.port ?? undefined);
    const from = { origin: "shared", definedAt: template.definedAt } as const;
    if (!sender.restoreTemplate(domain, record, planTemplate, from, now)) return;
    this.shared.taken++;
    sender.isChanged = true;
  }
}

/** Rates and names of a domain hold for others, too: also those of a domain that was not heard here. */
function takeOptions(sender: Exporter, { lastSeen, options, domains = [] }: ExporterState): void {
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

/** Takes note of how far an exporter is, and returns what is kept of it; undefined: nothing. */
function stateToKeep(exporter: Exporter, now: number): ExporterState | undefined {
  exporter.isChanged = false;
  exporter.keptAt = now;
  for (const domain of exporter.domains()) {
    domain.kept = { bootTime: domain.senders.latest()?.bootTime, number: domain.number };
  }
  return exporterState(exporter);
}

/** The domain of a template where it was heard here, or whether only another port of it was, for long enough. */
function sourceOf(heard: readonly Domain[], template: TemplateState, now: number): Domain | "other port" | undefined {
  const same = heard.filter(({ protocol, id }) => protocol === template.protocol && id === template.domain);
  const own = same.find(({ port }) => (port ?? null) === template.port);
  if (own !== undefined) return own;
  const isOver = same.some(({ waiting: { since } }) => since !== undefined && now - since >= handOffMs);
  return isOver ? "other port" : undefined;
}

function isOf({ protocol, domain, port }: TemplateState): (state: DomainState) => boolean {
  return (state) => state.protocol === protocol && state.domain === domain && state.port === port;
}

/**
 * Returns whether an exporter has started again since another collector heard it. NetFlow v9: by its start as export time less uptime, modulo 2^32
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

/** A state is handed out whole, so one that is large and changes all the time would take all the time there is. */
function isTooSoon(exporter: Exporter, now: number): boolean {
  return (now - exporter.keptAt) * bytesPerMs < exporter.memory.bytes - promptBytes;
}

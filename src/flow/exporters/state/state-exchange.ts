import type { Clock } from "../../../base/report/index.ts";
import type { TemplateSettings } from "../../wire/template/decode-sets.ts";
import { isFarFromKept } from "../domain.ts";
import type { Exporter } from "../exporter.ts";
import type { ExporterTable } from "../exporter-table.ts";
import type { OpenQuestions } from "../open-questions.ts";
import { stateKey } from "../relays.ts";
import { type AdoptedCounts, adoptStates } from "./adopt-states.ts";
import { type ExporterState, type StateReport, exporterState, restoreExporter } from "./exporter-state.ts";
import type { SharedAnswer } from "./shared-exporters.ts";

/** Hands out what the exporters of a pipeline said once, and takes what earlier runs and other collectors know. */
export interface StateExchange {
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

export interface StateExchangeParts {
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

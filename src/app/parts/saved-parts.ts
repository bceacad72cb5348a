import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { parseAddress, unmapAddress } from "../../base/ip/index.ts";
import { nodeFileIo } from "../../base/file/index.ts";
import type { Component, Reporting } from "../../base/report/index.ts";
import type { CollectorUdmStore } from "../../metadata/index.ts";
import type { Settings } from "../settings/index.ts";
import { ReportLetters } from "../reports/report-letter.ts";
import { Reports, runsForm } from "../reports/reports.ts";
import type { ExploreQuestions } from "../threads/explore-output.ts";
import type { WatchOutput } from "../threads/watch-output.ts";
import { Annotations, startsForm } from "../views/annotations.ts";
import { FileState, type KeptState, type StateForm } from "../views/kept-state.ts";
import { savedForm } from "../views/saved-items.ts";
import { SavedViews } from "../views/saved-views.ts";

/** What the parts of what people save are made beside; undefined: not in this collector. */
export interface SavedSources {
  readonly metadata: CollectorUdmStore | undefined;
  readonly watch: WatchOutput | undefined;
  readonly explore: ExploreQuestions | undefined;
  readonly version: string;
}

/** The name of an address: that of the most specific entry that has one. */
function addressName(text: string, metadata: CollectorUdmStore | undefined): string | undefined {
  const address = parseAddress(text);
  if (metadata === undefined || address === undefined) return undefined;
  const covering = metadata.layers.covering(unmapAddress(address));
  return covering.find(({ entry }) => entry.name !== "")?.entry.name;
}

/** Makes what people save and share, and the annotations of charts. */
export function createSaved(
  settings: Settings,
  { metadata, watch, explore, version }: SavedSources,
  reporting: Reporting,
): {
  readonly views: SavedViews;
  readonly annotations: Annotations;
  readonly reports: Reports;
  readonly components: readonly Component[];
} {
  const directory = settings.SVC_STATE_DIRECTORY_PATH;
  const session = randomUUID();
  const keptAs = <T>(name: string, file: string, form: StateForm<T>): KeptState<T> => {
    const path = directory === "" ? undefined : join(directory, "views", file);
    return new FileState(name, path, form, session, { io: nodeFileIo, ...reporting });
  };
  const saved = keptAs("saved views", "views.json", savedForm);
  const starts = keptAs("starts of the collector", "starts.json", startsForm);
  const views = new SavedViews(saved, async () => (await watch?.letterActions()) ?? [], reporting);
  const annotations = new Annotations(
    {
      starts,
      marks: () => views.now().mark.values(),
      history: metadata?.history,
      alerts:
        watch &&
        (async (from, to) => {
          const found = await watch.find({ states: ["firing", "cleared"], from, to, hasEvidence: false });
          return found !== undefined && "alerts" in found ? found.alerts : undefined;
        }),
    },
    { version, member: "" },
    reporting,
  );
  const runs = keptAs("runs of reports", "reports.json", runsForm);
  const letters = new ReportLetters(explore, (address) => addressName(address, metadata), reporting.clock);
  const reports = new Reports(runs, () => views.now(), letters, watch, reporting);
  return { views, annotations, reports, components: [saved, starts, runs, annotations] };
}

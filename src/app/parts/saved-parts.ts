import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { parseAddress, unmapAddress } from "../../base/ip/index.ts";
import { nodeFileIo } from "../../base/file/index.ts";
import type { Component, Reporting } from "../../base/report/index.ts";
import { PostgresqlFleetStates, type Fleet } from "../../fleet/index.ts";
import type { CollectorUdmStore } from "../../metadata/index.ts";
import type { Settings } from "../settings/index.ts";
import { ReportLetters } from "../reports/report-letter.ts";
import { runsForm } from "../reports/report-runs.ts";
import { Reports } from "../reports/reports.ts";
import type { ExploreQuestions } from "../threads/explore-output.ts";
import type { WatchOutput } from "../threads/watch-output.ts";
import { Annotations, startsForm } from "../views/annotations.ts";
import { FileState, type KeptState, type StateForm } from "../views/kept-state.ts";
import { savedForm } from "../views/saved-items.ts";
import { SavedViews } from "../views/saved-views.ts";
import { SharedState } from "../views/shared-state.ts";

/** The parts used by saved views and annotations; undefined: not in this collector. */
export interface SavedSources {
  readonly metadata: CollectorUdmStore | undefined;
  readonly watch: WatchOutput | undefined;
  readonly explore: ExploreQuestions | undefined;
  readonly fleet: Fleet | undefined;
  readonly version: string;
}

/** Creates a state: in a file below the state directory, or in the database of the fleet. */
type KeptAs = <T>(name: string, key: string, form: StateForm<T>) => KeptState<T>;

function placesOf(settings: Settings, fleet: Fleet | undefined, reporting: Reporting): KeptAs {
  const directory = settings.SVC_STATE_DIRECTORY_PATH;
  const session = randomUUID();
  const fileState = <T>(name: string, file: string, form: StateForm<T>): FileState<T> => {
    const path = directory === "" ? undefined : join(directory, "views", file);
    return new FileState(name, path, form, session, { io: nodeFileIo, ...reporting });
  };
  if (fleet === undefined || !settings.SVC_FLEET_VIEWS_ENABLE)
    return (name, key, form) => fileState(name, `${key}.json`, form);
  const states = new PostgresqlFleetStates(fleet.connection, fleet.fleet);
  return (name, key, form) => {
    const own = fileState(name, `${key}.json`, form);
    const copy = fileState(`the copy of ${name}`, `fleet-${key}.json`, form);
    return new SharedState(
      name,
      { states, key, session: () => fleet.membership.session(), own, copy },
      form,
      reporting,
    );
  };
}

/** Returns the name of an address: that of the most specific entry that has one. */
function addressName(text: string, metadata: CollectorUdmStore | undefined): string | undefined {
  const address = parseAddress(text);
  if (metadata === undefined || address === undefined) return undefined;
  const covering = metadata.layers.covering(unmapAddress(address));
  return covering.find(({ entry }) => entry.name !== "")?.entry.name;
}

/** Creates saved views and the like, and the annotations of charts. */
export function createSaved(
  settings: Settings,
  { metadata, watch, explore, fleet, version }: SavedSources,
  reporting: Reporting,
): {
  readonly views: SavedViews;
  readonly annotations: Annotations;
  readonly reports: Reports;
  readonly components: readonly Component[];
} {
  const keptAs = placesOf(settings, fleet, reporting);
  const saved = keptAs("saved views", "views", savedForm);
  const starts = keptAs("starts of the collector", "starts", startsForm);
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
    { version, member: fleet?.membership.member ?? "" },
    reporting,
  );
  const runs = keptAs("runs of reports", "reports", runsForm);
  const letters = new ReportLetters(explore, (address) => addressName(address, metadata), reporting.clock);
  const reports = new Reports(runs, () => views.now(), letters, watch, reporting);
  return { views, annotations, reports, components: [saved, starts, runs, annotations] };
}

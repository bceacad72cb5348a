import type { GetDiscoveryAnswer } from "../../api/answers.gen.ts";
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { callApi, type ApiCall } from "../../api/call.ts";
import { useCall } from "../../api/use-call.ts";
import { formatDuration, formatWhole } from "../../format/numbers.ts";
import { formatAge, formatTime } from "../../format/times.ts";
import { ActionButton } from "../../ui/action-button.tsx";
import { Section } from "../../ui/page.tsx";
import { Empty, Failure, Shown } from "../../ui/states.tsx";
import { useAction } from "../../ui/use-action.ts";
import { Candidates } from "./candidates.tsx";
import { FoundTable } from "./found-table.tsx";
import { rowsOf, type SearchReport } from "./network-search.ts";

export const searchCall: ApiCall = { path: "api/v1/snmp/discovery" };

/** The search of networks for devices: the last one, the one under way, and what else may be a device. */
export function SearchNetworks({ changed }: { readonly changed: () => void }): JSX.Element {
  const [isWatching, setWatching] = useState(false);
  const search = useCall<GetDiscoveryAnswer>(searchCall, { everyMs: isWatching ? 1000 : 5000 });
  const action = useAction();
  const running = search.answer?.running;
  useEffect(() => setWatching(running !== undefined), [running !== undefined]);
  const isOn = search.answer?.enabled === true;
  const lastStart = search.answer?.last?.startedAt;
  const shownStart = useRef(lastStart);
  // What a search found is polled from then on.
  useEffect(() => {
    if (shownStart.current !== undefined && shownStart.current !== lastStart) changed();
    shownStart.current = lastStart;
  }, [lastStart]);
  const begin = async (isDryRun: boolean): Promise<void> => {
    await action.run(async () => {
      await callApi({ method: "POST", path: `api/v1/snmp/discover-networks?dry_run=${String(isDryRun)}` });
    });
    search.reload();
  };
  const lack = running === undefined ? undefined : "A search is under way.";
  return (
    <Section
      title="Search for devices"
      note={search.answer?.nextRun !== undefined && <NextRun at={search.answer.nextRun} />}
      actions={
        isOn && (
          <>
            <ActionButton needs="admin" area="snmp" lack={lack} onAction={() => begin(true)}>
              Dry run
            </ActionButton>
            <ActionButton needs="admin" area="snmp" lack={lack} onAction={() => begin(false)}>
              Search now
            </ActionButton>
          </>
        )
      }
    >
      {action.failure !== undefined && <Failure failure={action.failure} />}
      <div role="status" aria-live="polite">
        {running !== undefined && (
          <p>
            {running.isDryRun ? "Dry run" : "Search"} of {running.networks.join(", ")} is under way …
          </p>
        )}
      </div>
      <Shown of={search}>
        {(answer) =>
          answer.enabled ? (
            <>
              {answer.running !== undefined && <Progress running={answer.running} />}
              <Last answer={answer} />
              <Candidates />
            </>
          ) : (
            <Empty title="No networks are searched">
              Name a file of networks in <code>SVC_INPUT_SNMP_DISCOVERY_NETWORKS_PATH</code>, and start the collector
              again: what answers SNMP there is polled by itself.
            </Empty>
          )
        }
      </Shown>
    </Section>
  );
}

function NextRun({ at }: { readonly at: string }): JSX.Element {
  return <>the next one by itself at {formatTime(Date.parse(at), Date.now())}</>;
}

function Progress({ running }: { readonly running: NonNullable<GetDiscoveryAnswer["running"]> }): JSX.Element {
  const { probed, addresses, answered } = running;
  return (
    <div class="progress">
      <progress aria-label="How far the search is" value={probed} max={Math.max(1, addresses)} />
      <span class="note">
        {formatWhole(probed)} of {formatWhole(addresses)} addresses; devices that answered: {formatWhole(answered)}
      </span>
    </div>
  );
}

function Last({ answer: { last, lastFailure, running } }: { readonly answer: GetDiscoveryAnswer }): JSX.Element {
  return (
    <>
      {lastFailure !== undefined && (
        <p class="state failure">
          <strong>A search came to nothing:</strong> {lastFailure.message}{" "}
          <span class="note">({formatAge(Date.parse(lastFailure.time), Date.now())})</span>
        </p>
      )}
      {last !== undefined && <Report report={last} />}
      {last === undefined && lastFailure === undefined && running === undefined && (
        <Empty title="Nothing was searched since the start">
          Search now, or see by a dry run what would be found: that writes nothing.
        </Empty>
      )}
    </>
  );
}

function Report({ report }: { readonly report: SearchReport }): JSX.Element {
  const { isDryRun, networks, addresses, startedAt, durationSeconds, known, refused, problem } = report;
  const rows = rowsOf(report);
  const counts = [
    `${formatWhole(report.new.length)} new`,
    `${formatWhole(report.changed.length)} changed`,
    `${formatWhole(report.gone.length)} gone`,
    `${formatWhole(report.duplicates.length)} duplicates`,
    `${formatWhole(refused.length)} refused`,
    `${formatWhole(known)} known`,
  ];
  return (
    <>
      <p>
        <strong>{isDryRun ? "Last dry run" : "Last search"}:</strong> {counts.join(", ")}.
        {isDryRun && " Nothing was written."}{" "}
        <span class="note">
          {formatAge(Date.parse(startedAt), Date.now())}, {formatWhole(addresses)} addresses of {networks.join(", ")} in{" "}
          {formatDuration(durationSeconds)}
        </span>
      </p>
      {problem !== undefined && (
        <p class="state failure">
          <strong>What was found is not polled:</strong> {problem}
        </p>
      )}
      {rows.length > 0 && <FoundTable rows={rows} />}
    </>
  );
}

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { ApiCall } from "../../api/call.ts";
import type { SearchAnswer } from "../../api/entries.ts";
import type { Entry } from "../../api/entry.ts";
import { exploreStatusCall, keptSince, profileCall, type ExploreStatus, type Profile } from "../../api/explore.ts";
import { useIsLimited } from "../../api/session.ts";
import { useCall } from "../../api/use-call.ts";
import { useTurnedCall } from "../../api/use-turned-call.ts";
import { wholeSeconds } from "../../format/time-ranges.ts";
import { hrefOf, usePlace, valueAt } from "../../navigation/place.ts";
import { OpenAlerts } from "../../ui/alert-parts.tsx";
import { EntryDialog } from "../../ui/entry-dialog.tsx";
import { Page } from "../../ui/page.tsx";
import { Empty, Failure } from "../../ui/states.tsx";
import { TimeBox } from "../../ui/time-box.tsx";
import { timeQuery, usePageTime } from "../../ui/use-time.ts";
import { withCode } from "../../ui/with-code.tsx";
import { AddressCard, explainCall } from "./address-card.tsx";
import { coverCall, EntriesCard, entriesCall } from "./entries-card.tsx";
import { flowsCall, LastFlows } from "./last-flows.tsx";
import { RankingCards } from "./ranking-cards.tsx";
import { locateCall, SwitchPort } from "./switch-port.tsx";
import { TrafficCard } from "./traffic-card.tsx";
import { kindOf, titleOf, type ValueOf } from "../../format/value-kinds.ts";
import "./explain.css";

/** What an address is and does; the same of a prefix, a tag, an AS, an exporter, an interface, or any other value of a field. */
export default function ValuePage(): JSX.Element {
  const of = valueAt(usePlace());
  if (of === undefined || of.value === "") return <Empty title="There is no such page" />;
  return <ValueView key={`${of.field} ${of.value}`} of={of} />;
}

function ValueView({ of }: { readonly of: ValueOf }): JSX.Element {
  const isLimited = useIsLimited();
  const [turn, setTurn] = useState(0);
  const [edited, setEdited] = useState<{ readonly entry: Entry; readonly isNew: boolean } | undefined>(undefined);
  const [said, setSaid] = useState("");
  const edit = (entry: Entry, isNew: boolean): void => {
    setSaid("");
    setEdited({ entry, isNew });
  };
  const status = useCall<ExploreStatus>(exploreStatusCall);
  const time = usePageTime(status.answer && keptSince(status.answer));
  const asked = { ...of, ...time.asked };
  const options = { keepsOld: true, timeoutMs: 60_000, ...time.every };
  const isOn = status.answer !== undefined;
  const traffic = useCall<Profile>(isOn ? profileCall(asked, "traffic") : undefined, options);
  const rankings = useCall<Profile>(isOn ? profileCall(asked, "rankings") : undefined, options);
  const seen = useCall<Profile>(isOn ? profileCall(asked, "seen") : undefined, options);
  // What is no value has no flows: one message says so.
  const isRefused = traffic.failure?.status === 400;
  const ofAddress = of.field === "address" && !isOn ? `addr = ${of.value}` : undefined;
  const flowFilter = isRefused ? undefined : (traffic.answer?.filter ?? rankings.answer?.filter ?? ofAddress);
  const kind = kindOf(of);
  const hasPort = of.field === "address" && !isLimited;
  const calls = callsOf(of, asked, flowFilter, hasPort);
  return (
    <Page
      title={titleOf(of)}
      lead={kind.lead}
      calls={calls}
      actions={
        flowFilter !== undefined && (
          <a class="button" href={hrefOf("explore", { filter: flowFilter, ...timeQuery(time) })}>
            Explore its traffic
          </a>
        )
      }
    >
      <div role="status" aria-live="polite">
        {said !== "" && <p class="state good">{said}. The next flow carries it.</p>}
      </div>
      <OpenAlerts names={of.value} />
      {of.field === "address" && <AddressCard ip={of.value} turn={turn} edit={edit} />}
      {status.failure?.status === 404 ? (
        <Empty title="This collector keeps no records to look back at">
          {withCode(status.failure.message)}. <a href={hrefOf("live")}>Live</a> shows flows as they go by.
        </Empty>
      ) : status.answer === undefined && status.failure !== undefined ? (
        <Failure failure={status.failure} retry={status.reload} />
      ) : (
        <>
          <TimeBox
            time={time}
            onReload={() => {
              for (const each of [traffic, rankings, seen]) each.reload();
            }}
          />
          <TrafficCard
            traffic={traffic}
            seen={seen.answer?.seen}
            onZoom={(start, end) => time.choose(wholeSeconds(start * 1000, end * 1000))}
          />
          {!isRefused && <RankingCards rankings={rankings} of={of} />}
        </>
      )}
      {kind.search !== undefined && <Entries of={of} search={kind.search} turn={turn} edit={edit} />}
      {hasPort && <SwitchPort ip={of.value} />}
      {flowFilter !== undefined && (
        <LastFlows filter={flowFilter} self={of.field === "address" ? of.value : undefined} />
      )}
      {edited !== undefined && (
        <EntryDialog
          entry={edited.entry}
          isNew={edited.isNew}
          onClose={() => setEdited(undefined)}
          changed={(what) => {
            setSaid(what);
            setTurn((count) => count + 1);
          }}
        />
      )}
    </Page>
  );
}

/** The entries that a value stands in. */
function Entries({
  of,
  search,
  turn,
  edit,
}: {
  readonly of: ValueOf;
  readonly search: NonNullable<ReturnType<typeof kindOf>["search"]>;
  readonly turn: number;
  readonly edit: (entry: Entry, isNew: boolean) => void;
}): JSX.Element {
  const asked = { kind: of.field === "prefix" ? ("prefix" as const) : ("words" as const), text: of.value };
  const found = useTurnedCall<SearchAnswer>(entriesCall(asked, search), turn);
  return <EntriesCard asked={asked} found={found} turn={turn} edit={edit} />;
}

function callsOf(
  of: ValueOf,
  asked: ValueOf & { from: string; to: string },
  filter: string | undefined,
  hasPort: boolean,
): readonly ApiCall[] {
  const { field, value } = of;
  const { search } = kindOf(of);
  const cover = field === "prefix" ? coverCall({ kind: "prefix", text: value }) : undefined;
  return [
    ...(field === "address" ? [explainCall(value)] : []),
    { ...profileCall(asked, "traffic"), body: asked },
    ...(search === undefined ? [] : [entriesCall({ kind: "words", text: value }, search)]),
    ...(cover === undefined ? [] : [cover]),
    ...(hasPort ? [locateCall(value)] : []),
    ...(filter === undefined ? [] : [flowsCall(filter)]),
  ];
}

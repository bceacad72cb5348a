import type { JSX } from "preact";
import type { ApiCall } from "../../api/call.ts";
import { useCall } from "../../api/use-call.ts";
import { formatDuration, formatShare, formatWhole } from "../../format/numbers.ts";
import { formatAge, formatTime } from "../../format/times.ts";
import { hrefOf, hrefOfText, hrefOfValue } from "../../navigation/place.ts";
import { DataTable } from "../../ui/data-table.tsx";
import { Section } from "../../ui/page.tsx";
import { Empty, Shown } from "../../ui/states.tsx";
import { Diagnoses } from "./diagnoses.tsx";
import {
  lossOf,
  protocolName,
  samplingOf,
  type Diagnosis,
  type Domain,
  type Exporter,
  type Template,
} from "./exporter.ts";

export const exporterDiagnosisCall = (address: string): ApiCall => ({
  path: `api/v1/flow/exporters/${encodeURIComponent(address)}/diagnosis`,
});

/** One exporter: what the doctor says of it, its domains, its templates. */
export function ExporterDetail({
  address,
  exporter,
}: {
  readonly address: string;
  readonly exporter: Exporter | undefined;
}): JSX.Element {
  const diagnosis = useCall<{ diagnoses: readonly Diagnosis[] }>(exporterDiagnosisCall(address), { everyMs: 15_000 });
  const name = exporter?.name === undefined ? address : `${exporter.name} (${address})`;
  return (
    <Section
      title={name}
      actions={
        <>
          <a class="button quiet" href={hrefOfValue("exporter", address)}>
            What it sees
          </a>
          <a class="button quiet" href={hrefOfText(address)}>
            Explain this address
          </a>
          <a class="button quiet" href={hrefOf("exporters")}>
            Close
          </a>
        </>
      }
    >
      <Shown of={diagnosis} what="Asking the doctor">
        {({ diagnoses }) => {
          const own = diagnoses.filter((one) => one.exporter !== undefined);
          return own.length === 0 ? (
            <p>The doctor finds nothing wrong with this exporter.</p>
          ) : (
            <Diagnoses diagnoses={own} />
          );
        }}
      </Shown>
      {exporter === undefined ? (
        <Empty title="This exporter has not been heard">
          Nothing came from {address} in this run of the collector.
        </Empty>
      ) : (
        <Facts exporter={exporter} />
      )}
    </Section>
  );
}

function Facts({ exporter }: { readonly exporter: Exporter }): JSX.Element {
  const now = Date.now();
  return (
    <>
      <dl class="facts">
        <dt>First heard</dt>
        <dd>{formatTime(exporter.firstSeen, now)}</dd>
        <dt>Last heard</dt>
        <dd>{formatAge(exporter.lastSeen, now)}</dd>
        <dt>Datagrams, records</dt>
        <dd>
          {formatWhole(exporter.datagrams)}, {formatWhole(exporter.records)}
        </dd>
        <dt>Sampling</dt>
        <dd>{samplingOf(exporter)}</dd>
      </dl>
      {exporter.domains.map((domain) => (
        <DomainFacts
          key={`${domain.protocol} ${domain.agent ?? ""} ${domain.id} ${domain.port ?? ""}`}
          domain={domain}
          isOneOfPorts={exporter.domains.some((other) => other !== domain && isSameDomain(other, domain))}
        />
      ))}
    </>
  );
}

function isSameDomain(a: Domain, b: Domain): boolean {
  return a.protocol === b.protocol && a.id === b.id && a.agent === b.agent;
}

function DomainFacts({
  domain,
  isOneOfPorts,
}: {
  readonly domain: Domain;
  readonly isOneOfPorts: boolean;
}): JSX.Element {
  const { templates, waitingSets, waitingFor, clockOffset } = domain;
  const agent = domain.agent === undefined ? "" : ` of ${domain.agent}`;
  const port = isOneOfPorts && domain.port !== undefined ? `, port ${domain.port}` : "";
  const title = `${protocolName(domain.protocol)}, domain ${domain.id}${agent}${port}`;
  const loss = lossOf({ domains: [domain] });
  return (
    <>
      <h3 class="sub">{title}</h3>
      <dl class="facts">
        <dt>Missing</dt>
        <dd>
          {loss === undefined
            ? "not counted"
            : `${formatWhole(domain.missing)} of ${formatWhole(domain.missing + domain.received)} (${formatShare(loss)})`}
        </dd>
        {domain.missingSamples + domain.samplerDrops > 0 && (
          <>
            <dt>Samples missing, dropped by the agent</dt>
            <dd>
              {formatWhole(domain.missingSamples)}, {formatWhole(domain.samplerDrops)}
            </dd>
          </>
        )}
        <dt>Out of order, count restarted</dt>
        <dd>
          {formatWhole(domain.late)}, {formatWhole(domain.resets)}
        </dd>
        {clockOffset !== undefined && (
          <>
            <dt>Clock</dt>
            <dd>
              {Math.abs(clockOffset) < 1000
                ? "agrees with the collector's"
                : `${formatDuration(Math.abs(clockOffset) / 1000)} ${clockOffset > 0 ? "ahead" : "behind"}: its times are corrected by this where traffic over time is shown`}
            </dd>
          </>
        )}
        {waitingSets > 0 && (
          <>
            <dt>Waits for templates</dt>
            <dd>
              {formatWhole(waitingSets)} data sets wait for {waitingFor.join(", ")}
            </dd>
          </>
        )}
      </dl>
      {templates.length > 0 && <Templates templates={templates} title={title} />}
    </>
  );
}

function Templates({
  templates,
  title,
}: {
  readonly templates: readonly Template[];
  readonly title: string;
}): JSX.Element {
  const now = Date.now();
  return (
    <DataTable
      caption={`Templates of ${title}`}
      rows={templates}
      keyOf={({ id }) => String(id)}
      columns={[
        { name: "Template", cell: ({ id }) => id, sortBy: ({ id }) => id, isNumber: true },
        { name: "For", cell: ({ kind }) => kind },
        { name: "Fields", cell: ({ fields }) => fields, sortBy: ({ fields }) => fields, isNumber: true },
        { name: "Received", cell: ({ refreshedAt }) => formatAge(refreshedAt, now), isNumber: true },
        {
          name: "Origin",
          cell: ({ origin }) => origins[origin],
          isMinor: true,
        },
      ]}
    />
  );
}

const origins = { received: "received", restored: "from an earlier run", shared: "from another collector" };

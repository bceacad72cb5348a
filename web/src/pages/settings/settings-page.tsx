import type { GetSettingsAnswer } from "../../api/answers.gen.ts";
import type { JSX } from "preact";
import type { ApiCall } from "../../api/call.ts";
import { useCall } from "../../api/use-call.ts";
import { formatAge, formatTime } from "../../format/times.ts";
import { DataTable } from "../../ui/data-table.tsx";
import { Page, Section } from "../../ui/page.tsx";
import { Shown } from "../../ui/states.tsx";
import { Tile } from "../../ui/tile.tsx";
import { shownValue } from "./settings-answer.ts";
import { SettingsTable } from "./settings-table.tsx";
import "./settings.css";

const settingsCall: ApiCall = { path: "api/v1/settings" };

/** What is in force and where it comes from, what a reload and a restart would change, version and licences. */
export default function SettingsPage(): JSX.Element {
  const settings = useCall<GetSettingsAnswer>(settingsCall, { everyMs: 30_000 });
  return (
    <Page
      title="Settings"
      lead="What is in force and where it comes from. Settings are changed in their file or the environment, never here."
      calls={[settingsCall]}
    >
      <Shown of={settings}>
        {(answer) => (
          <>
            <div class="tiles">
              <Tile label="Version" value={answer.version} detail={`Node.js ${answer.node}`} />
              <Tile
                label="Running since"
                value={formatTime(answer.startedAt, Date.now())}
                detail={formatAge(answer.startedAt, Date.now())}
              />
              {answer.instance !== "" && <Tile label="Instance" value={answer.instance} />}
              <Tile
                label="Changed by you"
                value={answer.settings.filter(({ origin }) => origin !== "default").length}
                detail={`of ${answer.settings.length} settings`}
              />
            </div>
            <Restart restart={answer.restart} />
            <Reload reload={answer.reload} />
            <Remarks title="Warnings" texts={answer.warnings} />
            <Remarks title="Names that are no settings of this version" texts={answer.unknown} />
            <SettingsTable settings={answer.settings} />
            <Licences packages={answer.packages} />
          </>
        )}
      </Shown>
    </Page>
  );
}

function Restart({ restart: { changes, problems } }: Pick<GetSettingsAnswer, "restart">): JSX.Element {
  return (
    <Section title="What a restart would change">
      {problems.length > 0 && (
        <div class="state failure">
          <strong>The collector would not start: its settings cannot be used.</strong>
          <ul>
            {problems.map((problem) => (
              <li key={problem}>{problem}</li>
            ))}
          </ul>
        </div>
      )}
      {problems.length === 0 && changes.length === 0 && (
        <p>Nothing: the files and the environment say what is in force.</p>
      )}
      {changes.length > 0 && (
        <DataTable
          caption="Settings that a restart would change"
          rows={changes}
          keyOf={({ name }) => name}
          columns={[
            { name: "Setting", cell: ({ name }) => <code>{name}</code>, className: "wrap" },
            { name: "In force", cell: (change) => before(change), className: "wrap" },
            { name: "After a restart", cell: (change) => after(change), className: "wrap" },
            { name: "From", cell: ({ origin }) => origin, isMinor: true, className: "wrap" },
          ]}
        />
      )}
    </Section>
  );
}

type SettingChange = GetSettingsAnswer["restart"]["changes"][number];

const before = ({ inForce, isSecret = false }: SettingChange): string =>
  isSecret ? "hidden" : shownValue({ ...(inForce !== undefined && { value: inForce }) });
const after = ({ next, isSecret = false }: SettingChange): string =>
  isSecret ? "another secret" : shownValue({ ...(next !== undefined && { value: next }) });

function Reload({ reload: { readsAgain, leavesAlone } }: Pick<GetSettingsAnswer, "reload">): JSX.Element {
  return (
    <Section title="What a reload reads again" note="SIGHUP to the process">
      <div class="columns">
        <div>
          <h3>Read again</h3>
          {readsAgain.length === 0 ? (
            <p>Nothing: no part of this collector has files that a reload reads.</p>
          ) : (
            <List texts={readsAgain} />
          )}
        </div>
        <div>
          <h3>Left alone</h3>
          <List texts={leavesAlone} />
        </div>
      </div>
    </Section>
  );
}

function Remarks({ title, texts }: { readonly title: string; readonly texts: readonly string[] }): JSX.Element | null {
  if (texts.length === 0) return null;
  return (
    <Section title={title}>
      <List texts={texts} />
    </Section>
  );
}

function List({ texts }: { readonly texts: readonly string[] }): JSX.Element {
  return (
    <ul class="plain-list">
      {texts.map((text) => (
        <li key={text}>{text}</li>
      ))}
    </ul>
  );
}

function Licences({ packages }: Pick<GetSettingsAnswer, "packages">): JSX.Element {
  return (
    <Section title="Licences" note="netgloss is licensed under Apache-2.0">
      <details>
        <summary>{packages.length} packages that it is shipped with</summary>
        <DataTable
          caption="Packages and their licences"
          rows={packages}
          keyOf={({ name, version }) => `${name} ${version}`}
          columns={[
            { name: "Package", cell: ({ name }) => name, sortBy: ({ name }) => name, className: "wrap" },
            { name: "Version", cell: ({ version }) => version, isNumber: true },
            { name: "Licence", cell: ({ license }) => license, sortBy: ({ license }) => license, className: "wrap" },
          ]}
        />
      </details>
    </Section>
  );
}

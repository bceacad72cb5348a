import type { JSX } from "preact";
import { contextLabels, valuesOf, valueText, type ContextGroup, type Loser } from "./explanation.ts";
import { OriginText } from "./origin.tsx";

/** What records get of an address: each value with its origin; what lost is struck out, with the reason. */
export function FieldTable({ group, isOnly }: { readonly group: ContextGroup; readonly isOnly: boolean }): JSX.Element {
  const labels = group.contexts.map((context) => contextLabels[context] ?? context);
  const title = isOnly ? "In all roles" : `As ${labels.join(", ")}`;
  return (
    <>
      <h3 class="sub">{title}</h3>
      {group.fields.length === 0 ? (
        <p class="note">Records get nothing of it: no entry covers it, and no source knows it.</p>
      ) : (
        <div class="table-scroll" tabIndex={0} role="region" aria-label={`Fields: ${title}`}>
          <table class="data explained">
            <caption class="hidden">What records get: {title}</caption>
            <thead>
              <tr>
                <th scope="col">Field</th>
                <th scope="col">Value</th>
                <th scope="col">Comes from</th>
              </tr>
            </thead>
            {group.fields.map((field) => (
              <tbody key={field.field}>
                {valuesOf(field).map(([text, origin], at) => (
                  <tr key={text}>
                    <th scope="row" class="mono">
                      {at === 0 ? <FieldName name={field.field} /> : <span class="hidden">{field.field}</span>}
                    </th>
                    <td>
                      <strong>{text}</strong>
                    </td>
                    <td>
                      <OriginText origin={origin} />
                    </td>
                  </tr>
                ))}
                {field.losers?.map((loser) => (
                  <LoserRow key={`${loser.value ?? ""} ${loser.origin?.key ?? ""}`} field={field.field} loser={loser} />
                ))}
              </tbody>
            ))}
          </table>
        </div>
      )}
      {group.ignored.length > 0 && (
        <details class="more">
          <summary>{group.ignored.length} values that count for nothing here</summary>
          <table class="data explained">
            <caption class="hidden">Values that count for nothing here</caption>
            <thead>
              <tr>
                <th scope="col">Field</th>
                <th scope="col">Value</th>
                <th scope="col">Comes from</th>
              </tr>
            </thead>
            <tbody>
              {group.ignored.map((loser) => (
                <LoserRow
                  key={`${loser.field ?? ""} ${loser.value ?? ""} ${loser.origin?.key ?? ""}`}
                  field={loser.field ?? ""}
                  loser={loser}
                  showsField
                />
              ))}
            </tbody>
          </table>
        </details>
      )}
    </>
  );
}

/** A name that may break behind its dots. */
function FieldName({ name }: { readonly name: string }): JSX.Element {
  return (
    <>
      {name.split(/(?<=[^.]\.)/).map((part) => (
        <>
          {part}
          <wbr />
        </>
      ))}
    </>
  );
}

function LoserRow({
  field,
  loser,
  showsField = false,
}: {
  readonly field: string;
  readonly loser: Loser;
  readonly showsField?: boolean;
}): JSX.Element {
  return (
    <tr class="loser">
      <th scope="row" class="mono">
        {showsField ? <FieldName name={field} /> : <span class="hidden">{field}, not used</span>}
      </th>
      <td>
        <del>{valueText(loser.value)}</del>
      </td>
      <td>
        <OriginText origin={loser.origin} />
        <div class="reason">{loser.reason}</div>
      </td>
    </tr>
  );
}

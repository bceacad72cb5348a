import type { JSX } from "preact";
import { hrefOf } from "../../navigation/place.ts";

/** An exporter by its name and address; it leads to what is known of it. */
export function ExporterLink({
  address,
  name,
}: {
  readonly address: string;
  readonly name: string | undefined;
}): JSX.Element {
  return (
    <a href={hrefOf("exporters", { exporter: address })}>
      {name !== undefined && <strong>{name} </strong>}
      <span class="mono">{address}</span>
    </a>
  );
}

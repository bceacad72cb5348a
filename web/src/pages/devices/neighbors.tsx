import type { JSX } from "preact";
import type { GetNeighborsAnswer } from "../../api/answers.gen.ts";
import { neighborsCall } from "../../api/topology.ts";
import { useCall } from "../../api/use-call.ts";
import { linksFrom } from "../../format/link-text.ts";
import { hrefOf } from "../../navigation/place.ts";
import { LinkTable } from "../../ui/link-table.tsx";
import { Empty, Shown } from "../../ui/states.tsx";

/** The links of a device, of both layers. Nothing where links are not inferred. */
export function Neighbors({ id, name }: { readonly id: string; readonly name: string }): JSX.Element | null {
  const known = useCall<GetNeighborsAnswer>(neighborsCall(id), { everyMs: 30_000 });
  if (known.answer?.enabled === false) return null;
  return (
    <>
      <h3 class="sub">
        Neighbors{" "}
        <a class="button quiet" href={hrefOf("map", { device: id })}>
          See it on the map
        </a>
      </h3>
      <Shown of={known} what="Asking for the links">
        {({ links }) => {
          const seen = linksFrom(links, id);
          return seen.length === 0 ? (
            <Empty title="No neighbor is known">
              They come with the tables of LLDP, CDP, learnt addresses and routing, of this device or of a neighbor.
            </Empty>
          ) : (
            <LinkTable caption={`Neighbors of ${name}`} rows={seen} own />
          );
        }}
      </Shown>
    </>
  );
}

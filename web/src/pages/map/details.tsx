import type { JSX } from "preact";
import type { TopologyLink } from "../../api/topology.ts";
import { certaintyOf, endName, linksFrom, portText } from "../../format/link-text.ts";
import type { MapDevice, MapNode, NetworkMap } from "../../format/network-map.ts";
import { formatTime } from "../../format/times.ts";
import { hrefOf, hrefOfText } from "../../navigation/place.ts";
import { CertaintyBadge, EndName, Evidence, type SeenLink } from "../../ui/link-table.tsx";

export interface DetailsProps {
  readonly map: NetworkMap;
  readonly devices: readonly MapDevice[];
  readonly links: readonly TopologyLink[];
  /** The key of a node or a line, or "". */
  readonly chosen: string;
  readonly close: () => void;
}

/** What is known of the node or line that is chosen. */
export function Details({ map, devices, links, chosen, close }: DetailsProps): JSX.Element {
  const node = map.nodes.find(({ id }) => id === chosen);
  const edge = map.edges.find(({ id }) => id === chosen);
  const isShown = node !== undefined || edge !== undefined;
  const ofEdge = links.filter(({ id }) => edge?.linkIds.includes(id) === true);
  const seen =
    edge === undefined ? linksFrom(links, chosen) : ofEdge.map((link) => ({ link, from: link.a, to: link.b }));
  return (
    <aside class="map-details" aria-label="What is chosen" aria-live="polite">
      {!isShown && <p class="note">Choose a device or a link to see its ports, and what says that it is there.</p>}
      {isShown && (
        <div class="map-details-head">
          <h3>{node?.name ?? (seen[0] === undefined ? "" : `${endName(seen[0].from)} – ${endName(seen[0].to)}`)}</h3>
          <button type="button" class="button quiet" onClick={close}>
            Close
          </button>
        </div>
      )}
      {node !== undefined && <Facts node={node} device={devices.find(({ id }) => id === chosen)} />}
      {isShown && <Links seen={seen} isOfNode={node !== undefined} />}
    </aside>
  );
}

function Facts({ node, device }: { readonly node: MapNode; readonly device: MapDevice | undefined }): JSX.Element {
  return (
    <dl class="facts">
      <dt>Address</dt>
      <dd>{node.address === "" ? "not said" : <a href={hrefOfText(node.address)}>{node.address}</a>}</dd>
      <dt>Polled</dt>
      <dd>{device === undefined ? "no" : <a href={hrefOf("devices", { device: node.id })}>yes, as {node.id}</a>}</dd>
      {Object.entries(device?.metadata ?? {}).map(([name, value]) => (
        <>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </>
      ))}
    </dl>
  );
}

function Links({ seen, isOfNode }: { readonly seen: readonly SeenLink[]; readonly isOfNode: boolean }): JSX.Element {
  const now = Date.now();
  if (seen.length === 0) return <p class="note">No links of it are known.</p>;
  return (
    <ul class="map-links">
      {seen.map(({ link, from, to }) => (
        <li key={link.id}>
          <div>
            {isOfNode ? portText(from) || "port not known" : <EndName end={from} />}
            {!isOfNode && ` ${portText(from)}`} → <EndName end={to} /> {portText(to)}
          </div>
          <div class="note">
            <CertaintyBadge certainty={certaintyOf(link)} /> layer {link.layer}, since {formatTime(link.since, now)},
            said by <Evidence link={link} />
          </div>
        </li>
      ))}
    </ul>
  );
}

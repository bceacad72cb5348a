import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { TopologyLink } from "../../api/topology.ts";
import {
  byNetwork,
  firstGroupKey,
  groupKeys,
  maxNodes,
  networkMap,
  withoutGroups,
  type MapDevice,
} from "../../format/network-map.ts";
import { formatWhole } from "../../format/numbers.ts";
import { useQueryState } from "../../navigation/place.ts";
import { Section } from "../../ui/page.tsx";
import { Details } from "./details.tsx";
import { Drawing } from "./drawing.tsx";
import { Legend } from "./legend.tsx";

const layers = [
  [2, "Layer 2"],
  [3, "Layer 3"],
] as const;
const groupLabels: Readonly<Record<string, string>> = {
  [byNetwork]: "network of the address",
  [withoutGroups]: "nothing",
};

/** The drawing of one layer, and what is known of the node or line that is chosen in it. */
export function MapCard({
  devices,
  links,
}: {
  readonly devices: readonly MapDevice[];
  readonly links: readonly TopologyLink[];
}): JSX.Element {
  const [query, setQuery] = useQueryState();
  const keys = groupKeys(devices);
  const layer = query.get("layer") === "3" ? 3 : 2;
  const asked = query.get("group") ?? "";
  const groupBy = keys.includes(asked) ? asked : firstGroupKey(keys);
  const open = query.get("open") ?? "";
  const map = useMemo(
    () => networkMap(devices, links, { layer, groupBy, open }),
    [devices, links, layer, groupBy, open],
  );
  const chosen = query.get("device") ?? query.get("link") ?? "";
  const choose = (changes: { readonly device?: string; readonly link?: string }): void =>
    setQuery({ device: undefined, link: undefined, ...changes }, { replace: true });
  const neighbors = map.nodes.filter(({ kind }) => kind === "neighbor").length;
  const drawn = map.nodes.length - neighbors;
  const counts = [
    map.isCut
      ? `${formatWhole(map.nodes.length)} groups and devices`
      : `${formatWhole(drawn)} ${drawn === 1 ? "device" : "devices"}`,
    !map.isCut && neighbors > 0 && `${formatWhole(neighbors)} ${neighbors === 1 ? "neighbor" : "neighbors"} not polled`,
  ];
  return (
    <Section title={`Links of layer ${String(layer)}`} note={counts.filter(Boolean).join(", ")}>
      <div class="bar">
        <div class="map-layers" role="group" aria-label="Layer">
          {layers.map(([value, label]) => (
            <button
              key={value}
              type="button"
              class="button"
              aria-pressed={layer === value}
              onClick={() => setQuery({ layer: value, link: undefined })}
            >
              {label}
            </button>
          ))}
        </div>
        <label class="field">
          Group by
          <select value={groupBy} onChange={(event) => setQuery({ group: event.currentTarget.value, open: undefined })}>
            {keys.map((key) => (
              <option key={key} value={key}>
                {groupLabels[key] ?? key}
              </option>
            ))}
          </select>
        </label>
        <Legend />
        {links.length > 0 && (
          <a class="skip" href="#links">
            Skip the drawing
          </a>
        )}
      </div>
      {map.isCut && (
        <p class="note">
          More than {maxNodes} devices and neighbors: groups are closed, with the number of what is in them.{" "}
          {open === "" ? (
            "Choose one to open it."
          ) : (
            <button type="button" class="button quiet" onClick={() => setQuery({ open: undefined })}>
              Close {open}
            </button>
          )}
        </p>
      )}
      <div class="map-parts">
        <Drawing
          map={map}
          chosen={chosen}
          choose={choose}
          openGroup={(group) => setQuery({ open: group, device: undefined, link: undefined })}
        />
        <Details map={map} devices={devices} links={links} chosen={chosen} close={() => choose({})} />
      </div>
    </Section>
  );
}

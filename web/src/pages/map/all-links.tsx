import type { JSX } from "preact";
import type { TopologyLink } from "../../api/topology.ts";
import { endName, portText } from "../../format/link-text.ts";
import { formatWhole } from "../../format/numbers.ts";
import { useQueryState } from "../../navigation/place.ts";
import { LinkTable } from "../../ui/link-table.tsx";
import { Section } from "../../ui/page.tsx";
import { Empty } from "../../ui/states.tsx";

/** Rows that are drawn; more are found by words. */
const maxShown = 500;

/** All links of both layers, found by words of their ends. */
export function AllLinks({ links }: { readonly links: readonly TopologyLink[] }): JSX.Element {
  const [query, setQuery] = useQueryState();
  const wanted = (query.get("find") ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  const found = links.filter(({ a, b }) => {
    const text = [a, b]
      .map((end) => `${endName(end)} ${end.address ?? ""} ${end.device ?? ""} ${portText(end)}`)
      .join(" ")
      .toLowerCase();
    return wanted.every((word) => text.includes(word));
  });
  return (
    <div id="links">
      <Section title="All links" note={`${formatWhole(found.length)} of ${formatWhole(links.length)}, of both layers`}>
        <div class="bar">
          <label class="field grow">
            Find
            <input
              type="search"
              value={query.get("find") ?? ""}
              placeholder="a name, an address, a port"
              onInput={(event) => setQuery({ find: event.currentTarget.value }, { replace: true })}
            />
          </label>
        </div>
        {found.length === 0 ? (
          <Empty title="No link is like this">Try other words.</Empty>
        ) : (
          <LinkTable
            caption="All links"
            rows={found.slice(0, maxShown).map((link) => ({ link, from: link.a, to: link.b }))}
          />
        )}
        {found.length > maxShown && <p class="note">The first {maxShown} are shown: find fewer of them by words.</p>}
      </Section>
    </div>
  );
}

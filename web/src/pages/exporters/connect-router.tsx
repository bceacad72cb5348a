import type { ListExportersAnswer } from "../../api/answers.gen.ts";
import type { JSX } from "preact";
import { useQueryState } from "../../navigation/place.ts";
import { CopyButton } from "../../ui/copy-button.tsx";
import { Section } from "../../ui/page.tsx";
import { routerSnippets, usualPort } from "./router-snippets.ts";

/** The commands that make a router send flows here, with this collector's address filled in. */
export function ConnectRouter({ listening }: { readonly listening: ListExportersAnswer["listening"] }): JSX.Element {
  const [query, setQuery] = useQueryState();
  const snippet = routerSnippets.find(({ id }) => id === query.get("router")) ?? routerSnippets[0];
  if (snippet === undefined) throw new Error("there are no snippets");
  const addresses = candidates(listening.addresses);
  const address = query.get("collector") ?? addresses[0] ?? "";
  const given = Number(query.get("port"));
  const port = Number.isInteger(given) && given > 0 ? given : usualPort(snippet.protocol, listening.udp);
  const text = snippet.text({ address, port });
  const isLoopback = address.startsWith("127.") || address === "::1";
  return (
    <Section title="Connect a router" note="Commands with this collector's address">
      <div class="bar">
        <label class="field grow">
          Router or agent
          <select
            value={snippet.id}
            onChange={(event) => setQuery({ router: event.currentTarget.value, port: undefined }, { replace: true })}
          >
            {routerSnippets.map(({ id, label }) => (
              <option key={id} value={id}>
                {label}
              </option>
            ))}
          </select>
        </label>
        <label class="field">
          This collector
          <input
            list="collector-addresses"
            value={address}
            onInput={(event) => setQuery({ collector: event.currentTarget.value }, { replace: true })}
          />
          <datalist id="collector-addresses">
            {addresses.map((one) => (
              <option key={one} value={one} />
            ))}
          </datalist>
        </label>
        <label class="field">
          Port
          <select value={port} onChange={(event) => setQuery({ port: event.currentTarget.value }, { replace: true })}>
            {[...new Set([port, ...listening.udp])].map((one) => (
              <option key={one} value={one}>
                {one}
              </option>
            ))}
          </select>
        </label>
      </div>
      {isLoopback && (
        <p class="fault">Routers cannot reach {address}: enter the address that this host has in their network.</p>
      )}
      <div class="snippet">
        <pre tabIndex={0} aria-label={`Commands for ${snippet.label}`}>
          {text}
        </pre>
        <CopyButton text={text} label="Copy the commands" />
      </div>
      <p class="note">{snippet.note}</p>
    </Section>
  );
}

/** What the collector knows of itself, and the name by which the browser found it. */
function candidates(known: readonly string[]): readonly string[] {
  const here = location.hostname.replace(/^\[|\]$/g, "");
  const isAddress = /^[\d.]+$/.test(here) || here.includes(":");
  const isLoopback = here.startsWith("127.") || here === "::1";
  return [...new Set([...(isAddress && !isLoopback ? [here] : []), ...known])];
}

import type { JSX } from "preact";
import { isAddress } from "../format/what-is-asked.ts";
import { hrefOfValue } from "../navigation/place.ts";

/** An address, which leads to its page; what is none, such as the name of a host, stands as it is. A port behind it stays beside the link. */
export function AddressLink({ text }: { readonly text: string }): JSX.Element {
  const [, host = text, port = ""] = /^\[(.+)\](:\d+)?$/.exec(text) ?? /^([\d.]+)(:\d+)?$/.exec(text) ?? [];
  if (!isAddress(host)) return <span class="mono">{text}</span>;
  return (
    <span class="mono">
      <a href={hrefOfValue("address", host)}>{host}</a>
      {port}
    </span>
  );
}

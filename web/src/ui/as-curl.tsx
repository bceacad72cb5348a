import type { JSX } from "preact";
import type { ApiCall } from "../api/call.ts";
import { readCredentials } from "../api/credentials.ts";
import { curlOf } from "../format/curl.ts";
import { base } from "../navigation/place.ts";
import { CopyButton } from "./copy-button.tsx";
import { DropDown } from "./drop-down.tsx";

/** The calls of a page as commands: everything shown is there for programs, too. */
export function AsCurl({ calls }: { readonly calls: readonly ApiCall[] }): JSX.Element {
  const credentials = readCredentials();
  const commands = calls.map(({ method, path, body, contentType, accept }) =>
    curlOf({
      method,
      url: location.origin + base() + path,
      body,
      contentType,
      accept,
      user: credentials?.name,
      hasToken: credentials !== undefined && credentials.name === undefined,
    }),
  );
  const text = commands.join("\n\n");
  return (
    <DropDown className="as-curl" label="as curl">
      <div class="as-curl-body">
        <pre tabIndex={0} aria-label="Commands that ask the same">
          {text}
        </pre>
        <CopyButton text={text} />
      </div>
    </DropDown>
  );
}

import type { JSX } from "preact";
import type { ApiCall } from "../api/call.ts";
import { scopeOfCall } from "../api/scope.ts";
import { useSession } from "../api/session.ts";
import { curlOf } from "../format/curl.ts";
import { base } from "../navigation/place.ts";
import { CopyButton } from "./copy-button.tsx";
import { DropDown } from "./drop-down.tsx";

/** The calls of a page as commands: everything shown is there for programs, too. */
export function AsCurl({ calls }: { readonly calls: readonly ApiCall[] }): JSX.Element {
  const { name, proof } = useSession();
  const commands = calls.map(({ method, path, body, contentType, accept }) =>
    curlOf({
      method,
      url: location.origin + base() + path,
      body,
      contentType,
      accept,
      scope: scopeOfCall(path),
      user: proof === "password" ? name : undefined,
      // Who signs in at an issuer has an API token for commands.
      hasToken: proof === "token" || proof === "issuer",
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

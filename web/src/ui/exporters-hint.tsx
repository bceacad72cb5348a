import type { JSX } from "preact";
import { useIsLimited } from "../api/session.ts";
import { hrefOf } from "../navigation/place.ts";

/** Where to look when no flows come in: a page that is not for those who are limited to scopes. */
export function ExportersHint(): JSX.Element {
  if (useIsLimited()) return <>Flows with an end in your scopes are shown.</>;
  return (
    <>
      <a href={hrefOf("exporters")}>Exporters</a> says what is wrong, and how to point a router here.
    </>
  );
}

import type { ComponentType, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { lookForCollector, useConnection } from "../api/connection.ts";
import { SessionContext, useIsLimited } from "../api/session.ts";
import { base, usePlace } from "../navigation/place.ts";
import { Empty, Failure, Loading } from "../ui/states.tsx";
import { ConnectionBanner } from "./connection-banner.tsx";
import type { PagePlace } from "../navigation/page-paths.ts";
import { loadOf } from "./page-table.ts";
import { SignIn } from "./sign-in.tsx";
import { SideBar } from "./side-bar.tsx";
import { TopBar } from "./top-bar.tsx";
import { useSignIn } from "./use-sign-in.ts";
import { useZone } from "../ui/time-zone.ts";

/** The frame around every page: navigation, the Explain box, banners, and the page itself or what stands in its place. */
export function App(): JSX.Element {
  const { page } = usePlace();
  const signIn = useSignIn();
  // All that shows times is drawn again in another zone.
  useZone();
  return (
    <SessionContext.Provider value={signIn.session ?? {}}>
      <a class="skip" href="#content">
        Skip to the content
      </a>
      <div class="frame">
        <SideBar current={page} isKnown={signIn.session !== undefined} />
        <div class="main">
          <TopBar session={signIn.session} onSignOut={signIn.signOut} />
          <ConnectionBanner />
          {signIn.signOutFault !== undefined && (
            <div class="state failure" role="alert">
              <strong>You are still signed in</strong>
              <div>{signIn.signOutFault}</div>
            </div>
          )}
          <main id="content" tabIndex={-1}>
            {signIn.isNeeded ? (
              <SignIn ways={signIn.ways} rejected={signIn.rejected} onCredentials={signIn.signIn} />
            ) : signIn.failure !== undefined ? (
              <Failure failure={signIn.failure} retry={signIn.retry} />
            ) : signIn.session === undefined ? (
              <Loading />
            ) : (
              <CurrentPage key={page} path={page} />
            )}
          </main>
        </div>
      </div>
    </SessionContext.Provider>
  );
}

/** The page of a path, once its code is there. */
function CurrentPage({ path }: { readonly path: PagePlace["page"] }): JSX.Element {
  const [Content, setContent] = useState<ComponentType | undefined>(undefined);
  const { connection, comebacks } = useConnection();
  /** The comebacks of the collector when the code could not be loaded. */
  const [brokenAt, setBrokenAt] = useState<number | undefined>(undefined);
  const load = loadOf(path, useIsLimited());
  useEffect(() => {
    let isWanted = true;
    load?.().then(
      ({ default: loaded }) => isWanted && setContent(() => loaded),
      () => {
        if (!isWanted) return;
        setBrokenAt(comebacks);
        lookForCollector();
      },
    );
    return () => {
      isWanted = false;
    };
  }, [load]);
  useEffect(() => {
    if (brokenAt !== undefined && comebacks > brokenAt) location.reload();
  }, [brokenAt, comebacks]);
  if (load === undefined) {
    return (
      <Empty title="There is no such page">
        <a href={base()}>Go to the Overview</a>
      </Empty>
    );
  }
  if (brokenAt !== undefined) {
    return connection.state === "away" ? (
      <Empty title="This page has not been loaded yet">It comes by itself when the collector is back.</Empty>
    ) : (
      <Empty title="The code of this page could not be loaded">
        The collector may have been updated:{" "}
        <button class="button" onClick={() => location.reload()}>
          Load again
        </button>
      </Empty>
    );
  }
  return Content === undefined ? <Loading /> : <Content />;
}

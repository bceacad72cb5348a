import type { ComponentType, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { SessionContext } from "../api/session.ts";
import { usePlace } from "../navigation/place.ts";
import { Empty, Failure, Loading } from "../ui/states.tsx";
import { ConnectionBanner } from "./connection-banner.tsx";
import { pageTable } from "./page-table.ts";
import { SignIn } from "./sign-in.tsx";
import { SideBar } from "./side-bar.tsx";
import { TopBar } from "./top-bar.tsx";
import { useSignIn } from "./use-sign-in.ts";

/** The frame around every page: navigation, the Explain box, banners, and the page itself or what stands in its place. */
export function App(): JSX.Element {
  const { page } = usePlace();
  const signIn = useSignIn();
  return (
    <SessionContext.Provider value={signIn.session ?? {}}>
      <a class="skip" href="#content">
        Skip to the content
      </a>
      <div class="frame">
        <SideBar current={page} />
        <div class="main">
          <TopBar session={signIn.session} onSignOut={signIn.signOut} />
          <ConnectionBanner />
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
function CurrentPage({ path }: { readonly path: string | undefined }): JSX.Element {
  const [Content, setContent] = useState<ComponentType | undefined>(undefined);
  const [isBroken, setBroken] = useState(false);
  const row = pageTable.find((candidate) => candidate.path === path);
  useEffect(() => {
    let isWanted = true;
    row?.load().then(
      ({ default: loaded }) => isWanted && setContent(() => loaded),
      () => isWanted && setBroken(true),
    );
    return () => {
      isWanted = false;
    };
  }, [row]);
  if (row === undefined) {
    return (
      <Empty title="There is no such page">
        <a href=".">Go to the Overview</a>
      </Empty>
    );
  }
  if (isBroken) {
    return (
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

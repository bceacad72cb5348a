/** Asks for a page with the cookies of all before it, and follows redirections. */
export type Browser = (url: string, init?: RequestInit) => Promise<Response>;

/** A browser without pictures: it keeps cookies and follows redirections. */
export function createBrowser(): Browser {
  const jar = new Map<string, string>();
  return async (url: string, init: RequestInit = {}): Promise<Response> => {
    let [target, request] = [url, init];
    for (let hops = 0; hops < 12; hops++) {
      const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join("; ");
      const headers = { ...(request.headers as Record<string, string> | undefined), cookie };
      const response = await fetch(target, { ...request, headers, redirect: "manual" });
      for (const set of response.headers.getSetCookie()) {
        const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
        if (value === "") jar.delete(name);
        else jar.set(name, value);
      }
      const location = response.headers.get("location");
      if (location === null) return response;
      [target, request] = [new URL(location, target).href, {}];
    }
    throw new Error("too many redirections");
  };
}

/** Where the first form of a page goes. @throws Error when it has none */
export function actionOf(html: string): string {
  const [, action] = /<form[^>]*action="([^"]+)"/.exec(html) ?? [];
  if (action === undefined) throw new Error(`a page without a form: ${html.slice(0, 500)}`);
  return action.replaceAll("&amp;", "&");
}

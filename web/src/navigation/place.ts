import { useEffect, useState } from "preact/hooks";
import { isAddress, whatIsAsked } from "../format/what-is-asked.ts";
import { deepPath, placeOf, type PagePath, type PagePlace } from "./page-paths.ts";

/** Where the browser is: a page and its state. */
export interface Place extends PagePlace {
  readonly query: URLSearchParams;
}

/** Values for the address bar; undefined and "" are left out of it. */
export type QueryValues = Readonly<Record<string, string | number | boolean | undefined>>;

const listeners = new Set<() => void>();
const notify = (): void => {
  for (const listener of listeners) listener();
};

/** The folder above that of the scripts, as they are built (`assets/`), or as they are written. */
const ownPath = new URL(import.meta.url).pathname;
const basePath = ownPath.replace(/(?:assets|src\/navigation)\/[^/]*$/, "");

/** What stands before every path of this collector: `/`, or what a proxy puts there. */
export const base = (): string => basePath;

/** The address of a page, for links. */
export function hrefOf(page: PagePath, query: QueryValues = {}): string {
  return withQuery(base() + page, query);
}

function withQuery(path: string, query: QueryValues): string {
  const values = Object.entries(query).filter(([, value]) => value !== undefined && value !== "");
  const text = new URLSearchParams(values.map(([name, value]) => [name, String(value)])).toString();
  return path + (text === "" ? "" : `?${text}`);
}

/** The address of the page of a value: of an IP address, a prefix, a tag, or any other value of a field. */
export function hrefOfValue(field: string, value: string, query: QueryValues = {}): string {
  const path = field === "address" ? deepPath("address", value) : deepPath("value", field, value);
  return path === undefined
    ? withQuery(`${base()}value/${encodeURIComponent(field)}`, { ...query, is: value })
    : withQuery(base() + path, query);
}

/** The address of the page that says what a text is: an address and a prefix have their own, words are searched for. */
export function hrefOfText(text: string): string {
  const asked = whatIsAsked(text);
  if (asked.kind === "address") return hrefOfValue("address", asked.text);
  return asked.kind === "prefix" ? hrefOfValue("prefix", asked.text) : hrefOf("explain", { q: text });
}

/** What a deep path stands for; undefined when it is of another page. */
export function valueAt({ page, rest, query }: Place): { readonly field: string; readonly value: string } | undefined {
  const [field = "", ...value] = rest;
  if (page === "address") return { field: isAddress(rest.join("/")) ? "address" : "prefix", value: rest.join("/") };
  return page === "value" ? { field, value: query.get("is") ?? value.join("/") } : undefined;
}

/** Goes to an address of these pages; `replace` leaves no step for "back". */
export function navigate(href: string, { replace = false } = {}): void {
  const url = new URL(href, location.href);
  if (url.href === location.href) return;
  const isNewPage = url.pathname !== location.pathname;
  history[replace ? "replaceState" : "pushState"](null, "", url.href);
  notify();
  if (isNewPage) scrollTo(0, 0);
}

function current(): Place {
  return { ...placeOf(location.pathname, base()), query: new URLSearchParams(location.search) };
}

/** The place, as it changes. */
export function usePlace(): Place {
  const [place, setPlace] = useState(current);
  useEffect(() => {
    const update = (): void => setPlace(current());
    listeners.add(update);
    update();
    return () => void listeners.delete(update);
  }, []);
  return place;
}

/** The state of a page in the address bar, and what changes parts of it: each change is a step for "back" unless `replace`. */
export function useQueryState(): readonly [
  URLSearchParams,
  (changes: QueryValues, how?: { readonly replace?: boolean }) => void,
] {
  const { query } = usePlace();
  return [
    query,
    (changes, how) => {
      const next = new URLSearchParams(location.search);
      for (const [name, value] of Object.entries(changes)) {
        if (value === undefined || value === "") next.delete(name);
        else next.set(name, String(value));
      }
      const text = next.toString();
      navigate(location.pathname + (text === "" ? "" : `?${text}`), how);
    },
  ];
}

/** Takes clicks on links to pages, and "back". @returns what ends that. */
export function followLinks(): () => void {
  const onClick = (event: MouseEvent): void => {
    if (event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    if (!(link instanceof HTMLAnchorElement) || link.target !== "" || link.hasAttribute("download")) return;
    const url = new URL(link.href);
    if (url.origin !== location.origin || url.hash !== "") return;
    if (!url.pathname.startsWith(base()) || placeOf(url.pathname, base()).page === undefined) return;
    event.preventDefault();
    navigate(url.href);
  };
  document.addEventListener("click", onClick);
  addEventListener("popstate", notify);
  return () => {
    document.removeEventListener("click", onClick);
    removeEventListener("popstate", notify);
  };
}

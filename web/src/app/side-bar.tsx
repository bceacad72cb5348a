import type { JSX } from "preact";
import { hrefOf } from "../navigation/place.ts";
import { pageTable } from "./page-table.ts";

/** The pages, the current one marked. */
export function SideBar({ current }: { readonly current: string | undefined }): JSX.Element {
  return (
    <nav class="side" aria-label="Pages">
      <a class="brand" href={hrefOf("")} aria-label="netgloss, to the Overview">
        <svg viewBox="0 0 32 32" width="26" height="26" aria-hidden="true">
          <rect width="32" height="32" rx="7" class="brand-back" />
          <path d="M8 22V11l11 11V11M23 10v7" class="brand-line" />
          <circle cx="23" cy="22" r="2" class="brand-dot" />
        </svg>
        <span>netgloss</span>
      </a>
      <ul>
        {pageTable.map(({ path, label }) => (
          <li key={path}>
            <a href={hrefOf(path)} aria-current={path === current ? "page" : undefined}>
              {label}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}

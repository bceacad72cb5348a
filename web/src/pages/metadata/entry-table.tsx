import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Entry } from "../../api/entry.ts";
import { formatWhole } from "../../format/numbers.ts";
import { Loading } from "../../ui/states.tsx";
import { pageSize, type EntryPages } from "./entry-pages.ts";
import { EntryRow } from "./entry-row.tsx";
import type { LoadedPages } from "./use-entry-pages.ts";

/** Of a row, in pixels; this many rows stay below what browsers can scroll. */
const rowHeight = 32;
const maxRows = 1_040_000;
/** Rows that are drawn above and below what is seen. */
const margin = 12;

export interface EntryTableProps {
  readonly loaded: LoadedPages;
  /** How many there are in all, where that is known. */
  readonly total: number | undefined;
  readonly selected: ReadonlySet<string>;
  readonly select: (keys: readonly string[], isSelected: boolean) => void;
  readonly open: (entry: Entry) => void;
  /** The entry whose name and tags are edited in their row. */
  readonly save: (entry: Entry, known: Entry) => Promise<void>;
}

/** A table of any length: only what is seen is drawn, and only the pages around it are in memory. */
export function EntryTable({ loaded, total, selected, select, open, save }: EntryTableProps): JSX.Element {
  const { pages, want } = loaded;
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(600);
  const [active, setActive] = useState(0);
  const [editing, setEditing] = useState<string | undefined>(undefined);
  const anchor = useRef(0);

  useEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    const observer = new ResizeObserver(() => setHeight(element.clientHeight));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    setActive(0);
    setEditing(undefined);
    box.current?.scrollTo(0, 0);
  }, [pages]);

  // The scroll bar stands for all rows; those that are on their way are drawn empty.
  const shown = pages.hasMore ? Math.max(pages.known, Math.min(total ?? 0, maxRows)) : pages.known;
  const first = Math.max(0, Math.floor(top / rowHeight) - margin);
  const last = Math.min(shown, Math.ceil((top + height) / rowHeight) + margin);
  useEffect(() => want(first, last), [pages, first, last]);

  const move = (to: number): void => {
    const next = Math.max(0, Math.min(shown - 1, to));
    setActive(next);
    const element = box.current;
    if (element === null) return;
    const headHeight = rowHeight;
    if (next * rowHeight < element.scrollTop) element.scrollTop = next * rowHeight;
    else if ((next + 1) * rowHeight > element.scrollTop + element.clientHeight - headHeight)
      element.scrollTop = (next + 1) * rowHeight - element.clientHeight + headHeight;
  };
  const toggle = (index: number, isRange: boolean): void => {
    const entry = pages.rowAt(index);
    if (entry === undefined) return;
    const [from, to] = isRange ? [Math.min(anchor.current, index), Math.max(anchor.current, index)] : [index, index];
    anchor.current = index;
    const keys: string[] = [];
    for (let i = from; i <= to; i++) {
      const row = pages.rowAt(i);
      if (row !== undefined && (row.layer ?? "") === "") keys.push(row.key);
    }
    select(keys, !selected.has(entry.key));
  };
  const onKey = (event: KeyboardEvent): void => {
    if (event.target !== box.current) return;
    const page = Math.max(1, Math.floor(height / rowHeight) - 2);
    const steps: Readonly<Record<string, () => void>> = {
      ArrowDown: () => move(active + 1),
      ArrowUp: () => move(active - 1),
      PageDown: () => move(active + page),
      PageUp: () => move(active - page),
      Home: () => move(0),
      End: () => move(shown - 1),
      " ": () => toggle(active, event.shiftKey),
      Enter: () => {
        const entry = pages.rowAt(active);
        if (entry !== undefined) open(entry);
      },
      F2: () => setEditing(pages.rowAt(active)?.key),
    };
    const step = steps[event.key];
    if (step === undefined) return;
    event.preventDefault();
    step();
  };

  const rows: JSX.Element[] = [];
  for (let index = first; index < last; index++) {
    const entry = pages.rowAt(index);
    rows.push(
      <EntryRow
        key={index}
        index={index}
        top={index * rowHeight}
        entry={entry}
        isActive={index === active}
        isSelected={entry !== undefined && selected.has(entry.key)}
        isEditing={entry !== undefined && entry.key === editing}
        toggle={(isRange) => {
          setActive(index);
          toggle(index, isRange);
          // The keys go on from here.
          box.current?.focus({ preventScroll: true });
        }}
        open={open}
        edit={(isOn) => {
          setEditing(isOn ? entry?.key : undefined);
          if (!isOn) box.current?.focus();
        }}
        save={save}
      />,
    );
  }
  if (!loaded.isLoaded) return <Loading what="Reading entries" />;
  const count = pages.hasMore ? (total ?? -1) : pages.known;
  return (
    <>
      <div
        ref={box}
        class="entry-table"
        role="grid"
        tabIndex={0}
        aria-label="Entries"
        aria-rowcount={count < 0 ? -1 : count + 1}
        aria-multiselectable="true"
        aria-activedescendant={`entry-${active}`}
        onScroll={(event) => setTop(event.currentTarget.scrollTop)}
        onKeyDown={onKey}
      >
        <div class="entry-row entry-head" role="row" aria-rowindex={1}>
          <span role="columnheader">
            <span class="hidden">Selected</span>
          </span>
          <span role="columnheader">Key</span>
          <span role="columnheader">Name</span>
          <span role="columnheader" class="minor">
            Tags
          </span>
          <span role="columnheader" class="minor number">
            VLAN
          </span>
          <span role="columnheader" class="minor">
            Metadata
          </span>
        </div>
        <div class="entry-rows" role="presentation" style={{ height: `${shown * rowHeight}px` }}>
          {rows}
        </div>
      </div>
      <p class="note entry-foot">
        {countText(pages, total, last)} Arrow keys move, space selects, Enter opens, F2 edits in place.
      </p>
    </>
  );
}

function countText({ known, hasMore }: EntryPages, total: number | undefined, last: number): string {
  if (!hasMore) return `${formatWhole(known)} ${known === 1 ? "entry" : "entries"}.`;
  if (total === undefined) return `${formatWhole(known)} entries so far; scroll for more.`;
  if (last > known + pageSize)
    return `On the way to row ${formatWhole(last)}: ${formatWhole(known)} of ${formatWhole(total)} entries are read.`;
  return `${formatWhole(total)} entries.`;
}

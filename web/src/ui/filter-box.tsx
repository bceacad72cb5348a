import type { JSX } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { completeFilter, type Completion, type CompletionItem, type FilteredThing } from "../api/completion.ts";
import { formatNumber } from "../format/numbers.ts";

/** How long somebody has to stop typing before it is asked, milliseconds. */
const pauseMs = 80;

export interface FilterBoxProps {
  readonly of?: FilteredThing;
  readonly text: string;
  readonly placeholder?: string;
  readonly onText: (text: string) => void;
  readonly isInvalid: boolean;
  readonly describedBy: string | undefined;
}

/**
 * A line in which a filter is written: what may stand at the cursor is offered below it. Arrows choose, Enter and Tab take what is chosen, Escape closes;
 * Ctrl and the blank open it again. Enter without a choice applies the filter.
 */
export function FilterBox({
  of = "records",
  text,
  placeholder = "src in 10.0.0.0/8 and dst.tag = pci",
  onText,
  isInvalid,
  describedBy,
}: FilterBoxProps): JSX.Element {
  const input = useRef<HTMLInputElement>(null);
  const list = useRef<HTMLUListElement>(null);
  const id = useId();
  const { completion, ask, close } = useCompletion(of);
  const [chosen, setChosen] = useState(-1);
  useEffect(() => setChosen(-1), [completion]);
  useEffect(() => list.current?.children[chosen]?.scrollIntoView({ block: "nearest" }), [chosen]);
  const items = completion?.items ?? [];
  const isOpen = items.length > 0;

  const take = (item: CompletionItem | undefined): void => {
    const box = input.current;
    // What was offered for another text would be put in the wrong place: the next offer is under way.
    if (item === undefined || completion === undefined || box === null || completion.of !== text) return;
    const before = text.slice(0, completion.from) + item.insert;
    const behind = text.slice(completion.to);
    const next = `${before} ${behind.replace(/^ /, "")}`;
    onText(next);
    box.value = next;
    box.setSelectionRange(before.length + 1, before.length + 1);
    box.focus();
    ask(next, before.length + 1);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const box = input.current;
    // The keys are those of an input method, which composes a character.
    if (event.isComposing) return;
    if (event.key === " " && event.ctrlKey && box !== null) {
      event.preventDefault();
      ask(box.value, box.selectionStart ?? box.value.length);
    } else if (!isOpen) {
      return;
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      const step = event.key === "ArrowDown" ? 1 : -1;
      // One place is that of none: the line itself.
      setChosen(((chosen + 1 + step + items.length + 1) % (items.length + 1)) - 1);
    } else if (event.key === "Escape") {
      event.stopPropagation();
      close();
    } else if ((event.key === "Enter" || event.key === "Tab") && chosen >= 0) {
      event.preventDefault();
      take(items[chosen]);
    } else if (event.key === "Enter") close();
  };
  return (
    <div class="filter-box">
      <input
        ref={input}
        class="mono"
        role="combobox"
        aria-label="Filter"
        aria-expanded={isOpen}
        aria-controls={isOpen ? id : undefined}
        aria-autocomplete="list"
        aria-activedescendant={isOpen && chosen >= 0 ? `${id}-${String(chosen)}` : undefined}
        aria-invalid={isInvalid}
        aria-describedby={describedBy}
        value={text}
        placeholder={placeholder}
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
        onInput={(event) => {
          const { value, selectionStart } = event.currentTarget;
          onText(value);
          setChosen(-1);
          ask(value, selectionStart ?? value.length);
        }}
        onKeyDown={onKeyDown}
        onBlur={close}
      />
      {isOpen && (
        <ul ref={list} id={id} class="offers" role="listbox" aria-label="What may stand here">
          {items.map((item, index) => (
            <li
              key={item.insert}
              id={`${id}-${String(index)}`}
              role="option"
              aria-selected={index === chosen}
              // The line keeps the focus.
              onMouseDown={(event) => event.preventDefault()}
              onClick={() => take(item)}
            >
              <code>{item.insert}</code>
              {item.bytes === undefined ? (
                <span class="note">{item.detail}</span>
              ) : (
                <span class="note number">{formatNumber(item.bytes, "B")}</span>
              )}
            </li>
          ))}
        </ul>
      )}
      <span class="hidden" role="status">
        {isOpen ? `${String(items.length)} to choose from` : ""}
      </span>
    </div>
  );
}

type Offered = Completion & { readonly of: string };

/** What may stand at a cursor, asked when nobody has typed for a moment. A collector that cannot say so is no fault: one writes on. */
function useCompletion(of: FilteredThing): {
  /** And the text that it is of. */
  readonly completion: Offered | undefined;
  readonly ask: (text: string, cursor: number) => void;
  readonly close: () => void;
} {
  const [completion, setCompletion] = useState<Offered | undefined>(undefined);
  const asking = useRef<AbortController | undefined>(undefined);
  const stop = (): void => asking.current?.abort();
  useEffect(() => stop, []);
  const offer = async (text: string, cursor: number, signal: AbortSignal): Promise<void> => {
    if (signal.aborted) return;
    const found = await completeFilter(of, text, cursor, signal).catch(() => undefined);
    if (!signal.aborted) setCompletion(found && { ...withoutDone(found, text, cursor), of: text });
  };
  return {
    completion,
    ask(text, cursor) {
      stop();
      const gone = new AbortController();
      asking.current = gone;
      setTimeout(() => void offer(text, cursor, gone.signal), pauseMs);
    },
    close() {
      stop();
      setCompletion(undefined);
    },
  };
}

/** What is written already is no offer. */
function withoutDone(found: Completion, text: string, cursor: number): Completion {
  const written = text.slice(found.from, cursor);
  return { ...found, items: found.items.filter(({ insert }) => insert !== written) };
}

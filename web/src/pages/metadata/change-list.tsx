import type { JSX } from "preact";
import type { EntryChange } from "../../api/entries.ts";
import { formatWhole } from "../../format/numbers.ts";
import { EntryDiff } from "../../ui/entry-diff.tsx";

/** Changes that are drawn. */
const maxShown = 200;

/** What happens to entries, one by one. */
export function ChangeList({
  changes,
  count = changes.length,
}: {
  readonly changes: readonly EntryChange[];
  readonly count?: number;
}): JSX.Element {
  const shown = changes.slice(0, maxShown);
  if (shown.length === 0) return <p class="note">Its entries are not kept, or too many to be shown.</p>;
  return (
    <div class="changes" tabIndex={0} role="region" aria-label="Changes of entries">
      {shown.map((change) => (
        <EntryDiff key={change.key} change={change} />
      ))}
      {count > shown.length && <p class="note">… and {formatWhole(count - shown.length)} more</p>}
    </div>
  );
}

import type { JSX } from "preact";
import { useState } from "preact/hooks";

/** Where a file is dropped, or chosen. */
export function FileDrop({
  isSmall,
  take,
}: {
  readonly isSmall: boolean;
  readonly take: (file: File) => Promise<void>;
}): JSX.Element {
  const [isOver, setOver] = useState(false);
  return (
    <label
      class={["drop", isOver ? "over" : "", isSmall ? "small" : ""].join(" ")}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        const file = event.dataTransfer?.files[0];
        if (file !== undefined) void take(file);
      }}
    >
      <span>
        {isSmall
          ? "Another file: drop it here, or choose it"
          : "Drop a CSV, JSON, NDJSON or YAML file here, or choose it"}
      </span>
      <input
        type="file"
        accept=".csv,.tsv,.txt,.json,.ndjson,.jsonl,.yml,.yaml"
        onChange={(event) => {
          const file = event.currentTarget.files?.[0];
          if (file !== undefined) void take(file);
        }}
      />
    </label>
  );
}

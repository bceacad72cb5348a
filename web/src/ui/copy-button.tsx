import { useState } from "preact/hooks";
import type { JSX } from "preact";

/** Copies a text, and says so. Where the browser gives no clipboard (plain HTTP to another host) the text is selected by hand. */
export function CopyButton({
  text,
  label = "Copy",
  isQuiet = true,
}: {
  readonly text: string;
  readonly label?: string;
  readonly isQuiet?: boolean;
}): JSX.Element {
  const [said, setSaid] = useState("");
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
      setSaid("Copied");
    } catch {
      setSaid("Not copied: select the text instead");
    }
    setTimeout(() => setSaid(""), 2000);
  };
  return (
    <button type="button" class={isQuiet ? "button quiet" : "button"} onClick={() => void copy()}>
      {said === "" ? label : said}
    </button>
  );
}

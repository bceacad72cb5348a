import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";

export interface DropDownProps {
  readonly label: string;
  readonly className: string;
  /** Of the part that opens and closes it. */
  readonly summaryClass?: string;
  readonly children: ComponentChildren;
}

/** Something that opens below its name. Escape and a click elsewhere close it. */
export function DropDown({ label, className, summaryClass, children }: DropDownProps): JSX.Element {
  const details = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    const close = (hasFocus: boolean): void => {
      const element = details.current;
      if (element?.open !== true) return;
      element.open = false;
      if (hasFocus) element.querySelector("summary")?.focus();
    };
    const onKey = (event: KeyboardEvent): void => {
      if (event.key === "Escape") close(true);
    };
    const onPointer = (event: PointerEvent): void => {
      if (event.target instanceof Node && details.current?.contains(event.target) === false) close(false);
    };
    document.addEventListener("keydown", onKey);
    document.addEventListener("pointerdown", onPointer);
    return () => {
      document.removeEventListener("keydown", onKey);
      document.removeEventListener("pointerdown", onPointer);
    };
  }, []);
  return (
    <details ref={details} class={className}>
      <summary class={summaryClass}>{label}</summary>
      {children}
    </details>
  );
}

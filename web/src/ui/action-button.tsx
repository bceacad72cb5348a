import { useId, useRef, useState } from "preact/hooks";
import type { ComponentChildren, JSX } from "preact";
import { useLack, type Area, type Role } from "../api/session.ts";

export interface ActionButtonProps {
  /** The least role that may do it. */
  readonly needs: Role;
  readonly area?: Area;
  /** Why it cannot be done now, for another reason. */
  readonly lack?: string | undefined;
  readonly kind?: "primary" | "danger" | "plain";
  /** Enter in a field of the form around it does it, too. */
  readonly takesEnter?: boolean;
  readonly onAction: () => void | Promise<void>;
  readonly children: ComponentChildren;
}

/** A button that does something. It stays in reach of the keyboard when it may not be used, and says why. */
export function ActionButton({
  needs,
  area,
  lack: otherLack,
  kind = "plain",
  takesEnter = false,
  onAction,
  children,
}: ActionButtonProps): JSX.Element {
  const lackOfRole = useLack(needs, area);
  const lack = lackOfRole ?? otherLack;
  const id = useId();
  const [isBusy, setBusy] = useState(false);
  // A second click may come before the button is drawn as busy.
  const isRunning = useRef(false);
  const act = async (): Promise<void> => {
    if (lack !== undefined || isRunning.current) return;
    isRunning.current = true;
    setBusy(true);
    try {
      await onAction();
    } finally {
      isRunning.current = false;
      setBusy(false);
    }
  };
  return (
    <>
      <button
        type={takesEnter ? "submit" : "button"}
        class={kind === "plain" ? "button" : `button ${kind}`}
        aria-disabled={lack !== undefined || isBusy}
        aria-describedby={lack === undefined ? undefined : id}
        title={lack}
        onClick={(event) => {
          event.preventDefault();
          void act();
        }}
      >
        {children}
      </button>
      {lack !== undefined && (
        <span id={id} class="hidden">
          {lack}
        </span>
      )}
    </>
  );
}

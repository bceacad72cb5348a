import { useId, useState } from "preact/hooks";
import type { ComponentChildren, JSX } from "preact";
import { useLack, type Area, type Role } from "../api/session.ts";

export interface ActionButtonProps {
  /** The least role that may do it. */
  readonly needs: Role;
  readonly area?: Area;
  /** Why it cannot be done now, for another reason. */
  readonly lack?: string | undefined;
  readonly kind?: "primary" | "danger" | "plain";
  readonly onAction: () => void | Promise<void>;
  readonly children: ComponentChildren;
}

/** A button that does something. It stays in reach of the keyboard when it may not be used, and says why. */
export function ActionButton({
  needs,
  area,
  lack: otherLack,
  kind = "plain",
  onAction,
  children,
}: ActionButtonProps): JSX.Element {
  const lackOfRole = useLack(needs, area);
  const lack = lackOfRole ?? otherLack;
  const id = useId();
  const [isBusy, setBusy] = useState(false);
  const act = async (): Promise<void> => {
    if (lack !== undefined || isBusy) return;
    setBusy(true);
    try {
      await onAction();
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      <button
        type="button"
        class={kind === "plain" ? "button" : `button ${kind}`}
        aria-disabled={lack !== undefined || isBusy}
        aria-describedby={lack === undefined ? undefined : id}
        title={lack}
        onClick={() => void act()}
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

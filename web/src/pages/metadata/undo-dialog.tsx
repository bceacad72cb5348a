import type { JSX } from "preact";
import { callApi, toolsPath, type ApiCall } from "../../api/call.ts";
import type { EntryChange } from "../../api/entries.ts";
import { useCall } from "../../api/use-call.ts";
import { ActionButton } from "../../ui/action-button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Failure, Shown } from "../../ui/states.tsx";
import { useAction } from "../../ui/use-action.ts";
import { ChangeList } from "./change-list.tsx";

interface UndoAnswer {
  readonly change?: number;
  readonly changes?: readonly EntryChange[];
}

const undoCall = (id: number, dryRun: boolean): ApiCall => ({ path: toolsPath("UndoChange"), body: { id, dryRun } });

export interface UndoDialogProps {
  readonly number: number;
  readonly onClose: () => void;
  readonly changed: (what: string) => void;
}

/** Shows what undoing a change would put back, then does it. */
export function UndoDialog({ number, onClose, changed }: UndoDialogProps): JSX.Element {
  const preview = useCall<UndoAnswer>(undoCall(number, true));
  const action = useAction();
  const undo = async (): Promise<void> => {
    const isDone = await action.run(async () => {
      const { change = 0 } = await callApi<UndoAnswer>(undoCall(number, false), { timeoutMs: 120_000 });
      changed(`Change ${number} is undone by change ${change}`);
    });
    if (isDone) onClose();
  };
  return (
    <Dialog title={`Undo change ${number}`} onClose={onClose} isWide>
      <Shown of={preview}>
        {({ changes = [] }) => (
          <>
            <p>This would be done:</p>
            <ChangeList changes={changes} />
          </>
        )}
      </Shown>
      {action.failure !== undefined && <Failure failure={action.failure} />}
      <div class="dialog-actions">
        <button type="button" class="button" onClick={onClose}>
          Leave it
        </button>
        <ActionButton
          needs="editor"
          area="metadata"
          kind="primary"
          lack={preview.answer === undefined ? "It cannot be undone: see above." : undefined}
          onAction={undo}
        >
          {action.isBusy ? "Undoing …" : "Undo it"}
        </ActionButton>
      </div>
    </Dialog>
  );
}

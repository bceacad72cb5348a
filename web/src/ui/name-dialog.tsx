import type { JSX } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { ApiFailure } from "../api/api-failure.ts";
import { callApi, udmPath } from "../api/call.ts";
import { useLack } from "../api/session.ts";

export interface NameDialogProps {
  /** The address or prefix that is to have a name. */
  readonly address: string;
  /** The name that it has by its own entry, if it has one. */
  readonly name?: string;
  readonly onClose: (saved: boolean) => void;
}

/** Gives an address a name: a new entry, or the name of the entry that it has. */
export function NameDialog({ address, name: oldName = "", onClose }: NameDialogProps): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useId();
  const lack = useLack("editor", "metadata");
  const [key, setKey] = useState(address);
  const [name, setName] = useState(oldName);
  const [tags, setTags] = useState("");
  const [failure, setFailure] = useState<ApiFailure | undefined>(undefined);
  const [isBusy, setBusy] = useState(false);
  useEffect(() => {
    const before = document.activeElement;
    dialog.current?.showModal();
    return () => {
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  const save = async (): Promise<void> => {
    setBusy(true);
    setFailure(undefined);
    try {
      await saveName(key.trim(), name.trim(), tags);
      onClose(true);
    } catch (error) {
      setFailure(error instanceof ApiFailure ? error : new ApiFailure("refused", String(error)));
      setBusy(false);
    }
  };
  return (
    <dialog ref={dialog} aria-labelledby={heading} onClose={() => onClose(false)}>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        <h2 id={heading}>Name {address}</h2>
        <label>
          Address, prefix or range
          <input class="mono" value={key} onInput={(event) => setKey(event.currentTarget.value)} required />
        </label>
        <label>
          Name
          <input
            value={name}
            onInput={(event) => setName(event.currentTarget.value)}
            // The dialog is opened to type it.
            autofocus
            required
          />
        </label>
        <label>
          Tags, with commas between them
          <input value={tags} onInput={(event) => setTags(event.currentTarget.value)} />
        </label>
        {failure !== undefined && (
          <p class="fault" role="alert">
            {failure.message}
          </p>
        )}
        {lack !== undefined && <p class="fault">{lack}</p>}
        <div class="bar">
          <button class="button primary" disabled={isBusy || lack !== undefined}>
            Save
          </button>
          <button type="button" class="button" onClick={() => dialog.current?.close()}>
            Cancel
          </button>
        </div>
      </form>
    </dialog>
  );
}

async function saveName(key: string, name: string, tagText: string): Promise<void> {
  const tags = tagText
    .split(",")
    .map((tag) => tag.trim())
    .filter((tag) => tag !== "");
  const udm = { key, name, ...(tags.length > 0 && { tags }) };
  try {
    await callApi({ path: udmPath("CreateUdm"), body: { udm } });
  } catch (error) {
    if (!(error instanceof ApiFailure) || error.code !== "already_exists") throw error;
    const mask = tags.length > 0 ? "name,tags" : "name";
    await callApi({ path: udmPath("UpdateUdm"), body: { udm, update_mask: mask } });
  }
}

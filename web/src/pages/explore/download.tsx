import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { request, type ApiCall } from "../../api/call.ts";

/** The answer as a file. It is asked by a script, which has the password where there is one. */
export function Download({ call }: { readonly call: ApiCall }): JSX.Element {
  const [fault, setFault] = useState<string | undefined>(undefined);
  const save = async (): Promise<void> => {
    try {
      setFault(undefined);
      const response = await request(
        { ...call, path: `${call.path}?format=csv`, accept: "text/csv" },
        { timeoutMs: 60_000 },
      );
      const url = URL.createObjectURL(await response.blob());
      const link = document.createElement("a");
      link.href = url;
      link.download = "netgloss-explore.csv";
      link.click();
      URL.revokeObjectURL(url);
    } catch (error) {
      setFault(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <>
      <button type="button" class="button" onClick={() => void save()}>
        CSV
      </button>
      {fault !== undefined && (
        <span class="fault" role="alert">
          {fault}
        </span>
      )}
    </>
  );
}

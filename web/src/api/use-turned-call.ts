import { callApi, type ApiCall } from "./call.ts";
import { useLoad, type Loaded, type LoadOptions } from "./use-call.ts";

/** A call that is made again with each turn; the answer before stays until then. Undefined: there is nothing to ask. */
export function useTurnedCall<Answer>(
  call: ApiCall | undefined,
  turn: number,
  options: Pick<LoadOptions, "everyMs"> = {},
): Loaded<Answer> {
  const load = call && ((signal: AbortSignal): Promise<Answer> => callApi<Answer>(call, { signal }));
  return useLoad(load, call && `${JSON.stringify(call)} ${turn}`, { ...options, keepsOld: true });
}

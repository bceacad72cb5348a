import { callApi, type ApiCall } from "./call.ts";
import { useLoad, type Loaded } from "./use-call.ts";

/** A call that is made again with each turn; the answer before stays until then. */
export function useTurnedCall<Answer>(call: ApiCall, turn: number): Loaded<Answer> {
  const load = (signal: AbortSignal): Promise<Answer> => callApi<Answer>(call, { signal });
  return useLoad(load, `${JSON.stringify(call)} ${turn}`, { keepsOld: true });
}

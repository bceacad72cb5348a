const plain =
  /^(?:@timestamp|flow\.(?:start|end)\.timestamp|flow\.(?:scaled\.)?(?:bytes|packets)|flow\.sample_rate|flow\.(?:src|dst)\.ip\.addr|flow\.(?:src|dst|server)\.l4\.port\.id|l4\.proto\.(?:id|name)|ip\.(?:version\.ver|dscp\.id|ecn\.id)|tcp\.flags\.bits)$/;

/** Shown where both ends are in the scope. */
export const ofConnection =
  /^(?:app|icmp|ip|l4|tcp)\.|^flow\.(?:client|server|direction|end|community|http|tls)\.|^flow\.locality$/;

/** What is shown of every flow with an end in the scope. */
export const isPlain = (name: string): boolean => plain.test(name);

/** The record as a caller for the scope sees it; undefined: not at all. */
export function seenFrom<T>(record: Readonly<Record<string, T>>, scope: string): Record<string, T> | undefined {
  const [ofSource, ofDestination] = ["src", "dst"].map((end) => record[`flow.${end}.scope`] === scope);
  if (ofSource !== true && ofDestination !== true) return undefined;
  const isShown = (name: string): boolean => {
    if (isPlain(name)) return true;
    if (name.startsWith("flow.src.")) return ofSource === true;
    if (name.startsWith("flow.dst.")) return ofDestination === true;
    return ofSource === true && ofDestination === true && ofConnection.test(name);
  };
  return Object.fromEntries(Object.entries(record).filter(([name]) => isShown(name)));
}

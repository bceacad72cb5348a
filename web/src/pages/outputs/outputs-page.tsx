import type { JSX } from "preact";
import type { ApiCall } from "../../api/call.ts";
import { useCall } from "../../api/use-call.ts";
import { Page } from "../../ui/page.tsx";
import { Empty, Shown } from "../../ui/states.tsx";
import { OutputCard } from "./output-card.tsx";
import type { OutputState } from "./output-state.ts";
import "./outputs.css";

const outputsCall: ApiCall = { path: "api/v1/outputs" };

/** Where records go: what waits, what was refused and why, a test, and another try. */
export default function OutputsPage(): JSX.Element {
  const outputs = useCall<{ outputs: readonly OutputState[] }>(outputsCall, { everyMs: 3000 });
  const [first] = outputs.answer?.outputs.filter(({ canTest }) => canTest) ?? [];
  const testCall = first === undefined ? [] : [callOf(first.name, "test"), callOf(first.name, "resend")];
  return (
    <Page
      title="Outputs"
      lead="Where records go, what waits, and what was refused and why."
      calls={[outputsCall, ...testCall]}
    >
      <Shown of={outputs}>
        {(answer) =>
          answer.outputs.length === 0 ? (
            <Empty title="No output is on">
              Records are seen on these pages and go nowhere else. Turn on an output, such as{" "}
              <code>SVC_OUTPUT_FILE_ENABLE</code>, <code>SVC_OUTPUT_CLICKHOUSE_ENABLE</code> or{" "}
              <code>SVC_OUTPUT_KAFKA_ENABLE</code>, and start the collector again.
            </Empty>
          ) : (
            <div class="outputs">
              {answer.outputs.map((output) => (
                <OutputCard
                  key={output.name}
                  output={output}
                  test={callOf(output.name, "test")}
                  resend={callOf(output.name, "resend")}
                  reload={outputs.reload}
                />
              ))}
            </div>
          )
        }
      </Shown>
    </Page>
  );
}

const callOf = (name: string, operation: "test" | "resend"): ApiCall => ({
  method: "POST",
  path: `api/v1/outputs/${encodeURIComponent(name)}/${operation}`,
});

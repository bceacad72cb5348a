import type { Clock } from "../../report/index.ts";
import { DeliveryError } from "../delivery/delivery-error.ts";
import type { NameOf } from "../delivery/field-names.ts";
import type { HttpAnswer, HttpClient } from "../delivery/http-client.ts";
import { httpFailure } from "../delivery/http-failure.ts";
import { templateName } from "./index-names.ts";
import { indexTemplate, lifecyclePolicy, templateDescription, templateVersion } from "./index-template.ts";
import type { SearchOutputConfig, SearchTemplateConfig } from "./search-config.ts";

const json = { "content-type": "application/json" };
const isOk = ({ status }: HttpAnswer): boolean => status >= 200 && status < 300;

/**
 * Judges the server, and makes the lifecycle policy and the index template that it needs. A user who may only write gets
 * a warning for what it may not make, because somebody else may have.
 *
 * @returns warnings. @throws DeliveryError when the server cannot be used.
 */
export async function prepareSearch(
  client: HttpClient,
  config: SearchOutputConfig & { readonly nameOf: NameOf },
  clock: Clock,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const get = (path: string): Promise<HttpAnswer> => client.request({ method: "GET", path, signal });
  const put = (path: string, body: object): Promise<HttpAnswer> =>
    client.request({ method: "PUT", path, headers: json, body: [Buffer.from(JSON.stringify(body))], signal });
  const warnings: string[] = [];

  const judgeServer = async (): Promise<void> => {
    const answer = await get("/");
    if (answer.status === 401 || answer.status >= 500 || answer.status === 429) throw httpFailure(answer, clock);
    // A user who may only write gets 403, and some servers do not say who they are.
    if (!isOk(answer)) return;
    const { version } = parse(answer) as { version?: { number?: string; distribution?: string } };
    const product = version?.distribution === "opensearch" ? "opensearch" : "elasticsearch";
    const number = version?.number ?? "";
    if (product !== config.product) warnings.push(`the server is ${product} ${number}, not ${config.product}`);
    const [major = 0, minor = 0] = number.split(".").map(Number);
    const isOld = product === "opensearch" ? major < 2 : major < 7 || (major === 7 && minor < 17);
    if (number !== "" && isOld) warnings.push(`${product} ${number} is older than the versions that are supported`);
  };

  /** @returns the policy's name when there is one. */
  const makePolicy = async ({ policy }: SearchTemplateConfig): Promise<string | undefined> => {
    if (policy === "" || config.period !== "rollover") return undefined;
    const folder = config.product === "elasticsearch" ? "/_ilm/policy" : "/_plugins/_ism/policies";
    const path = `${folder}/${encodeURIComponent(policy)}`;
    if (isOk(await get(path))) return policy;
    const made = await put(path, lifecyclePolicy(config));
    if (isOk(made)) return policy;
    warnings.push(`the lifecycle policy ${policy} could not be made: ${httpFailure(made, clock).message}`);
    return undefined;
  };

  const makeTemplate = async (template: SearchTemplateConfig): Promise<void> => {
    const name = templateName(config);
    const path = `/_index_template/${encodeURIComponent(name)}`;
    const there = await get(path);
    if (isOk(there)) {
      const found = parse(there) as { index_templates?: { index_template?: FoundTemplate }[] };
      const { version = 0, _meta } = found.index_templates?.[0]?.index_template ?? {};
      if (!template.overwrite || version > templateVersion) return;
      if (_meta?.description !== templateDescription) {
        warnings.push(`the index template ${name} is not one of netgloss: it stays as it is`);
        return;
      }
    }
    const policy = await makePolicy(template);
    let made = await put(path, indexTemplate(config, template, policy, true));
    if (made.status === 400 && made.body.includes("unsigned_long")) {
      warnings.push("the server has no type unsigned_long: counters are long, those of 2^63 or more are not indexed");
      made = await put(path, indexTemplate(config, template, policy, false));
    }
    if (isOk(made)) return;
    const failure = httpFailure({ ...made, body: Buffer.from(deepestReason(parse(made))) }, clock);
    if (made.status === 401 || made.status === 429 || made.status >= 500) throw failure;
    if (isOk(there)) warnings.push(`the index template ${name} could not be replaced: ${failure.message}`);
    else if (made.status === 403) {
      warnings.push(
        `the index template ${name} could not be made, types of fields will be guessed: ${failure.message}`,
      );
    } else {
      throw new DeliveryError("operator", failure.code, `the index template ${name} is refused: ${failure.message}`);
    }
  };

  await judgeServer();
  if (config.template !== undefined) await makeTemplate(config.template);
  return warnings;
}

interface FoundTemplate {
  readonly version?: number;
  readonly _meta?: { readonly description?: string };
}

/** The servers wrap the reason of an error into others. */
function deepestReason(answer: unknown): string {
  let error = (answer as { error?: ServerError }).error;
  while (error?.caused_by !== undefined) error = error.caused_by;
  return error?.reason ?? "";
}

interface ServerError {
  readonly reason?: string;
  readonly caused_by?: ServerError;
}

function parse({ body }: HttpAnswer): unknown {
  try {
    return JSON.parse(body.toString()) as unknown;
  } catch {
    return {};
  }
}

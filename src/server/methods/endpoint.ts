import type { Area, Role, RouteAccess, RouteReach } from "../access/role.ts";
import { apiError } from "../api-error.ts";
import { headerOf, type Call } from "../http/call.ts";
import type { JsonSchema } from "./shape.ts";

/**
 * A row for a path of plain HTTP: its access, its handler, and its entry in the OpenAPI document. The routes, the rights and
 * the document are made from these rows.
 */
export interface Endpoint {
  /** The path. Its last segment, or the one before it, may be `{id}`, which matches any segment. */
  readonly path: string;
  /** A page answers GET, an operation POST. */
  readonly kind: "page" | "operation";
  /** The name in the metrics. */
  readonly label: string;
  readonly access: RouteAccess;
  /** True where an operation has a JSON body. */
  readonly takesBody: boolean;
  /** Serves a call. @param scope the metadata scope of the call, where the access reaches into scopes. */
  readonly serve: (call: Call, scope?: string) => Promise<void>;
  /** The entry in the OpenAPI document; undefined where it has none. */
  readonly described?: JsonSchema | undefined;
}

const root = "/api/v1/";
const labelOf = (path: string): string => path.slice(path.startsWith(root) ? root.length : 1).replace("/{id}", "");

/** Returns a row that answers POST. */
export function operation(
  path: string,
  access: RouteAccess,
  takesBody: boolean,
  serve: Endpoint["serve"],
  described?: JsonSchema,
  label = labelOf(path),
): Endpoint {
  return { path, kind: "operation", label, access, takesBody, serve, described };
}

/** Returns a row that answers GET. */
export function page(
  path: string,
  access: RouteAccess,
  serve: Endpoint["serve"],
  described?: JsonSchema,
  label = path.slice(1),
): Endpoint {
  return { path, kind: "page", label, access, takesBody: false, serve, described };
}

/** The access for anybody, without authentication. */
export const anybody: RouteAccess = { role: undefined, area: undefined };

export const allowed = (role: Role, area: Area | undefined, reach?: RouteReach): RouteAccess => ({ role, area, reach });

/** Returns the entry of an endpoint in the document. */
export function describe(
  tag: string,
  operationId: string,
  summary: string,
  responses: JsonSchema,
  rest: JsonSchema = {},
): JsonSchema {
  return { tags: [tag], operationId, summary, responses, ...rest };
}

/** The answer to a refused or failed request. */
export const failure: JsonSchema = { $ref: "#/components/responses/Error" };

/** The refusals of any method. */
export const refusals: JsonSchema = { "401": { $ref: "#/components/responses/Unauthenticated" }, default: failure };

export function jsonResponse(description: string, schema: JsonSchema): JsonSchema {
  return { description, content: { "application/json": { schema } } };
}

export function jsonBody(schema: JsonSchema): JsonSchema {
  return { requestBody: { required: true, content: { "application/json": { schema } } } };
}

export function parameter(name: string, description: string, schema: JsonSchema, where = "query"): JsonSchema {
  return { name, in: where, description, schema };
}

/** The header that selects a scope, for methods that exist in each scope, too. */
export const scopeParameter: JsonSchema = parameter(
  "udm-scope",
  "The scope of the metadata whose entries are meant; left out: those of no scope, or of the only one to which the caller is limited.",
  { type: "string" },
  "header",
);

export const anyObject: JsonSchema = { type: "object", additionalProperties: true };

/** The schema of an answer in bytes. */
export const binary: JsonSchema = { type: "string", format: "binary" };

const idSegment = "/{id}";

export const hasId = (path: string): boolean => path.split("/").includes("{id}");

/** The parameter of paths like `/things/{id}`. */
export const idParameter: JsonSchema = { name: "id", in: "path", required: true, schema: { type: "string" } };

/** Returns the row paths that match this path with its last segment, or the one before it, as `{id}`. */
export function pathsWithId(path: string): readonly [string, string] {
  const last = path.lastIndexOf("/");
  const before = path.lastIndexOf("/", last - 1);
  return [path.slice(0, last) + idSegment, path.slice(0, Math.max(0, before)) + idSegment + path.slice(last)];
}

/** Returns the id in a path, from the position of `{id}` in its row; undefined where its escapes are invalid. */
export function idIn(template: string, path: string): string | undefined {
  try {
    return decodeURIComponent(path.split("/").at(template.endsWith(idSegment) ? -1 : -2) ?? "");
  } catch {
    return undefined;
  }
}

/** Returns the OpenAPI operation id of a path, such as `viewSnmpDevices`. */
export function pageId(kind: string, path: string): string {
  return kind + path.replace(/[^A-Za-z0-9]+(.)?/g, (_, letter: string | undefined) => letter?.toUpperCase() ?? "");
}

/** The media types of answers by their names for `format` in the query. The first one is the default. */
export type AnswerFormats = Readonly<Record<string, string>>;

/** Returns the name of the requested format, from `format` in the query or from `Accept`. @throws ConnectError */
export function formatOf<Formats extends AnswerFormats>(call: Call, formats: Formats): keyof Formats & string {
  const words = Object.keys(formats);
  const asked = call.query.get("format");
  if (asked !== null && !words.includes(asked)) {
    throw apiError("invalid_argument", "BAD_FORMAT", `format must be one of ${words.join(", ")}`);
  }
  const accepted = headerOf(call.headers, "accept") ?? "";
  const isAccepted = (word: string): boolean => accepted.includes((formats[word] as string).split(";", 1)[0] as string);
  return asked ?? words.slice(1).find(isAccepted) ?? (words[0] as string);
}

/** Returns the query parameter for the formats. */
export function formatParameter(formats: AnswerFormats): JsonSchema {
  const [first, ...others] = Object.keys(formats);
  return parameter("format", "The form of the answer, which `Accept` can say, too.", {
    enum: [first, ...others],
    default: first,
  });
}

export type JsonSchema = Readonly<Record<string, unknown>>;

declare const value: unique symbol;

/**
 * The shape of a JSON value in one place: its schema for the OpenAPI document, its type for code that makes the value (`Value`), and the same
 * type as text for readers that import nothing from the collector.
 */
export interface Shape<T = unknown> {
  readonly schema: JsonSchema;
  readonly type: string;
  /** A property that never exists. It only has the type. */
  readonly [value]?: T;
}

export type Value<S extends Shape> = S extends Shape<infer T> ? T : never;

type Properties = Readonly<Record<string, Shape>>;
type ObjectOf<P extends Properties, Optional extends keyof P> = {
  readonly [Name in Exclude<keyof P, Optional>]: Value<P[Name]>;
} & { readonly [Name in Optional]?: Value<P[Name]> | undefined };

function scalar<T>(name: string, type: string, description?: string, rest: JsonSchema = {}): Shape<T> {
  return { schema: { type: name, ...rest, ...(description !== undefined && { description }) }, type };
}

export function text(description?: string, ...examples: readonly string[]): Shape<string> {
  return scalar("string", "string", description, examples.length > 0 ? { examples } : {});
}
export const integer = (description?: string): Shape<number> => scalar("integer", "number", description);
export const number = (description?: string): Shape<number> => scalar("number", "number", description);
export const flag = (description?: string): Shape<boolean> => scalar("boolean", "boolean", description);
/** Returns the shape of milliseconds since the Unix epoch. */
export const instant = (description: string): Shape<number> => integer(`${description}, milliseconds since the epoch.`);
/** Returns the shape of a time by RFC 3339. */
export const time = (description?: string): Shape<string> =>
  scalar("string", "string", description, { format: "date-time" });

export function numberOrNull(description: string): Shape<number | null> {
  return { schema: { type: ["number", "null"], description }, type: "number | null" };
}

/** A text, a number, true or false, or null. */
export const anyValue: Shape<string | number | boolean | null> = {
  schema: {},
  type: "string | number | boolean | null",
};

export const constant = <const T extends boolean>(only: T): Shape<T> => ({
  schema: { const: only },
  type: String(only),
});

/** Returns the shape of one of some texts. */
export function choice<const T extends string>(values: readonly T[], description?: string): Shape<T> {
  const type = values.map((one) => JSON.stringify(one)).join(" | ");
  return { schema: { enum: values, ...(description !== undefined && { description }) }, type };
}

export function list<T>({ schema, type }: Shape<T>, description?: string): Shape<readonly T[]> {
  return {
    schema: { type: "array", ...(description !== undefined && { description }), items: schema },
    type: `readonly (${type})[]`,
  };
}

/** Returns the shape of an object with any names and values of one shape. */
export function map<T>({ schema, type }: Shape<T>, description?: string): Shape<Readonly<Record<string, T>>> {
  return {
    schema: { type: "object", ...(description !== undefined && { description }), additionalProperties: schema },
    type: `Readonly<Record<string, ${type}>>`,
  };
}

/** Returns the shape of an object with any properties. @param rest further parts of the schema. */
export const anyObject = (description?: string, rest?: JsonSchema): Shape<Readonly<Record<string, unknown>>> =>
  scalar("object", "Readonly<Record<string, unknown>>", description, rest);

/** Returns the shape of an object with only these properties. @param optional the names of those that may be absent. */
export function object<P extends Properties, Optional extends keyof P & string = never>(
  properties: P,
  ...optional: readonly Optional[]
): Shape<ObjectOf<P, Optional>> {
  const rest = { additionalProperties: false, required: requiredOf(properties, optional) };
  return objectWith(properties, optional, rest);
}

/** Returns the shape of an object whose schema allows further properties. */
export function openObject<P extends Properties, Optional extends keyof P & string = never>(
  properties: P,
  ...optional: readonly Optional[]
): Shape<ObjectOf<P, Optional>> {
  return objectWith(properties, optional, { required: requiredOf(properties, optional) });
}

/** Returns the shape of an open object whose schema also does not list the required properties. */
export function looseObject<P extends Properties, Optional extends keyof P & string = never>(
  properties: P,
  ...optional: readonly Optional[]
): Shape<ObjectOf<P, Optional>> {
  return objectWith(properties, optional, {});
}

/** Returns the shape with a description. */
export function described<T>({ schema, type }: Shape<T>, description: string): Shape<T> {
  return { schema: { ...schema, description }, type };
}

function requiredOf(properties: Properties, optional: readonly string[]): readonly string[] {
  return Object.keys(properties).filter((name) => !optional.includes(name));
}

function objectWith<T>(properties: Properties, optional: readonly string[], rest: JsonSchema): Shape<T> {
  const entries = Object.entries(properties);
  const types = entries.map(([name, { type }]) => `readonly ${name}${optional.includes(name) ? "?" : ""}: ${type};`);
  const schemas = Object.fromEntries(entries.map(([name, { schema }]) => [name, schema]));
  return { schema: { type: "object", ...rest, properties: schemas }, type: `{ ${types.join(" ")} }` };
}

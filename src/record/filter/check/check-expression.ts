import { KeyError, parseKey, type Key } from "../../../base/ip/index.ts";
import { nearName } from "../../../base/text/index.ts";
import type { Filter, Quantity, QuantityRange } from "../filter.ts";
import { FilterError } from "../filter.ts";
import type { Expression, Operator, TermExpression } from "../syntax/parse-expression.ts";
import type { Token } from "../syntax/read-tokens.ts";
import type { KnownField, ValueType, Vocabulary } from "../vocabulary.ts";
import { maxRegexCost, regexCost, regexFault } from "../syntax/regex.ts";
import { readInstant, readQuantity, unitNames } from "./read-quantity.ts";

/** Protocols that filters may name, by IANA's keywords in lower case and by their names in common tools. */
const protocolNumbers: Readonly<Record<string, number>> = {
  icmp: 1,
  igmp: 2,
  ipip: 4,
  tcp: 6,
  egp: 8,
  igp: 9,
  udp: 17,
  rdp: 27,
  dccp: 33,
  ipv6: 41,
  rsvp: 46,
  gre: 47,
  esp: 50,
  ah: 51,
  icmpv6: 58,
  icmp6: 58,
  "ipv6-icmp": 58,
  eigrp: 88,
  ospf: 89,
  pim: 103,
  vrrp: 112,
  l2tp: 115,
  isis: 124,
  sctp: 132,
  udplite: 136,
  mpls: 137,
};

interface CheckContext {
  readonly vocabulary: Vocabulary;
  /** @throws FilterError */
  readonly fail: (token: Token, fault: string) => never;
  /** The costs of the regular expressions read so far. */
  readonly regexCosts: number[];
}

/**
 * Resolves and checks the names and values of a filter.
 *
 * @throws FilterError for an unknown name, and for a value or operator that does not fit the field.
 */
export function checkExpression(expression: Expression, text: string, source: string, vocabulary: Vocabulary): Filter {
  const fail = (token: Token, fault: string): never => {
    throw new FilterError(source, text, token.at, token.length, fault);
  };
  return checkAny(expression, { vocabulary, fail, regexCosts: [] });
}

function checkAny(expression: Expression, context: CheckContext): Filter {
  switch (expression.kind) {
    case "and":
    case "or":
      return { kind: expression.kind, filters: expression.terms.map((term) => checkAny(term, context)) };
    case "not":
      return { kind: "not", filter: checkAny(expression.term, context) };
    case "term":
      break;
  }
  return checkTerm(expression, context);
}

function checkTerm(term: TermExpression, context: CheckContext): Filter {
  const field = findName(term.name, context);
  if (term.operator === "!=") return { kind: "not", filter: checkOperator(term, "=", field, context) };
  if (term.operator === "!~") return { kind: "not", filter: checkOperator(term, "~", field, context) };
  return checkOperator(term, term.operator, field, context);
}

function findName(name: Token, { vocabulary, fail }: CheckContext): KnownField {
  // A name in backquotes is taken as a record's name, even if the table lacks it.
  if (name.kind === "name") return vocabulary.find(name.text) ?? { fields: [name.text], type: "any", unit: "" };
  const found = vocabulary.find(name.text);
  if (found === undefined) {
    const near = nearName(name.text, vocabulary.names());
    const hint = near === undefined ? "put a name that is not in the docs in backquotes" : `did you mean ${near}?`;
    return fail(name, `there is no field ${name.text}: ${hint}`);
  }
  const slip = vocabulary.slip(name.text);
  if (slip !== undefined) {
    fail(name, `did you mean ${slip}? If metadata has this name, put it in backquotes`);
  }
  return found;
}

const typeNames: Readonly<Record<ValueType, string>> = {
  address: "an address",
  number: "a number",
  time: "a time",
  text: "a text",
  boolean: "true or false",
  protocol: "a protocol",
  any: "a value",
};

/** The operators of each type of field. */
const operatorsOf: Readonly<Record<ValueType, readonly Operator[]>> = {
  address: ["=", "!=", "in", "exists"],
  number: ["=", "!=", "<", "<=", ">", ">=", "in", "exists"],
  protocol: ["=", "!=", "<", "<=", ">", ">=", "in", "exists"],
  time: ["=", "!=", "<", "<=", ">", ">=", "exists"],
  text: ["=", "!=", "~", "!~", "=~", "in", "exists"],
  boolean: ["=", "!=", "exists"],
  any: ["=", "!=", "<", "<=", ">", ">=", "~", "!~", "=~", "in", "exists"],
};

function checkOperator(
  term: TermExpression,
  operator: Exclude<Operator, "!=" | "!~">,
  field: KnownField,
  context: CheckContext,
): Filter {
  const { fields, type } = field;
  if (!operatorsOf[type].includes(term.operator)) {
    const allowed = operatorsOf[type].join(" ");
    context.fail(term.operatorToken, `${term.name.text} is ${typeNames[type]}, which has the operators ${allowed}`);
  }
  switch (operator) {
    case "exists":
      return { kind: "exists", fields };
    case "~":
      return { kind: "pattern", fields, pattern: patternOf(valueOf(term), context) };
    case "=~":
      return { kind: "regex", fields, expression: expressionOf(valueOf(term), context) };
    case "<":
    case "<=":
    case ">":
    case ">=": {
      const of = type === "time" ? "time" : "number";
      return { kind: "compare", fields, of, operator, value: quantityOf(valueOf(term), field, context) };
    }
    case "=":
    case "in":
      break;
  }
  return checkSet(term, operator, field, context);
}

function valueOf({ values }: TermExpression): Token {
  return values[0] as Token;
}

/** Checks `=` and `in`, which match one of several values. */
function checkSet(term: TermExpression, operator: "=" | "in", field: KnownField, context: CheckContext): Filter {
  const { fields, type } = field;
  const { values } = term;
  switch (type) {
    case "address":
      return { kind: "addresses", fields, keys: values.map((value) => keyOf(value, operator, term, context)) };
    case "number":
    case "protocol":
      return {
        kind: "quantities",
        fields,
        of: "number",
        ranges: values.map((value) => rangeOf(value, operator, field, context)),
      };
    case "time": {
      const instant = quantityOf(valueOf(term), field, context);
      return { kind: "quantities", fields, of: "time", ranges: [{ first: instant, last: instant }] };
    }
    case "boolean":
      return { kind: "flag", fields, value: flagOf(valueOf(term), term, context) };
    case "text":
    case "any":
      break;
  }
  return { kind: "texts", fields, values: values.map((value) => textOf(value, term, field, context)) };
}

/** Returns the text of a value. Words that the collector defines may be written in any case. */
function textOf(value: Token, term: TermExpression, { words }: KnownField, { fail }: CheckContext): string {
  if (words === undefined) return value.text;
  const wanted = value.text.toLowerCase();
  const word = words.find((one) => one.toLowerCase() === wanted);
  return word ?? fail(value, `${term.name.text} is one of ${words.join(", ")}, not ${value.text}`);
}

function keyOf(value: Token, operator: "=" | "in", term: TermExpression, { fail, vocabulary }: CheckContext): Key {
  const { readKey } = vocabulary;
  let key: Key;
  try {
    key = (readKey ?? parseKey)(value.text);
  } catch (error) {
    if (!(error instanceof KeyError)) throw error;
    const reason = error.message.replace(/^key /, "");
    if (readKey !== undefined) return fail(value, reason);
    const isNumber = /^[0-9]+$/.test(value.text);
    return fail(value, `${term.name.text} is an address: ${isNumber ? `${value.text} is a number` : reason}`);
  }
  if (operator === "=" && key.kind !== "ip") return fail(value, `${value.text} is no single address: use in`);
  return key;
}

function rangeOf(value: Token, operator: "=" | "in", field: KnownField, context: CheckContext): QuantityRange {
  const ends = operator === "in" && value.kind === "word" ? /^(-?[^-]+)-(-?[^-]+)$/.exec(value.text) : null;
  if (ends !== null && quantity(value.text, field) === undefined) {
    const first = quantityOf({ ...value, text: ends[1] as string }, field, context);
    const last = quantityOf({ ...value, text: ends[2] as string }, field, context);
    if (first > last) context.fail(value, `the range ${value.text} starts after its end`);
    return { first, last };
  }
  const only = quantityOf(value, field, context);
  return { first: only, last: only };
}

function quantity(text: string, { type, unit }: KnownField): Quantity | undefined {
  if (type === "time") return readInstant(text);
  if (type === "protocol") {
    const name = text.toLowerCase();
    if (Object.hasOwn(protocolNumbers, name)) return protocolNumbers[name];
  }
  return readQuantity(text, unit);
}

function quantityOf(value: Token, field: KnownField, { fail }: CheckContext): Quantity {
  const found = quantity(value.text, field);
  if (found !== undefined) return found;
  const [name = ""] = field.fields;
  if (field.type === "time") {
    return fail(value, `${name} is a time, such as 2026-11-22T04:00:00Z or 2026-11-22: ${value.text} is none`);
  }
  if (field.type === "protocol") {
    const near = nearName(value.text, Object.keys(protocolNumbers));
    const hint = near === undefined ? "use its number" : `did you mean ${near}?`;
    return fail(value, `there is no protocol ${value.text}: ${hint}`);
  }
  const unit = field.unit === "" ? "" : ` of ${field.unit}`;
  const isNumber = /^-?[0-9]/.test(value.text) && !/[.:].*[.:]/.test(value.text);
  const units = unitNames(field.unit);
  const choice = units.length > 12 ? [...units.slice(0, 12), "…"] : units;
  return fail(
    value,
    isNumber
      ? `${name} is a number${unit}: ${value.text} has none of its units ${choice.join(" ")}`
      : `${name} is a number${unit}: ${value.text} is none`,
  );
}

function flagOf(value: Token, term: TermExpression, { fail }: CheckContext): boolean {
  const text = value.text.toLowerCase();
  if (text !== "true" && text !== "false") fail(value, `${term.name.text} is true or false, not ${value.text}`);
  return text === "true";
}

const maxPattern = 1024;

function expressionOf(value: Token, { fail, regexCosts }: CheckContext): string {
  if (value.text.length > maxPattern) fail(value, `a regular expression has at most ${maxPattern} characters`);
  regexCosts.push(regexCost(value.text));
  if (regexCosts.reduce((sum, each) => sum + each) > maxRegexCost) {
    fail(value, "the regular expressions of the filter are too large: repeat less in them");
  }
  const fault = regexFault(value.text);
  return fault === undefined ? value.text : fail(value, fault);
}

function patternOf(value: Token, { fail }: CheckContext): string {
  if (value.text.length > maxPattern) fail(value, `a pattern has at most ${maxPattern} characters`);
  return value.text;
}

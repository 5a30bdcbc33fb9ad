/** Values as XML: maps are elements, lists repeat them, `-name` is an attribute and `#text` the text beside attributes. */
import type { Budget } from './budget.ts';
import { TemplateFailure } from './failure.ts';
import { valueText } from './print.ts';
import { isDict, isList, sortedKeys, type Value } from './value.ts';

const names: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

const escaped = (text: string): string =>
  text
    .replace(/[&<>"]/g, (char) => names[char] ?? '')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: XML has no way to write these
    .replace(/[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g, '\ufffd');

/** A map with one member that is no list is the root itself; anything else stands in `doc`. */
export function toXmlText(value: Value, budget: Budget): string {
  const [only] = isDict(value) ? [...value] : [];
  const isRoot = isDict(value) && value.size === 1 && only && !isList(only[1]) && isName(only[0]);
  const xml = isRoot ? element(only[0], only[1], budget, 0) : element('doc', value, budget, 0);
  budget.make(xml.length);
  return xml;
}

const isName = (name: string): boolean => /^[\p{L}_][\p{L}\p{Nd}_.:-]*$/u.test(name);

function element(name: string, value: Value, budget: Budget, depth: number): string {
  if (!isName(name)) throw new TemplateFailure('xmlMarshal: a member has a name that no element can have');
  budget.enter(depth);
  if (isList(value)) return value.map((one) => element(name, one, budget, depth + 1)).join('');
  if (!isDict(value)) return enclosed(name, '', value === undefined || value === null ? '' : textOf(value, budget));
  const keys = sortedKeys(value);
  const attributes = keys
    .filter((key) => key.startsWith('-') && isName(key.slice(1)))
    .map((key) => ` ${key.slice(1)}="${textOf(value.get(key), budget)}"`);
  const inner = keys
    .filter((key) => !key.startsWith('-'))
    .map((key) => (key === '#text' ? textOf(value.get(key), budget) : element(key, value.get(key), budget, depth + 1)));
  return enclosed(name, attributes.join(''), inner.join(''));
}

function textOf(value: Value, budget: Budget): string {
  const text = escaped(valueText(value ?? '', budget));
  budget.make(text.length);
  return text;
}

const enclosed = (name: string, attributes: string, inner: string): string =>
  inner === '' ? `<${name}${attributes}/>` : `<${name}${attributes}>${inner}</${name}>`;

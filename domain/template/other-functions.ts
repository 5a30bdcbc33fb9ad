/** Functions that choose, say what a value is, and write it in other forms. */
import { fromBase32, toBase32 } from './base32.ts';
import { TemplateFailure } from './failure.ts';
import { type FunctionTable, type Run, type TemplateFunction, taking } from './functions.ts';
import { fromJsonText, toJsonText } from './json-text.ts';
import { dict, text } from './operands.ts';
import { isTrue, JsonText, kindOf, typeOf, type Value } from './value.ts';
import { toXmlText } from './xml-text.ts';

const hashing = (algorithm: Parameters<Run['port']['hash']>[0]): TemplateFunction =>
  taking(1, 1, ([value], { port, budget }) => {
    budget.spend(Math.ceil(text(value).length / 256));
    return port.hash(algorithm, text(value));
  });

const json = taking(1, 1, ([value], { budget }) => new JsonText(toJsonText(value, budget)));

function decoded(name: string, result: string | undefined): string {
  if (result === undefined) throw new TemplateFailure(`${name}: the text is not in this form`);
  return result;
}

const address = /^(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?:\/\/(?:([^/?#@]*)@)?([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?$/s;

function urlParse(value: string): Value {
  const [, scheme = '', userinfo = '', host = '', path = '', query = '', fragment = ''] = address.exec(value) ?? [];
  const hostname = host.replace(/:\d*$/, '').replace(/^\[|\]$/g, '');
  const isOpaque = scheme !== '' && host === '' && path !== '' && !path.startsWith('/');
  return new Map([
    ...([
      ['scheme', scheme],
      ['userinfo', userinfo],
      ['host', host],
      ['hostname', hostname],
    ] as const),
    ...([
      ['path', isOpaque ? '' : path],
      ['opaque', isOpaque ? path : ''],
    ] as const),
    ...([
      ['query', query],
      ['fragment', fragment],
    ] as const),
  ]);
}

function urlJoin(value: Value): string {
  const parts = dict(value);
  const part = (name: string): string => {
    const found = parts.get(name) ?? '';
    return typeof found === 'string' ? found : '';
  };
  const before = (mark: string, name: string): string => (part(name) === '' ? '' : mark + part(name));
  const user = part('userinfo') === '' ? '' : `${part('userinfo')}@`;
  const scheme = part('scheme') === '' ? '' : `${part('scheme')}:`;
  const rest = before('?', 'query') + before('#', 'fragment');
  if (part('opaque') !== '') return scheme + part('opaque') + rest;
  const path = part('path');
  const slash = part('host') !== '' && path !== '' && !path.startsWith('/') ? '/' : '';
  return scheme + (part('host') === '' ? '' : `//${user}${part('host')}`) + slash + path + rest;
}

export const otherFunctions: FunctionTable = {
  default: taking(1, 2, ([absent, value]) => (isTrue(value) ? value : absent)),
  empty: taking(1, 1, ([value]) => !isTrue(value)),
  coalesce: taking(0, undefined, (values) => values.find(isTrue) ?? null),
  ternary: taking(3, 3, ([yes, no, test]) => {
    if (typeof test !== 'boolean')
      throw new TemplateFailure(`wrong type for value; expected bool; got ${typeOf(test)}`);
    return test ? yes : no;
  }),
  kindOf: taking(1, 1, ([value]) => kindOf(value)),
  kindIs: taking(2, 2, ([kind, value]) => kindOf(value) === text(kind)),
  typeOf: taking(1, 1, ([value]) => typeOf(value)),
  b64enc: taking(1, 1, ([value], { port, budget }) => {
    budget.make(text(value).length * 2);
    return port.toBase64(text(value));
  }),
  b64dec: taking(1, 1, ([value], { port }) => decoded('b64dec', port.fromBase64(text(value)))),
  b32enc: taking(1, 1, ([value], { budget }) => {
    budget.make(text(value).length * 2);
    return toBase32(text(value));
  }),
  b32dec: taking(1, 1, ([value], { budget }) => {
    budget.make(text(value).length);
    return decoded('b32dec', fromBase32(text(value)));
  }),
  toJson: json,
  jsonMarshal: json,
  toPrettyJson: taking(1, 1, ([value], { budget }) => new JsonText(toJsonText(value, budget, true))),
  fromJson: taking(1, 1, ([value], { budget }) => fromJsonText(text(value), budget)),
  xmlMarshal: taking(1, 1, ([value], { budget }) => toXmlText(value, budget)),
  md5sum: hashing('md5'),
  sha1sum: hashing('sha1'),
  sha256sum: hashing('sha256'),
  sha512sum: hashing('sha512'),
  uuidv4: taking(0, 0, (_, { port }) => port.uuid()),
  urlParse: taking(1, 1, ([value]) => urlParse(text(value))),
  urlJoin: taking(1, 1, ([value]) => urlJoin(value)),
};

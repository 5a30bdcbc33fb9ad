/** The address of a KurrentDB server, taken apart and put together again so that the client gets every part as it was meant. */
import { nearestName } from '../../../domain/errors.ts';

const options = [
  'tls',
  'tlsVerifyCert',
  'tlsCAFile',
  'userCertFile',
  'userKeyFile',
  'maxDiscoverAttempts',
  'discoveryInterval',
  'gossipTimeout',
  'defaultDeadline',
  'keepAliveInterval',
  'keepAliveTimeout',
  'connectionName',
  'nodePreference',
  'throwOnAppendFailure',
] as const;

/** The log is read where it is written, and a failed append is an error, not a result. */
const forced: Readonly<Record<string, string>> = { nodePreference: 'leader', throwOnAppendFailure: 'true' };

/** The native reader waits so long before it connects at all; its own default is half a second. */
const defaults: Readonly<Record<string, string>> = { discoveryInterval: '100' };

const addressPattern = /^(?:esdb|kurrentdb|kurrent|kdb)(\+discover)?:\/\/(?:(.*)@)?([^@/]+)\/*$/s;

/**
 * The connection string for the client. It cuts a password at its first colon unless that is encoded, knows options of any
 * name, and warns on the console about the old scheme. No text that this throws or warns repeats the address.
 */
export function connectionStringOf(url: string, warn: (text: string) => void): string {
  const [head = '', ...rest] = url.trim().split('?');
  const [, discover = '', credentials, hosts = ''] = addressPattern.exec(head) ?? [];
  if (hosts === '')
    throw new Error('store.url: a KurrentDB address reads kurrentdb://[user:password@]host:port[,…][?…]');
  const given = optionsOf(rest.join('?'));
  for (const [name, value] of Object.entries(forced)) {
    if ((given.get(name) ?? value) !== value) warn(`store.url: ${name} is always ${value} for the event log`);
    given.set(name, value);
  }
  if (credentials !== undefined && given.get('tls') === 'false') {
    warn('store.url: the credentials are not sent, because tls is false');
  }
  const query = [...new Map([...Object.entries(defaults), ...given])]
    .map(([name, value]) => `${name}=${value}`)
    .join('&');
  return `kurrentdb${discover}://${encoded(credentials)}${hosts}?${query}`;
}

function optionsOf(query: string): Map<string, string> {
  const given = new Map<string, string>();
  for (const pair of query === '' ? [] : query.split('&')) {
    const [word = '', ...value] = pair.split('=');
    const name = options.find((option) => flat(option) === flat(word));
    const nearest = name ?? nearestName(word, options);
    if (!name)
      throw new Error(`store.url: KurrentDB has no option ${word}${nearest ? `, did you mean ${nearest}?` : ''}`);
    given.set(name, value.join('='));
  }
  return given;
}

const flat = (word: string): string => word.toLowerCase().replace(/[_-]/g, '');

/** The first colon ends the name; whatever may stand in a password arrives. */
function encoded(credentials: string | undefined): string {
  if (credentials === undefined) return '';
  const [name = '', ...password] = credentials.split(':');
  return `${[name, password.join(':')].map((part) => encodeURIComponent(decoded(part))).join(':')}@`;
}

/** Text that is not encoded stays as it is. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Secrets in the query of an address: which parameters look like one, and reading, replacing and hiding their values. */

const addressPattern = /^([a-z][a-z0-9+.-]*:\/\/[^?#\s]*\?)([^#\s]*)(.*)$/is;

/** The last word of the name says it: `api_key`, `accessToken`, `X-Amz-Signature`, `sig`. */
const secretName =
  /(?:^|[_.-])(?:api_?key|key|token|secret|password|passwd|pwd|passphrase|pass|sig|signature|credentials?|auth|authorization|jwt)$|(?:apikey|accesstoken|authtoken|clientsecret)$/;

function isSecretName(raw: string): boolean {
  const words = decoded(raw).replaceAll(/([a-z0-9])(?=[A-Z])/g, '$1_');
  return secretName.test(words.toLowerCase());
}

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // What does not decode is a name as it stands.
  }
};

type Pair = { readonly text: string; readonly name: string; readonly value: string; readonly step: string };

/** The step of a pair below its address: a question mark and the name; the second one of a name has its number. */
const stepOf = (name: string, before: number): string => `?${name}${before === 0 ? '' : ` ${before}`}`;

export const isParameterStep = (step: string | undefined): boolean => step?.startsWith('?') === true;

function pairsOf(query: string): readonly Pair[] {
  const seen = new Map<string, number>();
  return query.split('&').map((text) => {
    const sign = text.indexOf('=');
    const name = sign < 0 ? text : text.slice(0, sign);
    const before = seen.get(name) ?? 0;
    seen.set(name, before + 1);
    return { text, name, value: sign < 0 ? '' : text.slice(sign + 1), step: stepOf(name, before) };
  });
}

const queryOf = (address: string): string => addressPattern.exec(address)?.[2] ?? '';

/** Steps of the parameters that look like a secret. */
export const secretParameters = (address: string): readonly string[] =>
  pairsOf(queryOf(address)).flatMap(({ name, step }) => (isSecretName(name) ? [step] : []));

/** As it stands in the address; '' when there is none. */
export const parameterAt = (address: string, wanted: string): string =>
  pairsOf(queryOf(address)).find(({ step }) => step === wanted)?.value ?? '';

const changed = (address: string, to: (pair: Pair) => string): string =>
  address.replace(addressPattern, (_, start: string, query: string, end: string) => {
    const pairs = pairsOf(query).map((pair) => {
      const value = to(pair);
      return value === pair.value ? pair.text : `${pair.name}=${value}`;
    });
    return `${start}${pairs.join('&')}${end}`;
  });

export const withParameter = (address: string, wanted: string, value: string): string =>
  changed(address, (pair) => (pair.step === wanted ? value : pair.value));

/** The address with another value in each parameter that looks like a secret; any other text as it is. */
export const withSecretParameters = (address: string, value: string): string =>
  changed(address, (pair) => (pair.value !== '' && isSecretName(pair.name) ? value : pair.value));

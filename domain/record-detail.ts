/** What records in detail hold (pump design 4): the rules of a gateway, and what an API says in their place or on top of them. */
import type { Json } from './event.ts';
import { isObject, texts } from './json.ts';

export const detailParts = ['req.headers', 'req.body', 'res.headers', 'res.body'] as const;

export type DetailPart = (typeof detailParts)[number];

export type DetailRules = {
  /** Of each direction. */
  readonly maxBodyBytes: number;
  /** Beside those whose name or whose API says that a secret is in them. */
  readonly redactHeaders: readonly string[];
  /** In the form of `jsonPathPattern`. */
  readonly redactJson: readonly string[];
  /** Media types whose bodies are kept; `*` stands for any text. */
  readonly contentTypes: readonly string[];
  readonly parts: readonly DetailPart[];
  /** Share of the requests, 0 to 1. */
  readonly sample: number;
  readonly onErrorOnly: boolean;
};

/** What a gateway is told of the recording of requests. */
export type Recording = {
  /** `enabled`: where neither the API nor the key nor the organisation says it. */
  readonly detail: DetailRules & { readonly enabled: boolean };
  /** The flag and the period of organisations count. */
  readonly enforceOrgDetail: boolean;
  readonly enforceOrgRetention: boolean;
};

export const defaultRecording: Recording = {
  detail: {
    enabled: false,
    maxBodyBytes: 65_536,
    redactHeaders: [],
    redactJson: [],
    contentTypes: [
      ...['text/*', 'application/json', 'application/*+json', 'application/xml', 'application/*+xml'],
      'application/x-www-form-urlencoded',
    ],
    parts: detailParts,
    sample: 1,
    onErrorOnly: false,
  },
  enforceOrgDetail: false,
  enforceOrgRetention: false,
};

/** More would crowd out the records of everybody else. */
export const mostBodyBytes = 16_777_216;

/** `$.a.b`, `$['a b']`, `$.list[0]`, `$.list[*].a`, `$.*`, `$..a` (at any depth). */
export const jsonPathPattern =
  '^\\$(?:\\.{1,2}(?:[^.\\[\\]*\'"\\s]+|\\*)|(?:\\.\\.)?\\[(?:[0-9]+|\\*|\'[^\']*\'|"[^"]*")\\])+$';

export const mediaTypePattern = "^[!#$%&'*+.^_`|~0-9A-Za-z-]+/[!#$%&'*+.^_`|~0-9A-Za-z-]+$";

/** The block of a definition, which has passed its schema. What it does not say is not there. */
export function readDetail(block: Json | undefined): Partial<DetailRules> {
  if (!isObject(block)) return {};
  const { max_body_bytes: maxBodyBytes, sample, on_error_only: onErrorOnly } = block;
  const isPart = (text: string): text is DetailPart => (detailParts as readonly string[]).includes(text);
  return {
    ...(typeof maxBodyBytes === 'number' ? { maxBodyBytes } : {}),
    ...(block['redact_headers'] ? { redactHeaders: texts(block['redact_headers']) } : {}),
    ...(block['redact_json'] ? { redactJson: texts(block['redact_json']) } : {}),
    ...(block['content_types'] ? { contentTypes: texts(block['content_types']) } : {}),
    ...(block['parts'] ? { parts: texts(block['parts']).filter(isPart) } : {}),
    ...(typeof sample === 'number' ? { sample } : {}),
    ...(typeof onErrorOnly === 'boolean' ? { onErrorOnly } : {}),
  };
}

/** What is redacted for the whole gateway is redacted for every API: its own rules add to that. */
export const detailRules = (general: DetailRules, own: Partial<DetailRules>): DetailRules => ({
  ...general,
  ...own,
  redactHeaders: [...general.redactHeaders, ...(own.redactHeaders ?? [])],
  redactJson: [...general.redactJson, ...(own.redactJson ?? [])],
});

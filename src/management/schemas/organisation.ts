/** JSON Schemas of organisations. */
import type { JsonObject } from '../../../domain/event.ts';

const text = { type: 'string' };
const flag = { type: 'boolean' };

const amount = (description: string) => ({ type: 'integer', minimum: -1, description });

const terms = {
  name: { type: 'string', minLength: 1, maxLength: 200 },
  disabled: { ...flag, description: 'Its tokens and calls of its APIs are refused.' },
  rate: amount('Calls of its APIs together in `per`, on each gateway; 0: no limit.'),
  per: amount('Seconds.'),
  quota_max: amount('Calls of its APIs together in a window, on each gateway; 0: no quota.'),
  quota_renewal_rate: amount('Seconds from the first call of a window to the next one; 0: never.'),
  detail: { ...flag, description: 'Requests are recorded in detail by gateways with `analytics.enforce_org_detail`.' },
  settings: {
    type: 'object',
    additionalProperties: false,
    properties: {
      requireIfMatch: { ...flag, description: 'A write of what is there needs `If-Match`, else 428.' },
      strictKeys: { ...flag, description: 'Unknown keys of definitions are errors.' },
      retention: {
        type: ['integer', 'string'],
        minimum: 0,
        description:
          'How long gateways with `analytics.enforce_org_retention` keep records of its APIs, whatever an API says: seconds, or a duration such as `720h` or `P30D`; 0: as each API says.',
      },
    },
  },
};
const id = { type: 'string', pattern: '^[0-9a-f]{24}$' };
const stored = { ...terms, id, createdAt: text, updatedAt: text, revision: { type: 'integer' } };

export const organisationSchemas: JsonObject = {
  OrganisationRequest: { type: 'object', additionalProperties: false, properties: { id, ...terms } },
  OrganisationTerms: { type: 'object', required: ['id', ...Object.keys(terms)], properties: { id, ...terms } },
  Organisation: { type: 'object', required: Object.keys(stored), properties: stored },
  OrganisationList: {
    type: 'object',
    required: ['organisations', 'next', 'total'],
    properties: {
      organisations: { type: 'array', items: { $ref: '#/components/schemas/Organisation' } },
      next: { type: ['string', 'null'] },
      total: { type: 'integer' },
    },
  },
};

/** JSON Schemas of the configuration at a time, of differences, and of a restore. */
import type { JsonObject } from '../../../domain/event.ts';

const text = { type: 'string' };
const flag = { type: 'boolean' };
const count = { type: 'integer' };
const objects = { type: 'array', items: { type: 'object' } };
const list = (properties: JsonObject): JsonObject => ({ type: 'array', items: closed(properties) });

function closed(properties: JsonObject, required: readonly string[] = Object.keys(properties)): JsonObject {
  return { type: 'object', required, properties };
}

const moment = { position: text, time: text };
const place = closed({ revision: count, position: text, at: text });
const named = { kind: text, id: text, name: text };
const change = { type: 'string', enum: ['created', 'changed', 'deleted'] };
const maybeCount = { type: ['integer', 'null'] };
const maybeText = { type: ['string', 'null'] };
const side = { type: ['object', 'null'], properties: { revision: count } };
const summary = { type: 'object', additionalProperties: { type: 'array', items: text } };
const difference = { diff: objects, diffOmitted: flag, summary };

export const configSchemas: JsonObject = {
  ApiDiff: closed({ from: place, to: place, ...difference }, ['from', 'to', 'diff', 'summary']),
  Config: {
    description: 'With `form=snapshot` instead: format, logId, era, position, revision and objects by key.',
    ...closed({
      ...moment,
      total: count,
      objects: {
        type: 'array',
        items: closed(
          {
            ...{ ...named, apiKind: text, prefix: text, revision: count, position: text, sha256: text },
            labels: { type: 'object', additionalProperties: text },
            document: { type: 'object' },
          },
          [...Object.keys(named), ...['revision', 'position', 'sha256', 'document']],
        ),
      },
      sha256: text,
    }),
  },
  ConfigDiff: closed({
    from: closed(moment),
    to: closed(moment),
    objects: {
      type: 'array',
      items: closed({ ...named, change, from: side, to: side, ...difference }, [
        ...Object.keys(named),
        'change',
        'from',
        'to',
      ]),
    },
    counts: closed({ created: count, changed: count, deleted: count }),
    summary,
  }),
  Restore: closed(
    {
      at: { type: ['string', 'integer'] },
      kinds: { type: 'array', items: text },
      keepNew: flag,
      allowHoles: flag,
      comment: text,
    },
    ['at'],
  ),
  Restored: closed({
    ...moment,
    changed: {
      type: 'array',
      items: closed({ ...named, change, toRevision: maybeCount, ...difference }, [
        ...Object.keys(named),
        ...['change', 'toRevision'],
      ]),
    },
    kept: list(named),
    holes: list({ ...named, kid: text }),
    conflicts: list({ kind: text, id: text, route: maybeText, message: text }),
    refused: list({ ...named, problems: objects }),
    warnings: list({ ...named, text }),
    affects: closed({
      routes: list({ was: maybeText, becomes: maybeText, owner: text }),
      apis: { type: 'array', items: text },
      certificates: { type: 'array', items: text },
      gateways: list({ node: text }),
    }),
  }),
};

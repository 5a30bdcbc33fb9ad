/** What templates need of the machine: hashes, base64, ids, the clock, and regular expressions of users in linear time. */

import { hash, randomUUID } from 'node:crypto';
import type { RE2JS } from 're2js';
import type { TemplatePort, TextExpression, TextMatch } from '../domain/template/functions.ts';
import { expressionFault } from './expressions.ts';
import { re2 } from './re2.ts';

export const templatePort: TemplatePort = {
  hash: (algorithm, text) => hash(algorithm, text, 'hex'),
  toBase64: (text) => Buffer.from(text).toString('base64'),
  fromBase64: (text) =>
    /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text)
      ? Buffer.from(text, 'base64').toString()
      : undefined,
  uuid: () => randomUUID(),
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  expression: (pattern) => expressionFault(pattern) ?? expressionOf(re2().compile(pattern)),
};

const expressionOf = (compiled: RE2JS): TextExpression => ({
  group: (name) => compiled.namedGroups()[name],
  size: compiled.programSize(),
  matches: (text, limit, foundOne) => {
    const matcher = compiled.matcher(text);
    const found: TextMatch[] = [];
    let last = -1;
    while ((limit < 0 || found.length < limit) && matcher.find()) {
      const [start, end] = [matcher.start(), matcher.end()];
      // As in Go: nothing, right behind a match, is none.
      if (start === end && start === last) continue;
      last = end;
      foundOne(matcher.groupCount() + 1);
      const groups = Array.from({ length: matcher.groupCount() + 1 }, (_, index) => matcher.group(index) ?? undefined);
      found.push({ start, end, groups });
    }
    return found;
  },
});

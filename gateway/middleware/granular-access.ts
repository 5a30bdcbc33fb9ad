/** Refuses requests for paths that a key was not granted, or that may be others at the upstream (api-definition design 9.6). */
import { rightsId } from '../access/session.ts';
import type { Context, Step } from '../http/context.ts';
import { comparable } from '../http/path.ts';

export const granularAccess: Step = function granularAccess(context) {
  const { access, route } = context;
  // Without a session nobody has come this far.
  if (access === undefined) return context.refuse('path_not_granted');
  const grants = access.rights.get(rightsId(access, route.definition))?.grants;
  if (grants === undefined) return undefined;
  const { method, path: asked } = context.head;
  if (asked.includes('..') && climbing.test(asked)) return context.refuse('path_not_granted');
  const paths = pathsOf(context);
  for (const grant of grants) for (const path of paths) if (grant(method, path)) return undefined;
  return context.refuse('path_not_granted');
};

/** Below the listen path, and whole: either may be granted. Each segment is compared decoded, so that `%2F` makes no new one. */
function pathsOf({ rest, head, route }: Context): readonly string[] {
  const below = comparable(rest.charCodeAt(0) === slash ? rest : `/${rest}`);
  const seen = comparable(head.path);
  // What was a version inside an API does not see the listen path any more, which its keys may name.
  const hasMoved = seen === below && route.listenPath !== '/' && route.definition.authentication?.grantedAs;
  const whole = hasMoved ? comparable(route.listenPath + below) : seen;
  return below === whole ? [below] : [below, whole];
}

/**
 * What an upstream takes for a way up that decodes a segment before it parts it, or takes parameters out of it. Plain ones
 * are not in a normal form, whose escapes are in capitals.
 */
const climbing = /(?:\/|%2F|%5C)\.\.(?:\/|%2F|%5C|;|%3B|$)/;

const slash = 47;

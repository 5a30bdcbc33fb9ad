/** Refuses keys that were not granted the API, or not the version of it that serves the request (api-definition design 9.6). */
import { rightsId } from '../access/session.ts';
import type { Context, Step } from '../http/context.ts';

export const accessRights: Step = function accessRights(context) {
  const { access, route } = context;
  const id = access && rightsId(access, route.definition);
  const rights = id === undefined ? undefined : access?.rights.get(id);
  if (rights === undefined && access?.allowsAllApis !== true) return context.refuse('auth_no_right');
  const versions = rights?.versions;
  return versions === undefined || isGranted(versions, id, context) ? undefined : context.refuse('auth_no_right');
};

/** What an API without versions is called in rights. */
const onlyVersion = 'Default';

/**
 * Versions inside an API go by name, also after they have become APIs. One that is an API of its own has been granted by
 * its id: by its base it has a name, too.
 */
function isGranted(versions: ReadonlySet<string>, id: string | undefined, { route }: Context): boolean {
  const { versionName, authentication } = route.definition;
  const as = authentication?.grantedAs;
  if (as !== undefined && as.apiId === id) return versions.has(as.version);
  if (versionName !== undefined) return versions.has(versionName);
  return versions.has(onlyVersion) || versions.has(route.version);
}
